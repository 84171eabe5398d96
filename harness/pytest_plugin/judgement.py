"""What a test's limits come to: a result, its text, and what becomes of the test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

import pytest

from harness.checks.traffic import check_traffic
from harness.model.budget import WHOLE_RUN, Budget
from harness.model.event import EventType
from harness.model.outcome import Outcome
from harness.model.trace import Trace
from harness.model.verdict import CheckResult
from harness.pytest_plugin.recording import Recorder
from harness.pytest_plugin.settings import Inconclusive
from harness.pytest_plugin.watching import Watch
from harness.report.failure import failure_text

__all__ = ["conclude", "judge", "reading_doubt", "result_text"]

_CHECK = "traffic"


def judge(recorder: Recorder, budget: Budget, watch: Watch) -> CheckResult:
    """Hold what one test recorded against its limits.

    Beyond the doubts of ``check_traffic``, a limit is inconclusive where nothing was recorded at all.
    """
    if watch.device.probe is None:
        return _no_boundary(watch)
    trace = recorder.judged()
    if trace is None:
        return _inconclusive(
            "no trace was recorded, since the test body is not a plain function",
            next_step="open `with device_trace():` around the part under test",
        )
    result = check_traffic([trace], budget, control=watch.control)
    if result.outcome is Outcome.FAILED:
        return _with_scope(result, recorder)
    hints = tuple(_strayed(recorder, budget))
    return replace(result, details=(*result.details, *hints))


def reading_doubt(trace: Trace | None, watch: Watch) -> CheckResult | None:
    """Why the counts of a trace must not be read as the truth; ``None`` when they may.

    The counts are one object, so the probe must see both copies and waits.
    """
    if watch.device.probe is None or trace is None:
        return _no_boundary(watch)
    if watch.control is None or watch.control.outcome is not Outcome.PASSED:
        summary = watch.control.summary if watch.control else "no positive control was run"
        return _inconclusive(summary)
    unseen = [
        kind.value for kind in (EventType.TRANSFER, EventType.SYNC) if kind not in trace.observes
    ]
    if unseen:
        return _inconclusive(f"{trace.probe} cannot see {' and '.join(unseen)} events")
    if trace.dropped:
        return _inconclusive(
            f"{trace.probe} lost {trace.dropped:,} records, so counts are lower bounds"
        )
    return None


def result_text(result: CheckResult) -> str:
    """The result as a test's failure shows it; what could not be told begins with INCONCLUSIVE."""
    text = failure_text(result)
    if result.outcome is not Outcome.INCONCLUSIVE:
        return text
    return text.replace(f"{result.check} {result.outcome.value}: ", "INCONCLUSIVE: ", 1)


def conclude(result: CheckResult, policy: Inconclusive) -> None:
    """End the test as its result demands: return when it passed, raise pytest's own outcome when not."""
    if result.outcome is Outcome.PASSED:
        return
    if result.outcome is Outcome.INCONCLUSIVE and policy is Inconclusive.SKIP:
        _skip(result)
    # no traceback: the line that matters is in the text, and the frames here are the plugin's own
    raise pytest.fail.Exception(result_text(result), pytrace=False)


def _skip(result: CheckResult) -> NoReturn:
    raise pytest.skip.Exception(result_text(result).partition("\n")[0])


def _no_boundary(watch: Watch) -> CheckResult:
    return _inconclusive(
        f"device {watch.device.name!r} has no boundary to watch, so nothing is known about transfers",
        next_step="run with --harness-device=simulated, or on a GPU",
    )


def _strayed(recorder: Recorder, budget: Budget) -> Iterator[str]:
    for region in budget.regions:
        if region != WHOLE_RUN and recorder.entered_outside(region):
            yield (
                f"region {region!r} was entered outside the device_trace() blocks, "
                "and a test that has blocks is judged by them alone"
            )


def _with_scope(result: CheckResult, recorder: Recorder) -> CheckResult:
    whole = any(violation.region == WHOLE_RUN for violation in result.violations)
    if not (whole and recorder.whole_body):
        return result
    scope = (
        "the whole test body counts; open `with device_trace():` to record only the part under test"
    )
    return replace(result, details=(*result.details, scope))


def _inconclusive(
    summary: str,
    *,
    evidence: str = "",
    details: tuple[str, ...] = (),
    next_step: str = "see `harness doctor` for what can be observed on this machine",
) -> CheckResult:
    return CheckResult(
        check=_CHECK,
        outcome=Outcome.INCONCLUSIVE,
        summary=summary,
        evidence=evidence,
        details=details,
        next_step=next_step,
    )
