"""What a test's limits come to: a result, its text, and what becomes of the test."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace

from harness.checks.traffic import check_traffic
from harness.model.budget import WHOLE_RUN, Budget
from harness.model.outcome import Outcome
from harness.model.trace import Trace
from harness.model.verdict import CheckResult
from harness.pytest_plugin.outcomes import Failed, Skipped
from harness.pytest_plugin.recording import Recorder
from harness.pytest_plugin.settings import MARK, Inconclusive
from harness.pytest_plugin.threads import thread_of
from harness.pytest_plugin.watching import Watch
from harness.report.failure import failure_text

__all__ = ["conclude", "inconclusive", "judge", "no_boundary", "result_text"]

_DOCTOR = "see `harness doctor` for what can be observed on this machine"


def judge(recorder: Recorder, budget: Budget, watch: Watch, *, late: bool = False) -> CheckResult:
    """Hold what one test recorded against its limits.

    Beyond the doubts of ``check_traffic``, a limit is inconclusive where nothing was recorded at all: ``late``
    says that it was set when the body had begun.
    """
    if watch.device.probe is None:
        return no_boundary(watch)
    trace = recorder.judged()
    if trace is None:
        return _unrecorded(late=late)
    result = check_traffic([trace], budget, control=watch.control)
    if result.outcome is Outcome.FAILED:
        notes = (*_scope(result, recorder), *_bystanders(result, recorder))
        return replace(result, details=(*result.details, *notes))
    if result.outcome is Outcome.INCONCLUSIVE:
        hints = tuple(_strayed(recorder, budget))
        step = _next_step(trace, budget, watch, recorder)
        return replace(result, details=(*result.details, *hints), next_step=step)
    return result


def result_text(result: CheckResult) -> str:
    """The result as a test's failure shows it; what could not be told begins with INCONCLUSIVE."""
    text = failure_text(result)
    if result.outcome is not Outcome.INCONCLUSIVE:
        return text
    return text.replace(f"{result.check} {result.outcome.value}: ", "INCONCLUSIVE: ", 1)


def conclude(result: CheckResult, policy: Inconclusive) -> None:
    """End the test as its result demands: return when it passed or is waived, raise an outcome of pytest when not."""
    if result.outcome is Outcome.PASSED or result.waiver is not None:
        return
    text = result_text(result)
    if result.outcome is Outcome.INCONCLUSIVE and policy is Inconclusive.SKIP:
        raise Skipped(text.partition("\n")[0], result=result)
    raise Failed(text, result=result)


def inconclusive(
    summary: str, *, details: tuple[str, ...] = (), next_step: str = _DOCTOR
) -> CheckResult:
    """A result that is neither: why, and what to do about it."""
    return CheckResult(
        check="traffic",
        outcome=Outcome.INCONCLUSIVE,
        summary=summary,
        evidence="",
        details=details,
        next_step=next_step,
    )


def no_boundary(watch: Watch) -> CheckResult:
    """The result of everything on a device that has no transfers."""
    return inconclusive(
        f"device {watch.device.name!r} has no boundary to watch, so nothing is known about transfers",
        next_step="run with --harness-device=simulated, or on a GPU",
    )


def _unrecorded(*, late: bool) -> CheckResult:
    if late:
        return inconclusive(
            f"{MARK} was added while the test ran, and nothing of the test was recorded",
            next_step="mark the test itself, add the mark in a fixture, or open `with device_trace():`",
        )
    return inconclusive(
        "no trace was recorded, since the test body is not a plain function",
        next_step="open `with device_trace():` around the part under test",
    )


def _next_step(trace: Trace, budget: Budget, watch: Watch, recorder: Recorder) -> str:
    """What to do about the first doubt, in the order in which ``check_traffic`` tells them."""
    if watch.control is None or watch.control.outcome is not Outcome.PASSED:
        return _DOCTOR
    missing = [
        region for region in budget.regions if region != WHOLE_RUN and not trace.entered.get(region)
    ]
    if missing:
        return _to_enter(missing[0], trace, strayed=recorder.entered_outside(missing[0]))
    required = {limit.quantity.requires for limits in budget.regions.values() for limit in limits}
    if trace.dropped or not required <= trace.observes:
        return _DOCTOR
    if trace.doubts:
        return ""  # each says itself what to do
    return "run the op under test there, on arrays of the `device` fixture"


def _to_enter(region: str, trace: Trace, *, strayed: bool) -> str:
    if strayed:
        return f"enter region {region!r} inside a `with device_trace():` block"
    open_it = f"open `with device_trace.region({region!r}):` around the part it limits"
    if not trace.entered:
        return open_it
    close = difflib.get_close_matches(region, trace.entered, n=1)
    entered = ", ".join(map(repr, trace.entered))
    advice = f"write within={close[0]!r}" if close else "limit one of them"
    return f"the test entered {entered}; {advice}, or {open_it}"


def _strayed(recorder: Recorder, budget: Budget) -> Iterator[str]:
    for region in budget.regions:
        if region != WHOLE_RUN and recorder.entered_outside(region):
            yield (
                f"region {region!r} was entered outside the device_trace() blocks, "
                "and a test that has blocks is judged by them alone"
            )


def _scope(result: CheckResult, recorder: Recorder) -> Iterator[str]:
    if recorder.whole_body and any(each.region == WHOLE_RUN for each in result.violations):
        yield "the whole test body counts; open `with device_trace():` to record only the part under test"


def _bystanders(result: CheckResult, recorder: Recorder) -> Iterator[str]:
    """Threads that were inside a guilty function when the test began: what they do may not be its doing."""
    sites = dict.fromkeys(line.site for each in result.violations for line in each.lines)
    for site in sites:
        thread = thread_of(site, recorder.elsewhere)
        if site is not None and thread is not None:
            yield (
                f"thread {thread!r} was inside {site.function}() before this test began, and what it does "
                "counts; end it in the test that starts it"
            )
