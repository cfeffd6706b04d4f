"""Child processes: how they end, that they never outlive us, and that the supervisor brings them back."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.stack.places import ROOT
from simulator.stack.process import Process, Program
from simulator.stack.supervisor import Supervisor
from simulator.stack.waiting import wait_until

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = (
    f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEPER!r}]).pid, flush=True); {SLEEPER}"
)


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Program]:
    """Makes a program of Python source; its output goes to `log` in the test's folder."""
    return lambda source: Program("child", (sys.executable, "-c", source), tmp_path / "logs" / "child.log")


def lines_of(process: Process) -> list[str]:
    log = process.program.log
    return log.read_text().splitlines() if log.exists() else []


def wait_for_lines(process: Process, count: int) -> None:
    wait_until(lambda: len(lines_of(process)) >= count, deadline_s=20, what=f"{count} lines in {process.program.log}")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not Path(f"/proc/{pid}/stat").exists() or ") Z " not in Path(f"/proc/{pid}/stat").read_text()


def keep(supervisor: Supervisor, program: Program) -> Process:
    process = Process(program)
    process.start()
    supervisor.watch(process)
    return process


def test_stop_ends_a_willing_process_with_its_signal(program: Callable[[str], Program]) -> None:
    process = Process(program(SLEEPER))
    process.start()
    wait_for_lines(process, 1)

    process.stop()

    assert not process.running
    assert process.exit_code == -signal.SIGTERM


def test_stop_when_the_process_does_not_listen_then_kills_it(program: Callable[[str], Program]) -> None:
    process = Process(program(STUBBORN))
    process.start()
    wait_for_lines(process, 1)

    process.stop(patience_s=0.2)

    assert process.exit_code == -signal.SIGKILL


@pytest.mark.parametrize("end", [Process.stop, Process.kill])
def test_end_when_the_process_has_children_then_they_end_too(
    program: Callable[[str], Program], end: Callable[[Process], None]
) -> None:
    process = Process(program(PARENT))
    process.start()
    wait_for_lines(process, 3)
    child = int(next(line for line in lines_of(process) if line.isdecimal()))
    assert is_alive(child)

    end(process)

    wait_until(lambda: not is_alive(child), deadline_s=10, what="the child's child ends")


def test_process_when_never_started_then_it_can_be_stopped_and_killed(program: Callable[[str], Program]) -> None:
    process = Process(program(SLEEPER))

    process.stop()
    process.kill()

    assert process.exit_code is None
    assert process.wait() is None


def test_start_after_the_end_runs_it_again_and_keeps_the_log(program: Callable[[str], Program]) -> None:
    process = Process(program("print('once')"))
    process.start()
    assert process.wait(20) == 0
    process.start()
    assert process.wait(20) == 0

    assert lines_of(process) == ["once", "once"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_children_when_we_are_killed_then_they_are_told_to_end(tmp_path: Path) -> None:
    source = (
        "import sys; from pathlib import Path; from simulator.stack.process import *\n"
        f"p = Process(Program('child', (sys.executable, '-c', {SLEEPER!r}), Path(sys.argv[1])))\n"
        "p.start(); print(p.pid, flush=True); p.wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", source, str(tmp_path / "log")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()

    wait_until(lambda: not is_alive(child), deadline_s=10, what="the child of a killed process ends")


def test_supervisor_when_a_process_is_killed_then_starts_it_again_and_says_so(
    program: Callable[[str], Program],
) -> None:
    said: list[str] = []
    with Supervisor(said.append) as supervisor:
        process = keep(supervisor, program(SLEEPER))
        wait_for_lines(process, 1)
        first = process.pid

        process.kill()

        wait_for_lines(process, 2)
        assert process.pid != first
    assert not process.running
    assert said == [f"child ended (exit code -9); starting it again in 0.2 s, see {process.program.log}"]


def test_supervisor_when_a_process_cannot_live_then_its_pauses_grow(program: Callable[[str], Program]) -> None:
    said: list[str] = []
    with Supervisor(said.append) as supervisor:
        keep(supervisor, program("raise SystemExit(3)"))
        wait_until(lambda: len(said) >= 3, deadline_s=20, what="three restarts")

    assert [line.split(" in ")[1].split(",")[0] for line in said[:3]] == ["0.2 s", "0.4 s", "0.8 s"]
    assert "exit code 3" in said[0]


def test_supervisor_stops_the_last_started_first(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    source = (
        "import signal, sys, time\n"
        "def end(*_):\n"
        f"    open({str(journal)!r}, 'a').write(sys.argv[1] + '\\n'); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end); print('up', flush=True); time.sleep(60)"
    )
    with Supervisor() as supervisor:
        for name in ("storage", "host"):
            command = (sys.executable, "-c", source, name)
            process = keep(supervisor, Program(name, command, tmp_path / f"{name}.log"))
            wait_for_lines(process, 1)

    assert journal.read_text().split() == ["host", "storage"]
