"""The site's own pages: who may have them, what a browser is told about them, and what cannot be had."""

from __future__ import annotations

import re

import pytest

from shared.pages.folder import DASHBOARD
from tests.front import Front

MOST_BYTES = 100_000


@pytest.fixture
def front() -> Front:
    """Pages need neither a database nor a queue."""
    return Front()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_root_when_opened_then_leads_to_the_dashboard(front: Front, method: str) -> None:
    answer = await front.send(method, "/", b"", {})
    assert (answer.status, answer.headers["location"]) == (302, "/dashboard")


async def test_dashboard_when_opened_then_a_page_in_which_nothing_foreign_can_run(front: Front) -> None:
    answer = await front.get("/dashboard")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", sorted(DASHBOARD.files))
async def test_file_when_asked_for_again_then_304_without_a_body(front: Front, name: str) -> None:
    first = await front.get(f"/dashboard/{name}")
    again = await front.get(f"/dashboard/{name}", headers={"If-None-Match": f'W/"other", {first.headers["etag"]}'})
    other = await front.get(f"/dashboard/{name}", headers={"If-None-Match": '"other"'})
    assert (first.status, first.body) == (200, DASHBOARD.files[name].content)
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert other.status == 200


@pytest.mark.parametrize(
    "name", ["missing.js", "..%2Ffolder.py", "%2e%2e", "..%5Cfolder.py", "%2Fetc%2Fpasswd", "index.html%00", "no.py"]
)
async def test_file_when_there_is_none_of_that_name_then_404_in_words(front: Front, name: str) -> None:
    answer = await front.get(f"/dashboard/{name}")
    assert (answer.status, answer.json()["error"]["code"]) == (404, "not_found")


def test_dashboard_asks_for_files_that_exist_and_for_nothing_else() -> None:
    files = DASHBOARD.files
    page = files["index.html"].content.decode()
    asked = {"index.html", *re.findall(r'(?:href|src)="/dashboard/([^"#?]+)"', page)}
    assert asked | _imported(asked, r'(?:from |import\()"\./([\w.-]+)"') == set(files)
    everything = " ".join(file.content.decode() for file in files.values())
    assert not re.findall(r"https?://(?!www\.w3\.org/)", everything)
    assert not re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\son\w+=|style=", everything)


def test_dashboard_when_opened_then_what_the_first_numbers_need_loads_side_by_side_and_nothing_else() -> None:
    page = DASHBOARD.files["index.html"].content.decode()
    first = {"app.js", "overview.js"}
    needed = first | _imported(first, r'from "\./([\w.-]+)"')
    assert set(re.findall(r'(?:href|src)="/dashboard/([\w-]+\.js)"', page)) == needed


def _imported(names: set[str], pattern: str) -> set[str]:
    """What these files import, and what that imports in turn."""
    found = {other for name in names for other in re.findall(pattern, DASHBOARD.files[name].content.decode())}
    return found if found <= names else found | _imported(names | found, pattern)


def test_dashboard_is_light() -> None:
    assert sum(len(file.content) for file in DASHBOARD.files.values()) <= MOST_BYTES


@pytest.mark.parametrize("name", sorted(name for name in DASHBOARD.files if name.endswith((".js", ".html"))))
def test_file_is_for_people_to_read_too(name: str) -> None:
    lines = DASHBOARD.files[name].content.decode().splitlines()
    assert len(lines) <= 200
    assert max(map(len, lines)) <= 120
