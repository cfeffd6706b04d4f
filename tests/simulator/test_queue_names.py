import pytest

from simulator.host.queue_names import InvalidQueueName, normalize_queue_name, poison_queue_name


def test_name_in_upper_case_then_lowered() -> None:
    assert normalize_queue_name("Tickets-2") == "tickets-2"


@pytest.mark.parametrize("name", ["ab", "a" * 64, "-jobs", "jobs-", "my--jobs", "my_jobs", "jöbs", "", "jobs\n"])
def test_name_against_the_rule_then_refused(name: str) -> None:
    with pytest.raises(InvalidQueueName, match="3 to 63"):
        normalize_queue_name(name)


@pytest.mark.parametrize(
    ("queue", "poison"),
    [
        ("jobs", "jobs-poison"),
        ("a" * 56, "a" * 56 + "-poison"),
        ("a" * 57, None),
        ("jobs-poison", None),
        ("poison", "poison-poison"),
    ],
)
def test_poison_queue_then_named_after_the_queue_unless_impossible(queue: str, poison: str | None) -> None:
    assert poison_queue_name(queue) == poison
