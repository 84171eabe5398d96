"""The call of a traced test: its body recorded, its limits judged, its outcome theirs unless it has its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from harness.errors import UsageError
from harness.model.budget import Budget
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.pytest_plugin.fixtures import CALLING, RECORDER, recorder_of
from harness.pytest_plugin.judgement import conclude, judge, result_text
from harness.pytest_plugin.marks import marked_budget
from harness.pytest_plugin.outcomes import Failed, Skipped, is_unsure
from harness.pytest_plugin.recording import Recorder
from harness.pytest_plugin.settings import SETTINGS, Inconclusive
from harness.pytest_plugin.waiving import covered
from harness.pytest_plugin.watching import watch_of

__all__ = [
    "conclude_call",
    "ended_by_plugin",
    "forget",
    "judged_call",
    "prepare",
    "refuse_excuse",
    "result_of",
    "tell",
]

_RESULT = pytest.StashKey[CheckResult]()
_UNEXCUSED = pytest.StashKey[bool]()


def prepare(item: pytest.Item) -> None:
    """Make the device and run its positive control before the fixtures of a marked test are set up."""
    recorder_of(item)


def judged_call(item: pytest.Item) -> Generator[None, object, object]:
    """Wrap the call phase of a test that is marked or has asked for ``device_trace``.

    What the body raises itself goes through untouched, since the first thing that went wrong is the one to
    read; ``tell`` adds what its limits came to.
    """
    __tracebackhide__ = True
    marked = _budget(item) is not None
    recorder = recorder_of(item)
    function = _plain_function(item) if marked else None
    recorder.begin_call(records_body=function is not None)
    ending: Failed | Skipped | None = None
    value: object = None
    try:
        with _recorded_body(item, function, recorder):
            value = yield
    except (Failed, Skipped) as error:
        ending = error
    except BaseException:
        _note_result(item, late=not marked)
        raise
    finally:
        recorder.end_call()
    conclude_call(item, late=not marked)
    if ending is not None:
        raise ending
    return value


def conclude_call(item: pytest.Item, *, late: bool) -> None:
    """End a test whose body came to its end as its limits and readings demand.

    ``late`` says that the test had no mark when its body began.
    """
    budget = _budget(item)
    result = _settled(item, budget, late=late)
    if result is not None:
        result = covered(item, result, sighted=_is_sighted(item))
        item.stash[_RESULT] = result
        conclude(result, item.config.stash[SETTINGS].inconclusive)


def result_of(item: pytest.Item) -> CheckResult | None:
    """What the limits and readings of a test came to; ``None`` before its call and for tests without either."""
    return item.stash.get(_RESULT, None)


def ended_by_plugin(item: pytest.Item, call: pytest.CallInfo[None]) -> bool:
    """Whether this phase ended as it did because of the result and not by the test's own doing."""
    ending = call.excinfo.value if call.excinfo is not None else None
    return item.stash.get(_UNEXCUSED, False) or (
        isinstance(ending, Failed | Skipped) and ending.result is not None
    )


def refuse_excuse(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    """Turn an expected failure back into what it is where nobody knows whether the expected thing happened.

    ``xfail`` waits for a defect. A test that could not be judged has not shown it, and would wait for ever.
    """
    if not (hasattr(report, "wasxfail") and report.skipped):
        return
    unsure = call.excinfo is not None and is_unsure(call.excinfo.value)
    refused = _refused(item) if report.when == "call" else ()
    if not (unsure or refused):
        return
    del report.wasxfail
    report.outcome = "failed"
    if unsure:
        return
    item.stash[_UNEXCUSED] = True
    result = item.stash[_RESULT] = refused[0]
    report.longrepr = result_text(result)
    if item.config.stash[SETTINGS].inconclusive is Inconclusive.SKIP:
        report.outcome = "skipped"
        report.longrepr = _skipped_at(item, result_text(result).partition("\n")[0])


def tell(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Put what the limits came to on the report of the call, where its outcome does not already say it."""
    if ended_by_plugin(item, call):
        if report.skipped and isinstance(report.longrepr, tuple):
            report.longrepr = _skipped_at(item, report.longrepr[2])
        return
    result = result_of(item)
    if result is not None and (result.outcome in _TOLD or result.waiver is not None):
        report.sections.append(("harness: limit_transfers", result_text(result)))


_TOLD = (Outcome.PASSED, Outcome.FAILED)


def forget(item: pytest.Item) -> None:
    """Drop what one run of a test left behind, so that a rerun of it starts afresh."""
    keys: tuple[pytest.StashKey[Any], ...] = (RECORDER, _RESULT, _UNEXCUSED)
    for key in keys:
        if key in item.stash:
            del item.stash[key]


def _budget(item: pytest.Item) -> Budget | None:
    """The limits of a test; a mark added after the collection, which was checked, may make no sense."""
    try:
        return marked_budget(item)
    except UsageError as error:
        raise Failed(str(error)) from None


def _settled(item: pytest.Item, budget: Budget | None, *, late: bool) -> CheckResult | None:
    """The limits' result, unless a reading was refused and nothing worse is certain."""
    recorder = recorder_of(item)
    refused = recorder.refused[0] if recorder.refused else None
    if budget is None:
        return refused
    limits = judge(recorder, budget, watch_of(item.config), late=late)
    if refused is None or limits.outcome is Outcome.FAILED:
        return limits
    return refused


def _is_sighted(item: pytest.Item) -> bool:
    """Whether the probe of the session saw what was planted, without which no waiver says anything."""
    control = watch_of(item.config).control
    return control is not None and control.outcome is Outcome.PASSED


def _note_result(item: pytest.Item, *, late: bool) -> None:
    """Keep what the limits came to beside a failure of the test's own, which is told first."""
    try:
        result = _settled(item, marked_budget(item), late=late)
    except UsageError:  # the test has failed already, and its own failure is the one to read
        return
    if result is not None:
        item.stash[_RESULT] = result


def _refused(item: pytest.Item) -> Sequence[CheckResult]:
    """The readings that were not allowed and that nobody has told yet, as where a test swallowed them."""
    in_subtest = item.stash.get(CALLING, False)
    result = result_of(item)
    exceeded = result is not None and result.outcome is Outcome.FAILED
    if in_subtest or exceeded or RECORDER not in item.stash:
        return ()
    return item.stash[RECORDER].refused


def _skipped_at(item: pytest.Item, reason: str) -> tuple[str, int, str]:
    path, line, _ = item.reportinfo()
    return str(path), (line or 0) + 1, reason


@contextmanager
def _recorded_body(
    item: pytest.Item, function: Callable[..., Any] | None, recorder: Recorder
) -> Iterator[None]:
    """Record the test function itself: not its fixtures, nor ``setUp`` and ``tearDown`` of a ``TestCase``."""
    if function is None or not isinstance(item, pytest.Function):
        yield
        return

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


def _plain_function(item: pytest.Item) -> Callable[..., Any] | None:
    """The test's function; ``None`` for a coroutine function, since calling it runs none of its body."""
    if not isinstance(item, pytest.Function):
        return None
    function: Callable[..., Any] = item.obj
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    return None if is_async else function
