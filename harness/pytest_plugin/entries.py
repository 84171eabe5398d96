"""What one test found, as the verdict that reports are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from harness.checks.traffic import region_counts
from harness.model.outcome import Outcome
from harness.model.traffic import traffic_lines
from harness.model.verdict import CheckResult, TrafficRecord, Verdict
from harness.pytest_plugin.enforcement import raised_by_limits, result_of
from harness.pytest_plugin.fixtures import RECORDER
from harness.pytest_plugin.marks import marked_budget
from harness.pytest_plugin.settings import MARK
from harness.pytest_plugin.watching import Watch, watch_of

__all__ = ["entry"]


def entry(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> Mapping[str, Any] | None:
    """The ``Verdict`` of this phase of a test as built-in types; ``None`` when there is nothing to tell.

    The call of every traced test has one. A setup or teardown has one only when it did not go well, so
    that no marked test is missing from the report.
    """
    marked = item.get_closest_marker(MARK) is not None
    recorder = item.stash.get(RECORDER, None)
    traced = marked or (recorder is not None and recorder.used)
    in_call = report.when == "call"
    uneventful = report.passed or (report.when == "teardown" and report.skipped)
    if not traced or (uneventful and not in_call):
        return None
    import msgspec

    watch = watch_of(item.config) if recorder is not None else None
    module, _, name = item.nodeid.partition("::")
    verdict = Verdict(
        workload=module,
        case=name,
        parameters=_parameters(item),
        checks=_checks(item, call, report, watch) if in_call else (_own(report, by_limits=False),),
        traffic_device=watch.device.name if watch is not None else "",
        traffic=_record(item, watch) if in_call and watch is not None else None,
    )
    plain: Mapping[str, Any] = msgspec.to_builtins(verdict)
    return plain


def _checks(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    watch: Watch | None,
) -> tuple[CheckResult, ...]:
    by_limits = raised_by_limits(item, call)
    own = _own(report, by_limits=by_limits)
    result = result_of(item)
    control = watch.control if watch is not None else None
    checks = [own] if control is None else [own, control]
    if result is None:
        return tuple(checks)
    if by_limits and hasattr(report, "wasxfail") and report.skipped:
        summary = f"expected to fail ({report.wasxfail}): {result.summary}"
        checks.append(replace(result, outcome=Outcome.SKIPPED, summary=summary))
    elif by_limits or report.passed or result.outcome is Outcome.FAILED:
        checks.append(result)
    # what else was judged of a test that ended early says nothing about the part that did not run
    return tuple(checks)


def _own(report: pytest.TestReport, *, by_limits: bool) -> CheckResult:
    """How the test itself ended, its limits apart."""
    outcome, summary = Outcome.PASSED, "the test's own assertions hold"
    if by_limits:
        pass
    elif hasattr(report, "wasxfail"):
        outcome = Outcome.PASSED if report.passed else Outcome.SKIPPED
        summary = f"{'passed, though ' if report.passed else ''}expected to fail: {report.wasxfail or 'no reason given'}"
    elif report.skipped:
        outcome, summary = Outcome.SKIPPED, _skip_reason(report)
    elif report.failed:
        outcome, summary = Outcome.FAILED, f"{report.when} failed: {_crash(report)}"
    return CheckResult(
        check="test",
        outcome=outcome,
        summary=summary,
        evidence="the outcome pytest gave it",
        next_step="see the output of pytest for this test" if outcome is Outcome.FAILED else "",
    )


def _skip_reason(report: pytest.TestReport) -> str:
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return reason.removeprefix("Skipped: ") or "skipped without a reason"


def _crash(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    first, _, _ = text.strip().partition("\n")
    return first or "no message"


def _record(item: pytest.Item, watch: Watch) -> TrafficRecord | None:
    recorder = item.stash[RECORDER]
    trace = recorder.judged()
    if trace is None:
        return None
    budget = marked_budget(item)
    return TrafficRecord(
        label=item.name,
        device=watch.device.name,
        probe=trace.probe,
        evidence=trace.evidence,
        runs=1,
        regions=region_counts(trace),
        first_call={},
        limits=budget.regions if budget is not None else {},
        lines=traffic_lines(trace.events),
    )


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
