"""`python -m infra.costs`: the tables of infra/README.md, in Markdown."""

from __future__ import annotations

from infra.costs.month import Prices, bill, gb_seconds, private_network

TICKETS = (0, 1_000, 100_000)
MEMORY_MB = (512, 2048)


def tables(prices: Prices) -> str:
    """What a month costs, by tickets; and the share of the timers, by memory."""
    bills = [bill(prices, tickets) for tickets in TICKETS]
    rows = [["USD a month", *(f"{tickets:,} tickets" for tickets in TICKETS)]]
    for lines in zip(*bills, strict=True):
        mark = "" if all(line.is_checked for line in lines) else " ¹"
        rows.append([lines[0].what + mark, *(f"{line.usd:.2f}" for line in lines)])
    rows.append(["**together**", *(f"**{sum(line.usd for line in lines):.2f}**" for lines in bills)])
    added = f"{private_network(prices):.2f}"
    rows.append(["private mode adds", *(added for _ in TICKETS)])
    timers = [["timers at 0 tickets", "GB-s", "of them free", "USD a month"]]
    for memory_mb in MEMORY_MB:
        used = gb_seconds(prices, 0, memory_mb)
        free, cost = prices.free("execution_gb_second"), prices.cost("execution_gb_second", used)
        timers.append([f"{memory_mb:,} MB", f"{used:,.0f}", f"{min(used, free):,.0f}", f"{cost:.2f}"])
    return f"{_table(rows)}\n\n¹ price from memory, not looked up.\n\n{_table(timers)}"


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = [head, ["---", *("---:" for _ in head[1:])], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(tables(Prices.read()))
