"""How long the host waits for things: the genuine host's times, which tests may shorten."""

from dataclasses import dataclass, fields

from simulator.host.settings import Settings

PREFIX = "SIMULATOR_HOST_"


class InvalidTime(ValueError):
    """A setting of the stand-in is no number of seconds."""


@dataclass(frozen=True)
class HostTimes:
    """Seconds. Each is overridden by a setting, such as SIMULATOR_HOST_DRAIN_SECONDS for `drain_seconds`."""

    stop_seconds: float = 10.0  # for the listeners to settle what runs (A12)
    drain_seconds: float = 10.0  # and then for what still runs in the worker
    restart_interval_seconds: float = 10.0  # between two starts of a worker
    worker_start_seconds: float = 120.0  # until a new worker has loaded the app
    restart_window_seconds: float = 1800.0  # an error older than this is forgiven (A10)
    request_wait_seconds: float = 30.0  # a request's patience while the host starts (C1)

    @classmethod
    def from_settings(cls, settings: Settings) -> "HostTimes":
        """Raises InvalidTime."""
        asked = {field.name: settings.find(PREFIX + field.name.upper()) for field in fields(cls)}
        try:
            return cls(**{name: float(text) for name, text in asked.items() if text})
        except ValueError as error:
            raise InvalidTime(f"a {PREFIX}…_SECONDS setting is no number: {error}") from error
