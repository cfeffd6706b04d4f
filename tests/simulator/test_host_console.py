"""The host's log (functions-host D5, D7), and what an HTTP function's text becomes (C3)."""

import logging

import pytest

from simulator.host.console import InvalidLogLevel, LevelFilter, LineFormatter
from simulator.host.web.text_reply import PLAIN, read_text_reply
from simulator.host.worker.runner import read_thread_count
from simulator.host.worker_child import complaint_level


def record(name: str, level: int, text: str = "text") -> logging.LogRecord:
    return logging.LogRecord(name, level, __file__, 1, text, None, None)


@pytest.mark.parametrize(
    ("name", "level", "is_shown"),
    [
        ("Function.work.User", logging.INFO, True),
        ("Function.work.User", logging.DEBUG, False),
        ("function.loud", logging.WARNING, False),
        ("function.loud.User", logging.ERROR, True),
        ("simulator.host.worker_pool", logging.INFO, False),
        ("Host.General", logging.WARNING, True),
        ("azure.core.pipeline", logging.INFO, False),
        ("Elsewhere", logging.DEBUG, True),
    ],
)
def test_levels_when_set_then_the_most_specific_one_counts(name: str, level: int, is_shown: bool) -> None:
    levels = {"default": "Trace", "FUNCTION": "Information", "function.loud": "Error", "Host": "Warning"}
    assert LevelFilter(levels, verbose=False).filter(record(name, level)) is is_shown


def test_levels_when_verbose_then_the_host_says_everything() -> None:
    shows = LevelFilter({"Host": "None"}, verbose=True).filter
    assert shows(record("simulator.host.worker_pool", logging.DEBUG))


def test_levels_when_one_is_unknown_then_it_is_refused() -> None:
    with pytest.raises(InvalidLogLevel, match="there is no level 'Loud'"):
        LevelFilter({"default": "Loud"}, verbose=False)


def test_line_when_written_then_time_level_category_and_further_lines_indented() -> None:
    written = record("simulator.host.worker_pool", logging.WARNING, "one\ntwo")
    written.created = 1796000000.1239
    assert LineFormatter().format(written) == "[2026-11-30T00:53:20.123Z] Warning Host.WorkerPool: one\n    two"


@pytest.mark.parametrize(
    ("line", "level"),
    [("a Warning: failed", logging.WARNING), ("it FAILED", logging.ERROR), ("fine", logging.INFO)],
)
def test_stderr_when_a_line_comes_then_its_words_give_the_level(line: str, level: int) -> None:
    assert complaint_level(line) == level


@pytest.mark.parametrize(
    ("text", "status", "body"),
    [
        ("plain", 200, "plain"),
        ('"quoted"', 200, "quoted"),
        ("null", 200, ""),
        ("true", 200, "True"),
        ("[1]", 200, "[\n  1\n]"),
        ('{"a":{}}', 200, '{\n  "a": {}\n}'),
        ('{"Body":{"a":1},"statusCode":"201"}', 201, '{"a":1}'),
        ('{"body":"x","status":"odd"}', 200, "x"),
    ],
)
def test_text_reply_when_read_then_as_the_host_does(text: str, status: int, body: str) -> None:
    assert read_text_reply(text) == (status, {"content-type": PLAIN}, body.encode())


@pytest.mark.parametrize(("text", "count"), [(None, None), ("", None), ("8", 8), ("0", None), ("x", None)])
def test_thread_count_when_odd_then_pythons_own(text: str | None, count: int | None) -> None:
    assert read_thread_count(text) == count
