"""What one test found, as the verdict that reports are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.checks.traffic import region_counts
from harness.model.budget import Limit
from harness.model.outcome import Outcome
from harness.model.traffic import traffic_lines
from harness.model.verdict import CheckResult, TrafficRecord, Verdict
from harness.pytest_plugin.enforcement import ended_by_plugin, result_of
from harness.pytest_plugin.fixtures import RECORDER
from harness.pytest_plugin.marks import marked_budget, misuse
from harness.pytest_plugin.settings import MARK
from harness.pytest_plugin.speed_enforcement import FINDINGS, TIMED, is_timed
from harness.pytest_plugin.watching import Watch, watch_of
from harness.session.timeline import timeline_of

__all__ = ["entry"]


def entry(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> Mapping[str, Any] | None:
    """The ``Verdict`` of this phase of a test as built-in types; ``None`` when there is nothing to tell.

    The call of every traced or timed test has one. A setup or teardown has one only when it did not go well, so
    that no marked test is missing from the report.
    """
    marked = item.get_closest_marker(MARK) is not None
    recorder = item.stash.get(RECORDER, None)
    traced = marked or (recorder is not None and recorder.used)
    in_call = report.when == "call"
    uneventful = report.passed or (report.when == "teardown" and report.skipped)
    timed = is_timed(item)
    if not (traced or timed) or (uneventful and not in_call):
        return None
    import msgspec

    watch = watch_of(item.config) if traced and recorder is not None else None
    module, _, name = item.nodeid.partition("::")
    verdict = Verdict(
        workload=module,
        case=name,
        parameters=_parameters(item),
        checks=_checks(item, call, report, watch) if in_call else (_own(report, by_limits=False),),
        traffic_device=watch.device.name if watch is not None else "",
        traffic=_record(item, report, watch) if in_call and watch is not None else None,
    )
    if timed and in_call:
        verdict = _with_speed(verdict, item)
    plain: Mapping[str, Any] = msgspec.to_builtins(verdict)
    return plain


def _checks(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    watch: Watch | None,
) -> tuple[CheckResult, ...]:
    """The test's own end, the positive control and the result: together as bad as pytest says the test is."""
    by_plugin = ended_by_plugin(item, call)
    own = _own(report, by_limits=by_plugin)
    results = _results(item)
    control = watch.control if watch is not None else None
    if report.skipped and not _is_inconclusive(results, by_plugin=by_plugin):
        found = [check for check in (control, *results) if check is not None]
        return (own, *(_excused(check, report) for check in found if check.outcome in _CERTAIN))
    checks = [own] if control is None else [own, control]
    # what else was judged of a test that ended early says nothing about the part that did not run
    told = by_plugin or report.passed
    checks += [result for result in results if told or result.outcome is Outcome.FAILED]
    return tuple(checks)


def _results(item: pytest.Item) -> tuple[CheckResult, ...]:
    """What the limits on traffic and on slowdown came to."""
    traffic = result_of(item)
    speeds = [finding.result for finding in item.stash.get(FINDINGS, ())]
    return (*([traffic] if traffic is not None else []), *speeds)


def _with_speed(verdict: Verdict, item: pytest.Item) -> Verdict:
    """The verdict with what was timed, where it was."""
    timed = item.stash.get(TIMED, None)
    if timed is None or not timed.samples:
        return verdict
    from harness.pytest_plugin.speed_findings import work_of
    from harness.pytest_plugin.speed_marks import speed_limits
    from harness.stats.bootstrap import median_interval

    sample = timed.samples[0]
    return replace(
        verdict,
        timing_device=timed.device,
        sample=sample,
        call_time=median_interval(sample.call_ns),
        throughput=work_of(speed_limits(item)),
    )


_CERTAIN = (Outcome.PASSED, Outcome.FAILED)


def _is_inconclusive(results: Sequence[CheckResult], *, by_plugin: bool) -> bool:
    """Whether a test was skipped for want of an answer, where the user chose that."""
    return by_plugin and any(result.outcome is Outcome.INCONCLUSIVE for result in results)


def _excused(check: CheckResult, report: pytest.TestReport) -> CheckResult:
    """A check of a test that was skipped or expected to fail: what it found is told and does not count."""
    if check.outcome is Outcome.PASSED:
        return check
    expected = hasattr(report, "wasxfail")
    excuse = f"expected to fail ({report.wasxfail})" if expected else f"skipped ({_reason(report)})"
    return replace(check, outcome=Outcome.SKIPPED, summary=f"{excuse}: {check.summary}")


def _own(report: pytest.TestReport, *, by_limits: bool) -> CheckResult:
    """How the test itself ended, its limits apart."""
    outcome, summary = Outcome.PASSED, "the test's own assertions hold"
    if by_limits:
        pass
    elif hasattr(report, "wasxfail"):
        outcome = Outcome.PASSED if report.passed else Outcome.SKIPPED
        summary = f"{'passed, though ' if report.passed else ''}expected to fail: {report.wasxfail or 'no reason given'}"
    elif report.skipped:
        outcome, summary = Outcome.SKIPPED, _reason(report)
    elif report.failed:
        outcome, summary = Outcome.FAILED, f"{report.when} failed: {_crash(report)}"
    return CheckResult(
        check="test",
        outcome=outcome,
        summary=summary,
        evidence="the outcome pytest gave it",
        next_step="see the output of pytest for this test" if outcome is Outcome.FAILED else "",
    )


def _reason(report: pytest.TestReport) -> str:
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return reason.removeprefix("Skipped: ") or "skipped without a reason"


def _crash(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    first, _, _ = text.strip().partition("\n")
    return first or "no message"


def _record(item: pytest.Item, report: pytest.TestReport, watch: Watch) -> TrafficRecord | None:
    trace = item.stash[RECORDER].seen()
    if trace is None:
        return None
    return TrafficRecord(
        label=item.name,
        device=watch.device.name,
        probe=trace.probe,
        evidence=trace.evidence,
        runs=1,
        regions=region_counts(trace),
        first_call={},
        limits=_limits(item, report),
        lines=traffic_lines(trace.events),
        timeline=timeline_of(trace),
    )


def _limits(item: pytest.Item, report: pytest.TestReport) -> Mapping[str, tuple[Limit, ...]]:
    """The limits a test was held against: none where it skipped itself, or where its marks make no sense."""
    if misuse(item) is not None or (report.skipped and not hasattr(report, "wasxfail")):
        return {}
    budget = marked_budget(item)
    return budget.regions if budget is not None else {}


def _parameters(item: pytest.Item) -> dict[str, str]:
    """Parameters that are plain values; others by their type, since a ``repr`` may read back from a device."""
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return {}
    return {str(name): _parameter(value) for name, value in callspec.params.items()}


def _parameter(value: object) -> str:
    if isinstance(value, str | int | float | bool) or value is None:
        return str(value)
    return type(value).__name__
