"""A month's bill: what is used, times what it costs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRICES = Path(__file__).with_name("prices.toml")


@dataclass(frozen=True)
class Line:
    """One line of the bill, in USD."""

    what: str
    usd: float
    is_checked: bool


class Prices:
    """The file of prices."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    @classmethod
    def read(cls, path: Path = PRICES) -> Prices:
        return cls(tomllib.loads(path.read_text(encoding="utf-8")))

    def number(self, section: str, name: str) -> float:
        return float(self._content[section][name])

    def free(self, name: str) -> float:
        return float(self._content["price"][name]["free"])

    def cost(self, name: str, amount: float) -> float:
        """What so much of it costs, beyond what is free."""
        return max(0.0, amount - self.free(name)) * float(self._content["price"][name]["usd"])

    def are_checked(self, *names: str) -> bool:
        return all(self._content["price"][name]["checked"] for name in names)

    def sources(self) -> Iterator[tuple[str, str, bool]]:
        """(price, where it comes from, whether it was read there)."""
        for name, price in self._content["price"].items():
            yield name, price["source"], price["checked"]


def timer_runs(prices: Prices) -> float:
    """How often the two timers fire in a month."""
    seconds = 3600 * prices.number("month", "hours")
    return sum(seconds / prices.number("timers", name) for name in ("relay_every_s", "sweep_every_s"))


def gb_seconds(prices: Prices, tickets: int, memory_mb: float) -> float:
    """What the platform bills of memory and time, before what is free."""
    busy_s = timer_runs(prices) * prices.number("timers", "billed_s") + tickets * prices.number("ticket", "billed_s")
    return busy_s * memory_mb / 1024


def bill(prices: Prices, tickets: int) -> list[Line]:
    """The month's bill of a deployment with the defaults of main.bicep."""
    memory_mb = prices.number("deployment", "memory_mb")
    executions = timer_runs(prices) + tickets * prices.number("ticket", "executions")
    running = prices.cost("execution_gb_second", gb_seconds(prices, tickets, memory_mb))
    running += prices.cost("executions_million", executions / 1e6)
    disk = prices.cost("database_gib", prices.number("deployment", "database_gib"))
    rules = prices.cost("log_alert", prices.number("deployment", "log_alerts"))
    rules += prices.cost("metric_alert", prices.number("deployment", "metric_alerts"))
    return [
        Line("functions", running, prices.are_checked("execution_gb_second", "executions_million")),
        Line("database", prices.cost("database_month", 1) + disk, prices.are_checked("database_month", "database_gib")),
        Line("logs", prices.cost("log_gb", _log_gb(prices, tickets)), prices.are_checked("log_gb")),
        Line("alerts", rules, prices.are_checked("log_alert", "metric_alert")),
        Line("storage", _storage(prices, tickets), prices.are_checked("storage_operations_ten_thousand")),
        Line("provider's tokens", _tokens(prices, tickets), prices.are_checked("chat_input_million")),
    ]


def private_network(prices: Prices) -> float:
    """What private mode adds."""
    hours = prices.number("month", "hours") * prices.number("deployment", "endpoints")
    return prices.cost("endpoint_hour", hours) + prices.cost("dns_zone", prices.number("deployment", "dns_zones"))


def _log_gb(prices: Prices, tickets: int) -> float:
    timers = timer_runs(prices) * prices.number("timers", "log_kb")
    written = timers + tickets * prices.number("ticket", "log_kb")
    return written / 1e6 + prices.number("deployment", "metrics_log_gb")


def _storage(prices: Prices, tickets: int) -> float:
    timers = timer_runs(prices) * prices.number("timers", "storage_operations")
    operations = timers + tickets * prices.number("ticket", "storage_operations")
    return prices.cost("storage_operations_ten_thousand", operations / 1e4)


def _tokens(prices: Prices, tickets: int) -> float:
    kinds = {
        "chat_input_million": "chat_input_tokens",
        "chat_output_million": "chat_output_tokens",
        "embedding_million": "embedding_tokens",
    }
    return sum(prices.cost(price, tickets * prices.number("ticket", used) / 1e6) for price, used in kinds.items())
