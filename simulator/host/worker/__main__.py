"""`python -m simulator.host.worker`: the process in which the app's functions run. Only the host starts it."""

import asyncio
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from simulator.host.worker import lifeline, logs
from simulator.host.worker.session import Session

STAND_IN = str(Path(__file__).resolve().parents[3])


def main() -> NoReturn:
    """Serve the host until it goes away or the app ends the process; neither waits for what still runs."""
    order = json.loads(sys.stdin.buffer.readline())
    lifeline.watch()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr] # both are text files here
    for name in ("SIGINT", "SIGBREAK"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)  # Ctrl-C reaches the whole console: the host decides what follows
    _use_the_apps_paths(Path.cwd())
    loop = _make_loop()
    asyncio.set_event_loop(loop)
    session = Session(loop, token=order["token"])
    logs.install(session.send_log, debug=order["debug"])
    try:
        loop.run_until_complete(session.serve(order["port"]))
    except SystemExit as ending:
        _end(_exit_code(ending))
    except BaseException:
        traceback.print_exc()
    _end(1)


def _make_loop() -> asyncio.AbstractEventLoop:
    """As on Linux, the only system on which Azure runs Python: psycopg does not work with Windows' own loop."""
    return asyncio.SelectorEventLoop() if sys.platform == "win32" else asyncio.new_event_loop()


def _use_the_apps_paths(root: Path) -> None:
    """Let the app import from its own folder, and not from the one that holds the stand-in."""
    packages = root / ".python_packages" / "lib" / "site-packages"
    apps_own = [str(root), *([str(packages)] if packages.is_dir() else [])]
    sys.path[:] = apps_own + [path for path in sys.path if path not in (*apps_own, STAND_IN)]
    search = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    if others := [path for path in search if path and path != STAND_IN]:
        os.environ["PYTHONPATH"] = os.pathsep.join(others)


def _exit_code(ending: SystemExit) -> int:
    """Read `sys.exit(...)` as the interpreter does: nothing is 0, a text is printed and 1."""
    if ending.code is None or isinstance(ending.code, int):
        return ending.code or 0
    print(ending.code, file=sys.stderr)
    return 1


def _end(code: int) -> NoReturn:
    os._exit(code)


if __name__ == "__main__":
    main()
