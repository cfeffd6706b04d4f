"""The package is what the app needs, and runs with nothing installed but what requirements.txt asks for."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import httpx
import pytest

from benchmarks.site import Site, make_database, make_provider
from simulator.stack.azurite import Azurite
from simulator.stack.postgres import Postgres
from simulator.stack.ticket_walk import walk_ticket
from simulator.stack.waiting import wait_until
from tests.ears import QUIET
from tests.infra.package import PYTHON, ROOT, bare_python, copy_package, ignored_names, package_files
from tests.ingestion import Ingestion

pytestmark = pytest.mark.timeout(300)  # the first to need the bare Python installs it

LARGEST_BYTES = 1_000_000  # of code; what pip adds is built in Azure


def test_package_has_the_app_and_nothing_else() -> None:
    files = list(package_files())
    assert {path.parts[0] for path in files} == {"function_app.py", "host.json", "requirements.txt", "shared"}
    kinds = {".py", ".css", ".jinja", ".html", ".js", ".svg"}
    assert {path.suffix for path in files if path.parts[0] == "shared"} <= kinds
    assert sum((ROOT / path).stat().st_size for path in files) < LARGEST_BYTES


def test_funcignore_has_plain_names_only() -> None:
    # Core Tools read nothing else, and azd reads a name like git: at any depth.
    assert not [name for name in ignored_names() if set(name) & set("*?[]!/\\")]


def test_package_when_run_with_its_own_requirements_alone_then_a_ticket_is_done(
    postgres: Postgres, azurite: Azurite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "package"
    copy_package(package)
    python = bare_python()
    with make_provider(tmp_path, {"rpm": 0, "tpm": 0, "latency_factor": 0}) as provider, Ingestion() as insights:
        database_url = make_database(postgres.url, "package")
        site = Site("package", database_url, azurite.connection_string, provider.url, tmp_path)
        settings = {
            PYTHON: python,
            "LOG_FORMAT": "json",
            "APPLICATIONINSIGHTS_CONNECTION_STRING": insights.connection_string,
            **QUIET,
        }
        with (
            site.make_host("host", "--script-root", str(package), settings=settings) as host,
            httpx.Client(base_url=host.url, timeout=10) as client,
        ):
            assert walk_ticket(client), capsys.readouterr().out
            wait_until(lambda: has_heard_of_all(insights), deadline_s=30, what="spans and metrics have been sent")
            written = host.process.program.log.read_text(encoding="utf-8")
    lines = [json.loads(line.partition(": ")[2]) for line in written.splitlines() if '.User: {"message"' in line]
    [done] = [line for line in lines if line["message"] == "job 1: succeeded (attempt 1)"]
    assert (done["job_id"], done["attempt"], done["logger"]) == (1, 1, "larkfield.worker")
    assert done["ticket_id"].startswith("T-")
    assert done["request_id"] is not None
    assert len(done["trace_id"]) == 32


def has_heard_of_all(insights: Ingestion) -> bool:
    """Whether a trace and a sample of the sweep have arrived."""
    spans = insights.names("RequestData") | insights.names("RemoteDependencyData")
    metrics = insights.names("MetricData")
    return {"process job", "step classify"} <= spans and "larkfield.dead_letters" in metrics


def test_bare_python_lacks_what_only_tests_and_simulator_have() -> None:
    # Otherwise the test before would prove nothing.
    asked = "import importlib.util, sys; sys.exit(importlib.util.find_spec('uvicorn') is not None)"
    assert subprocess.run([bare_python(), "-c", asked], check=False).returncode == 0
