"""What a timer's run is told, as the Python library reads it (functions-host B5)."""

import pytest
from azure.functions.meta import Datum
from azure.functions.timer import TimerRequest, TimerRequestConverter

from simulator.host.timer_listener import TimerFire

STATUS = {"Last": "2026-11-29T19:46:00+00:00", "Next": "2026-11-29T19:47:00+00:00"}


def as_the_worker_reads(fire: TimerFire) -> TimerRequest:
    request = TimerRequestConverter.decode(Datum(fire.to_json(), "json"), trigger_metadata={})
    assert isinstance(request, TimerRequest)
    return request


@pytest.mark.parametrize("past_due", [True, False])
def test_fire_when_a_status_is_kept_tells_it(past_due: bool) -> None:
    request = as_the_worker_reads(TimerFire(past_due, STATUS))
    assert request.past_due is past_due
    assert request.schedule_status == STATUS
    assert request.schedule == {"AdjustForDST": True}


def test_fire_when_no_status_is_kept_tells_an_empty_one() -> None:
    request = as_the_worker_reads(TimerFire(False, None, adjusts_for_dst=False))
    assert request.schedule_status == {}
    assert request.schedule == {"AdjustForDST": False}
