"""What a run knows of itself: the `context` argument, and the run that a log line belongs to."""

import threading
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Run:
    """One invocation of a function."""

    id: str
    function: str


current_run: ContextVar[Run | None] = ContextVar("current_run", default=None)
runs_by_id: dict[str, Run] = {}
thread_storage = threading.local()


def find_run() -> Run | None:
    """The run of this task or thread; a thread of the app's own has one if it copied `invocation_id` (D5)."""
    return current_run.get() or runs_by_id.get(getattr(thread_storage, "invocation_id", None) or "")


@dataclass(frozen=True)
class TraceContext:
    """The W3C headers that the host gives the run."""

    trace_parent: str
    trace_state: str
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RetryContext:
    """Always at rest: the stand-in refuses retry policies."""

    retry_count: int = 0
    max_retry_count: int = 0
    exception: None = None


@dataclass(frozen=True)
class Context:
    """What a parameter named `context` gets. The worker's own class, as in Azure: the annotation goes by its name."""

    invocation_id: str
    function_name: str
    function_directory: str
    trace_context: TraceContext
    retry_context: RetryContext = field(default_factory=RetryContext)
    thread_local_storage: threading.local = thread_storage
