"""`python -m simulator run` as a person sees it: a ticket goes through, Ctrl-C leaves nothing, data stays."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from simulator.stack.places import ROOT
from simulator.stack.ports import LOOPBACK, answers, free_ports
from simulator.stack.process import Process, Program
from simulator.stack.waiting import wait_until

CHILDREN = ("postgres", "azurite.js", "simulator.provider", "simulator.host")
PORTS = ("FUNCTIONS", "PROVIDER", "POSTGRES", "AZURITE_BLOB", "AZURITE_QUEUE", "AZURITE_TABLE")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends Ctrl-C as a POSIX signal")


class Copy:
    """One copy of the system, on ports and in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = free_ports(len(PORTS))
        chosen = {f"{name}_PORT": str(port) for name, port in zip(PORTS, self.ports, strict=True)}
        kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        self._environment = {**kept, **chosen, "LOCAL_DIR": str(folder), "HOST": "local"}
        self._log = folder / "seen.log"
        self.url = f"http://{LOOPBACK}:{self.ports[0]}"

    @property
    def seen(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def command(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run a command of this copy to its end."""
        return subprocess.run(
            [sys.executable, "-m", "simulator", name],
            cwd=ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def processes(self) -> list[str]:
        """Return the command lines of what runs with this copy's settings, where the system tells."""
        mark = f"LOCAL_DIR={self.folder}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # gone meanwhile, or somebody else's
                if mark in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_text().replace("\0", " "))
        return found

    def run(self) -> Process:
        """Start it and wait for the invitation to try it."""
        self._log.unlink(missing_ok=True)
        command = (sys.executable, "-m", "simulator", "run")
        process = Process(Program("run", command, self._log, self._environment, stop_signal=signal.SIGINT))
        process.start()
        wait_until(lambda: "Try it:" in self.seen or not process.running, deadline_s=90, what=f"it runs:\n{self.seen}")
        assert process.running, self.seen
        return process


@pytest.fixture
def copy() -> Iterator[Copy]:
    with tempfile.TemporaryDirectory(prefix="a copy ") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield Copy(folder)


@pytest.mark.timeout(180)
def test_run_shows_a_ticket_and_after_ctrl_c_only_its_data_is_left(copy: Copy) -> None:
    process = copy.run()
    assert re.findall(r"s  (\w+)", copy.seen.split("One ticket's way")[1])[:3] == ["accepted", "queued", "running"]
    assert re.search(r"s  succeeded +\{", copy.seen)
    refused = copy.command("run")
    assert refused.returncode == 1
    assert re.fullmatch(r"run: a copy already runs on .+\n", refused.stderr)
    assert copy.command("reset").returncode == 1
    if sys.platform == "linux":  # or else the emptiness below would say nothing
        assert all(any(part in command for command in copy.processes()) for part in CHILDREN)

    process.stop(patience_s=30)

    assert process.exit_code == 0
    assert copy.seen.endswith("Stopped.\n")
    assert [port for port in copy.ports if answers(port)] == []
    assert copy.processes() == []

    process = copy.run()
    assert httpx.get(f"{copy.url}/v1/jobs/1").json()["state"] == "succeeded"
    assert "job 2" in copy.seen
    process.stop(patience_s=30)

    assert copy.command("reset").returncode == 0
    assert not {"postgres", "azurite", "logs"} & {path.name for path in copy.folder.iterdir()}
