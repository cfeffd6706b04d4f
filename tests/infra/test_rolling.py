"""The release before runs on this schema: until the new code is there, and when somebody goes back to it."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from benchmarks.site import Site, make_database, make_provider
from simulator.stack.azurite import Azurite
from simulator.stack.postgres import Postgres
from simulator.stack.ticket_walk import walk_ticket
from tests.infra.package import PYTHON, bare_python, copy_release, previous_release


@pytest.mark.timeout(300)  # it may have to install what that release asks for
def test_previous_release_when_the_schema_is_the_new_one_then_a_ticket_is_done(
    postgres: Postgres, azurite: Azurite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = previous_release()
    if release is None:
        pytest.skip("there is no release before this one: no tag v…, and PREVIOUS_RELEASE names none")
    package = tmp_path / "package"
    copy_release(release, package)
    settings = {PYTHON: bare_python(package / "requirements.txt")}
    with make_provider(tmp_path, {"rpm": 0, "tpm": 0, "latency_factor": 0}) as provider:
        database_url = make_database(postgres.url, "rolling")
        site = Site("rolling", database_url, azurite.connection_string, provider.url, tmp_path)
        with (
            site.make_host("host", "--script-root", str(package), settings=settings) as host,
            httpx.Client(base_url=host.url, timeout=10) as client,
        ):
            assert walk_ticket(client), f"{release}: {capsys.readouterr().out}"
