"""The call of a marked test: its body recorded, its limits judged, its outcome theirs unless it has its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from harness.errors import UsageError
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.pytest_plugin.fixtures import RECORDER, recorder_of
from harness.pytest_plugin.judgement import conclude, judge, result_text
from harness.pytest_plugin.marks import marked_budget
from harness.pytest_plugin.recording import Recorder
from harness.pytest_plugin.settings import SETTINGS
from harness.pytest_plugin.watching import watch_of

__all__ = ["forget", "judged_call", "prepare", "raised_by_limits", "result_of", "tell"]

_RESULT = pytest.StashKey[CheckResult]()
_RAISED = pytest.StashKey[BaseException]()


def prepare(item: pytest.Item) -> None:
    """Make the device and run its positive control before the fixtures of a marked test are set up."""
    recorder_of(item)


def judged_call(item: pytest.Item) -> Generator[None, object, object]:
    """Wrap the call phase of a marked test.

    What the body raises itself goes through untouched, since the first thing that went wrong is the one to
    read; ``tell`` adds what its limits came to.
    """
    try:
        budget = marked_budget(item)
    except UsageError as error:  # a mark added after the collection, which was checked
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    assert budget is not None, "called for marked tests only"
    recorder = recorder_of(item)
    recorder.start_over()
    try:
        with _recorded_body(item, recorder):
            value = yield
    finally:
        result = item.stash[_RESULT] = judge(recorder, budget, watch_of(item.config))
    try:
        conclude(result, item.config.stash[SETTINGS].inconclusive)
    except (pytest.fail.Exception, pytest.skip.Exception) as outcome:
        item.stash[_RAISED] = outcome
        raise
    return value


def result_of(item: pytest.Item) -> CheckResult | None:
    """What the limits of a test came to; ``None`` before its call and for tests without limits."""
    return item.stash.get(_RESULT, None)


def raised_by_limits(item: pytest.Item, call: pytest.CallInfo[None]) -> bool:
    """Whether this phase ended as it did because of the limits and not by the test's own doing."""
    raised = item.stash.get(_RAISED, None)
    return raised is not None and call.excinfo is not None and call.excinfo.value is raised


def tell(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Put what the limits came to on the report of the call, where its outcome does not already say it."""
    result = result_of(item)
    if result is None:
        return
    if raised_by_limits(item, call):
        if report.skipped and isinstance(report.longrepr, tuple):
            path, line, _ = item.reportinfo()
            report.longrepr = (str(path), (line or 0) + 1, report.longrepr[2])
        return
    if result.outcome in (Outcome.PASSED, Outcome.FAILED):
        report.sections.append(("harness: limit_transfers", result_text(result)))


def forget(item: pytest.Item) -> None:
    """Drop what one run of a test left behind, so that a rerun of it starts afresh."""
    keys: tuple[pytest.StashKey[Any], ...] = (RECORDER, _RESULT, _RAISED)
    for key in keys:
        if key in item.stash:
            del item.stash[key]


@contextmanager
def _recorded_body(item: pytest.Item, recorder: Recorder) -> Iterator[None]:
    """Record the test function itself: not its fixtures, nor ``setUp`` and ``tearDown`` of a ``TestCase``.

    A coroutine function is left alone, since calling it runs none of its body.
    """
    if not isinstance(item, pytest.Function) or _is_async(item.obj):
        yield
        return
    function = item.obj

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with recorder.body():
            return function(*args, **kwargs)

    item.obj = recorded
    try:
        yield
    finally:
        item.obj = function


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
