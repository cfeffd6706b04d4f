"""What is seen while a scenario runs, in one form for the recording and for the replay."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Got:
    """One message in the answer to a GET."""

    tag: str
    dequeue_count: int
    receipt: str


@dataclass(frozen=True, kw_only=True)
class Event:
    """Times are seconds after the start of the host; `answered_at_s` is known in the replay only.

    `tag` names the message as the scenario does, with `/poison` for its copy. `status` is empty for success, else
    the HTTP status or `dropped`. `receipt` and `new_receipt` are r1, r2 ... in order of issue. `seconds` is a
    visibility timeout, `count` the number of messages asked for or, for `who` = function, the delivery.
    `follows_gap`: the recording leaves out polls just before this one.
    """

    at_s: float
    who: str
    what: str
    queue: str = ""
    tag: str = ""
    status: str = ""
    receipt: str = ""
    new_receipt: str = ""
    seconds: int | None = None
    count: int | None = None
    has_body: bool = False
    text: str | None = None
    got: tuple[Got, ...] = ()
    answered_at_s: float | None = None
    follows_gap: bool = False

    @property
    def done_at_s(self) -> float:
        """When the answer was there; in the recording, which has no such times, when it was asked."""
        return self.at_s if self.answered_at_s is None else self.answered_at_s
