"""How a host starts, and how it refuses to (functions-host C7, D2, D7), as a person at the console sees it."""

import json
import socket
import subprocess
import sys
from pathlib import Path

from tests.host.running_host import APPS, ROOT, RunningHost


def start(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a host that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "simulator.host", *arguments],
        cwd=ROOT,
        env={"FUNCTIONS_WORKER_RUNTIME": "python", **settings},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_start_when_the_app_cannot_be_imported_then_1_and_the_traceback() -> None:
    ended = start("--script-root", str(APPS / "broken"), "--port", "0")
    assert ended.returncode == 1
    assert "ImportError: a package that requirements.txt forgot" in ended.stdout


def test_start_when_the_port_is_taken_then_1_and_one_line() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ended = start("--script-root", str(APPS / "http"), "--port", str(port))
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [
        f"Port {port} is unavailable. Close the process using that port, or specify another port using --port [-p]."
    ]
    assert ended.stdout == ""


def test_start_when_a_setting_is_missing_then_1_and_every_function_at_fault() -> None:
    ended = start("--script-root", str(APPS / "work"), "--port", "0", JobsQueue="UseDevelopmentStorage=true")
    assert ended.returncode == 1
    assert "The 'forward' function is in error: '%QUEUE%' does not resolve to a value." in ended.stdout


def test_start_when_the_folder_is_no_app_then_1_and_one_line(tmp_path: Path) -> None:
    ended = start("--script-root", str(tmp_path), "--port", "0")
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [f"no host.json in {tmp_path}: that folder is no function app"]


def test_start_when_only_some_functions_are_wanted_then_the_others_are_not_there() -> None:
    with RunningHost("http", "--functions", "PAGES", "echo") as host:
        assert host.get("/v1/pages/1").status_code == 200
        assert host.get("/v1/items/1").status_code == 404
        listed = {function["name"] for function in host.get("/admin/functions").json()}
        assert listed == {"pages", "echo"}


def test_settings_when_file_and_environment_differ_then_the_environment_wins(tmp_path: Path) -> None:
    for name in ("host.json", "function_app.py"):
        (tmp_path / name).write_text((APPS / "http" / name).read_text("utf-8"), "utf-8")
    values = {"A_SETTING": "from the file", "B_SETTING": "from the file"}
    (tmp_path / "local.settings.json").write_text(json.dumps({"IsEncrypted": False, "Values": values}))
    with RunningHost(str(tmp_path), settings={"B_SETTING": "from the environment"}) as host:
        seen = host.get("/v1/process").json()["environment"]
        assert (seen["A_SETTING"], seen["B_SETTING"]) == ("from the file", "from the environment")
        assert "Skipping 'B_SETTING' from local settings" in host.console
