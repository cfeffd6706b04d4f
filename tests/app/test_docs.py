"""GET /docs: the viewer's own files from its package, under a policy that lets nothing else in."""

from __future__ import annotations

import re

import pytest

from shared.api import openapi
from shared.pages.viewer import DOCS, VIEWER_FILES
from tests.front import Front

PAGE = DOCS.files["index.html"].content.decode()
START = DOCS.files["start.js"].content.decode()


@pytest.fixture
def front() -> Front:
    """Pages need neither a database nor a queue."""
    return Front()


async def test_docs_when_opened_then_a_page_that_loads_only_files_that_are_there(front: Front) -> None:
    answer = await front.get("/docs")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    loaded = re.findall(r'(?:src|href)="(/docs/[^"]+)"', PAGE)
    assert {f"/docs/{name}" for name in VIEWER_FILES} < set(loaded)
    for address in loaded:
        file = await front.get(address)
        assert (file.status, len(file.body) > 0) == (200, True), address
        assert (await front.get(address, {"If-None-Match": file.headers["etag"]})).status == 304


def test_docs_then_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", PAGE) == []
    assert re.findall(r"https?://", PAGE + START) == []
    assert "unsafe" not in DOCS.policy
    assert {part.split(" ", 1)[0] for part in DOCS.policy.split("; ")} >= {"default-src", "script-src", "connect-src"}


def test_docs_then_the_key_field_is_the_documents() -> None:
    schemes = openapi.document()["components"]["securitySchemes"]
    assert re.findall(r"preauthorizeApiKey\(\"(\w+)\"", START) == list(schemes)


async def test_file_of_the_package_when_the_page_does_not_load_it_then_404(front: Front) -> None:
    for name in ("swagger-ui.js", "swagger-initializer.js", "index.j2", "%2e%2e%2ffolder.py", "viewer.py"):
        assert (await front.get(f"/docs/{name}")).status == 404, name
