"""The Bicep compiler in `make check`: found or not, and a warning is a finding."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simulator.stack.bicep import MISSING, check_infra, find_bicep, renew_snapshots
from simulator.stack.errors import StackError

CLEAN = 'import sys\nif "--version" in sys.argv: print("Bicep CLI version 0.49.2 (made up)")\n'
WARNING = CLEAN + 'if sys.argv[1] == "lint": print("main.bicep(1,1) : Warning no-unused-vars", file=sys.stderr)\n'
CHANGED = CLEAN + 'if sys.argv[1] == "snapshot": print("- allowSharedKeyAccess: false"); sys.exit(1)\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, and no BICEP."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BICEP", raising=False)
    return tmp_path


def test_find_bicep_when_there_is_none_then_check_says_so_and_goes_on(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert find_bicep() is None
    assert check_infra() == []
    assert capsys.readouterr().out == f"{MISSING}\n"
    with pytest.raises(StackError, match="no Bicep compiler"):
        renew_snapshots()


def test_find_bicep_when_the_setting_names_nothing_then_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BICEP", str(place / "gone"))
    with pytest.raises(StackError, match="gone"):
        find_bicep()


@pytest.mark.skipif(sys.platform == "win32", reason="a script is no program there")
@pytest.mark.parametrize(
    ("compiler", "found", "said"),
    [(CLEAN, [], ""), (WARNING, ["bicep lint"], "no-unused-vars"), (CHANGED, ["snapshot"] * 2, "allowSharedKeyAccess")],
    ids=["clean", "warning", "changed"],
)
def test_check_infra_when_the_compiler_has_something_to_say_then_it_is_a_finding(
    compiler: str, found: list[str], said: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = place / "bicep"
    program.write_text(f"#!{sys.executable}\n{compiler}", encoding="utf-8")
    program.chmod(0o755)
    findings = check_infra()
    assert len(findings) == len(found)
    assert all(expected in finding for expected, finding in zip(found, findings, strict=True))
    assert said in capsys.readouterr().err
