"""The stack's small dealings with files: who may reach them, who holds them, what is new in them."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.stack.accounts import Account, can_reach, reachable
from simulator.stack.errors import StackError
from simulator.stack.lock import only_one
from simulator.stack.log_tail import LogTail
from simulator.stack.places import ROOT

STRANGER = Account("stranger", uid=64_001, gid=64_001)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can get to, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_can_reach_when_a_folder_on_the_way_is_closed_then_only_its_owner_can(folder: Path) -> None:
    target = folder / "on the way" / "target"
    target.mkdir(parents=True)
    owner = Account("owner", folder.stat().st_uid, 64_001)
    assert can_reach(STRANGER, target)

    target.parent.chmod(0o700)

    assert not can_reach(STRANGER, target)
    assert can_reach(owner, target)
    assert can_reach(None, target)


def test_can_reach_goes_by_the_first_of_owner_and_group_that_fits(folder: Path) -> None:
    group = folder.stat().st_gid
    folder.chmod(0o710)
    assert can_reach(Account("member", 64_001, group), folder)
    folder.chmod(0o701)
    assert not can_reach(Account("member", 64_001, group), folder)


def test_can_reach_when_the_target_is_still_to_be_made_then_the_way_counts(folder: Path) -> None:
    assert can_reach(STRANGER, folder / "new" / "newer")


def test_reachable_when_nothing_is_in_the_way_is_the_wanted_folder(tmp_path: Path) -> None:
    assert reachable(None, tmp_path / "data") == tmp_path / "data"


def test_lock_when_another_process_holds_it_then_it_refuses_in_the_given_words(tmp_path: Path) -> None:
    lock = tmp_path / "run.lock"
    attempt = (
        "import sys; from pathlib import Path; from simulator.stack.lock import only_one\n"
        "with only_one(Path(sys.argv[1]), refusal='busy'): pass"
    )
    command = [sys.executable, "-c", attempt, str(lock)]

    with only_one(lock):
        held = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    released = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert "StackError: busy" in held.stderr
    assert released.returncode == 0, released.stderr


def test_lock_when_the_same_process_asks_twice_then_it_refuses(tmp_path: Path) -> None:
    lock = tmp_path / "run.lock"

    with only_one(lock), pytest.raises(StackError, match="busy"), only_one(lock, refusal="busy"):
        pass


def test_log_tail_tells_complete_new_lines_once(tmp_path: Path) -> None:
    log = tmp_path / "functions.log"
    log.write_text("before\n")
    tail = LogTail("functions", log)
    with log.open("a") as file:
        file.write("one\ntwo\nthr")

    assert tail.new_lines() == ["functions | one", "functions | two"]
    assert tail.new_lines() == []
    with log.open("a") as file:
        file.write("ee\n")
    assert tail.new_lines() == ["functions | three"]


def test_log_tail_when_the_file_comes_later_then_it_tells_all_of_it(tmp_path: Path) -> None:
    log = tmp_path / "provider.log"
    tail = LogTail("provider", log)

    assert tail.new_lines() == []
    log.write_text("hello\n")
    assert tail.new_lines() == ["provider | hello"]


def test_log_tail_leaves_out_timer_runs_that_go_well(tmp_path: Path) -> None:
    log = tmp_path / "functions.log"
    tail = LogTail("functions", log)
    log.write_text(
        "Executing 'Functions.relay' (Reason='Timer fired at 2026-05-04T10:00:00+00:00', Id=1a-2b)\n"
        "Executing 'Functions.sweep' (Reason='Timer fired at 2026-05-04T10:00:00+00:00', Id=3c-4d)\n"
        "Executing 'Functions.work' (Reason='New queue message detected on 'tickets'.', Id=5e-6f)\n"
        "job 1: succeeded (attempt 1)\n"
        "Executed 'Functions.relay' (Succeeded, Id=1a-2b, Duration=9ms)\n"
        "Executed 'Functions.work' (Succeeded, Id=5e-6f, Duration=900ms)\n"
        "Executed 'Functions.sweep' (Failed, Id=3c-4d, Duration=9ms)\n"
    )

    assert tail.new_lines() == [
        "functions | Executing 'Functions.work' (Reason='New queue message detected on 'tickets'.', Id=5e-6f)",
        "functions | job 1: succeeded (attempt 1)",
        "functions | Executed 'Functions.work' (Succeeded, Id=5e-6f, Duration=900ms)",
        "functions | Executed 'Functions.sweep' (Failed, Id=3c-4d, Duration=9ms)",
    ]
