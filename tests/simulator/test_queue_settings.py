import logging

import pytest

from simulator.host.queue_settings import InvalidQueueSettings, QueueSettings


def read(queues: object, *, cores: int = 2, development: bool = False) -> QueueSettings:
    host_json = {"version": "2.0", "extensions": {"queues": queues}}
    return QueueSettings.from_host_json(host_json, cores=cores, development=development)


def test_settings_when_nothing_is_written_then_genuine_defaults() -> None:
    settings = QueueSettings.from_host_json({"version": "2.0"}, cores=2, development=False)
    assert settings == QueueSettings(
        batch_size=16,
        new_batch_threshold=16,
        max_dequeue_count=5,
        max_polling_interval_s=60.0,
        visibility_timeout_s=0,
        message_encoding="base64",
    )


def test_settings_when_all_are_written_then_as_written() -> None:
    settings = read(
        {
            "batchSize": 32,
            "newBatchThreshold": 100,
            "maxDequeueCount": 1,
            "maxPollingInterval": "00:00:00.500",
            "visibilityTimeout": "00:00:30",
            "messageEncoding": "None",
        }
    )
    assert settings == QueueSettings(32, 100, 1, 0.5, 30, "none")


@pytest.mark.parametrize(
    ("batch_size", "cores", "threshold"), [(16, 2, 16), (4, 2, 4), (1, 2, 0), (16, 1, 8), (3, 4, 4)]
)
def test_threshold_when_not_written_then_half_a_batch_per_core(batch_size: int, cores: int, threshold: int) -> None:
    assert read({"batchSize": batch_size}, cores=cores).new_batch_threshold == threshold


@pytest.mark.parametrize(
    ("written", "development", "in_force_s"),
    [
        (None, True, 2.0),
        ("00:01:00", True, 2.0),
        ("00:00:59", True, 59.0),
        ("00:00:10", True, 10.0),
        (None, False, 60.0),
        ("00:01:00", False, 60.0),
        ("00:00:00.1", False, 0.1),
    ],
)
def test_polling_interval_in_either_environment_then_as_recorded(
    written: str | None, development: bool, in_force_s: float
) -> None:
    queues = {} if written is None else {"maxPollingInterval": written}
    assert read(queues, development=development).max_polling_interval_s == in_force_s


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batchSize", 0),
        ("batchSize", 33),
        ("newBatchThreshold", -1),
        ("maxDequeueCount", 0),
        ("maxPollingInterval", "00:00:00.099"),
        ("maxPollingInterval", "two seconds"),
        ("visibilityTimeout", "8.00:00:00"),
        ("messageEncoding", "base32"),
    ],
)
def test_setting_outside_its_limits_then_error_names_it_and_its_value(name: str, value: object) -> None:
    with pytest.raises(InvalidQueueSettings, match=f"extensions.queues.{name} is {value!r}: "):
        read({name: value})


def test_two_settings_outside_their_limits_then_error_names_both() -> None:
    with pytest.raises(InvalidQueueSettings, match=r"batchSize.*maxDequeueCount"):
        read({"batchSize": 0, "maxDequeueCount": 0})


@pytest.mark.parametrize("host_json", [{"extensions": []}, {"extensions": {"queues": "base64"}}])
def test_section_that_is_no_object_then_error(host_json: dict[str, object]) -> None:
    with pytest.raises(InvalidQueueSettings, match="no object"):
        QueueSettings.from_host_json(host_json, cores=2, development=False)


def test_names_in_other_case_then_read_all_the_same() -> None:
    host_json = {"Extensions": {"QUEUES": {"BatchSize": "8"}}}
    assert QueueSettings.from_host_json(host_json, cores=1, development=False).batch_size == 8


def test_unknown_name_then_warned_of_as_written(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        read({"maxPollingIntervall": "00:00:01"})
    assert "extensions.queues.maxPollingIntervall is not a setting" in caplog.text
