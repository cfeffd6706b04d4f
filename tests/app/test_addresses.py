"""Addresses: ids that exist, ids that cannot, and everything that is no address of the API."""

from __future__ import annotations

import json

import pytest

from shared.wiring import App
from tests.front import Front
from tests.stage import accept

IMPOSSIBLE_JOBS = (
    "0",
    "-1",
    "abc",
    "9" * 20,
    "9223372036854775808",
    "1.0",
    "1e3",
    "+1",
    "%D9%A3",
    "%00",
    "%20",
    "1%0A",
)
IMPOSSIBLE_TICKETS = ("0", "1", "500001", "t-500001", "T-0", "T--1", "T-abc", "T-" + "9" * 20, "T-%00", "T-1%0A")
UNKNOWN = (
    *(("GET", path) for path in ("/v1", "/v1/", "/v2/tickets", "/admin/host/status%00", "/favicon.ico")),
    *(("GET", path) for path in ("/v1/jobs/1/history/2", "/v1/jobs/1/cancel", "/v1/customers/C-0022")),
    *(("GET", path) for path in ("/" + "x" * 4_000, "/%3Cscript%3E?a=%00")),
    *(("PUT", "/v1/tickets"), ("DELETE", "/v1/tickets/T-500001"), ("OPTIONS", "/v1/tickets"), ("HEAD", "/v1/nothing")),
    *(("PATCH", "/v1/jobs/1"), ("POST", "/v1/jobs/1"), ("POST", "/v1/queue")),
)
NOT_FOUND = (404, "not_found")


@pytest.mark.parametrize("method_and_end", [("GET", ""), ("POST", "/cancel"), ("POST", "/retry")])
async def test_job_when_no_row_can_have_its_id_then_404(front: Front, method_and_end: tuple[str, str]) -> None:
    method, end = method_and_end
    for name in (*IMPOSSIBLE_JOBS, "1", "9223372036854775807"):
        answer = await front.send(method, f"/v1/jobs/{name}{end}", b"", {})
        assert (answer.status, answer.error["code"]) == NOT_FOUND, name


async def test_ticket_when_no_row_can_have_its_id_then_404(front: Front) -> None:
    for name in (*IMPOSSIBLE_TICKETS, "T-500001", "T-9223372036854775807"):
        answer = await front.get(f"/v1/tickets/{name}")
        assert (answer.status, answer.error["code"]) == NOT_FOUND, name


async def test_address_or_method_when_unknown_then_404_in_the_envelope(front: Front) -> None:
    for method, path in UNKNOWN:
        answer = await front.send(method, path, b"", {})
        assert (answer.status, answer.error["code"]) == NOT_FOUND, (method, path)


async def test_customer_when_its_id_cannot_be_then_422(front: Front) -> None:
    for name in ("C-1", "c-0022", "C-123456", "0022", "C-0022%0A", "%00", "C-%D9%A0%D9%A0%D9%A0%D9%A0"):
        answer = await front.put(f"/v1/customers/{name}", {"name": "Ada", "workspace_id": "team_42"})
        assert answer.status == 422
        assert answer.fields == {"customer_id"}


async def test_customer_when_put_twice_then_created_and_replaced(app: App, front: Front) -> None:
    created = await front.put("/v1/customers/C-0100", {"name": " Cy ", "workspace_id": "team_1"})
    replaced = await front.put("/v1/customers/C-0100", {"name": "Cyd", "workspace_id": "team_2"})

    assert (created.status, replaced.status) == (201, 200)
    assert created.json() == {"customer_id": "C-0100", "name": "Cy", "workspace_id": "team_1"}
    assert replaced.json() == {"customer_id": "C-0100", "name": "Cyd", "workspace_id": "team_2"}
    ticket = await front.post("/v1/tickets", {"customer_id": "C-0100", "subject": "x"})
    shown = (await front.get(f"/v1/tickets/{ticket.json()['ticket_id']}")).json()
    assert shown["workspace_id"] == "team_2"


async def test_customer_when_moved_then_its_old_tickets_stay_where_they_were(app: App, front: Front) -> None:
    await accept(app)
    await front.put("/v1/customers/C-0022", {"name": "Ada", "workspace_id": "elsewhere"})
    assert (await front.get("/v1/tickets/T-500001")).json()["workspace_id"] == "team_42"


async def test_customer_when_a_field_is_bad_then_422_and_nothing_changes(app: App, front: Front) -> None:
    bad: dict[str, tuple[object, ...]] = {
        "name": ("", " ", "x" * 201, "a\0", "\ud800", 1, None),
        "workspace_id": ("", "Team", "a b", "x" * 65, "team_42\n", 1, None),
        "more": (1,),
    }
    for field, values in bad.items():
        for value in values:
            body = {"name": "Eve", "workspace_id": "team_9", field: value}
            answer = await front.put("/v1/customers/C-0022", body)
            assert (answer.status, answer.fields) == (422, {field}), body
    assert await app.db.fetch_dict("SELECT name FROM customers WHERE customer_id = 'C-0022'") == {"name": "Ada Archer"}


@pytest.mark.parametrize("call", ["cancel", "retry"])
async def test_call_without_fields_when_a_body_comes_then_only_an_empty_object_is_taken(
    app: App, front: Front, call: str
) -> None:
    refused = {
        (b"[]", "application/json"): 422,
        (b"1", "application/json"): 422,
        (b'{"force": true}', "application/json"): 422,
        (b"{", "application/json"): 400,
        (b"{}", "text/plain"): 415,
        (b'"' + b"x" * 300_000 + b'"', "application/json"): 413,
    }
    job_id = await accept(app)
    for (body, content_type), status in refused.items():
        answer = await front.send("POST", f"/v1/jobs/{job_id}/{call}", body, {"Content-Type": content_type})
        assert answer.status == status, (body[:20], answer)
    assert (await front.get(f"/v1/jobs/{job_id}")).json()["state"] == "queued"

    answer = await front.post(f"/v1/jobs/{job_id}/{call}", {})

    assert answer.status == {"cancel": 200, "retry": 409}[call], json.dumps(answer.json())
