"""One case as the overview and its own section show it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.measurement import CopyBandwidth, Estimate, Rates, rates_of
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Verdict
from harness.report.failure import failure_text
from harness.report.view.axis import Axis
from harness.report.view.brief import brief
from harness.report.view.crossings import RecordView, record_view
from harness.report.view.mark import Mark
from harness.report.view.overview import Overview, overview
from harness.report.view.reasons import Reason, reasons
from harness.report.view.speed import SpeedView, speed_view
from harness.report.wording import LONGEST_LABEL, shortened, visible
from harness.units import count_text, duration_text, percent_text, rate_text

__all__ = ["CaseView", "CheckView", "Fact", "anchors", "case_label", "case_view", "check_view"]

_VALUES = "values"
_NUMERIC = (_VALUES, "gradients")
"""The checks whose evidence (worst error over allowed) stands in the overview."""

_UNKNOWN = "unknown"

_LONGEST_PASSED = 30
"""Half a line of the case table: two outputs that are right, beside the gradients."""

_LONGEST_FINDING = 280
"""Where the worst output is wrong, by how much, and what was expected instead, its longest name and index included."""

_NO_CASE = frozenset({"", "-"})
"""The case of a workload that broke before it had any."""

_LONGEST_NAME = 40
"""A case with its shape, dtype and labels, in a column of a terminal."""

_LONGEST_ANCHOR = 80
"""Room for workload and case in a link; uniqueness comes from the number added where needed."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what it is."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """One check of a case, of all devices that say the same; ``brief`` is its summary cut to the overview's size.

    ``failure`` is the text with limits and source lines where a limit was exceeded.
    """

    check: str
    mark: Mark
    summary: str
    brief: str
    evidence: str
    details: tuple[str, ...]
    next_step: str
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """Everything shown about one case.

    ``name`` is the case as short as a line of a terminal needs it. ``values`` are the numeric checks, ``call_time`` and ``interval`` the median of a call and how sure it
    is, ``rates`` work, least bytes per second, and those as a fraction of what the device copies; all empty where
    they do not apply. ``speed`` is how it stands against what it was compared with.
    """

    anchor: str
    label: str
    workload: str
    case: str
    name: str
    mark: Mark
    parameters: tuple[Fact, ...]
    checks: tuple[CheckView, ...]
    values: tuple[CheckView, ...]
    overview: Overview | None
    traffic: RecordView | None
    controls: tuple[RecordView, ...]
    reasons: tuple[Reason, ...]
    call_time: str
    interval: str
    rates: tuple[str, ...]
    speed: SpeedView | None
    facts: tuple[Fact, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return self.mark.style == Outcome.PASSED.value

    @property
    def open_question(self) -> bool:
        """Whether something failed or could not be told."""
        return self.mark.severity > Outcome.SKIPPED.severity


def case_label(verdict: Verdict) -> str:
    """``workload/case``, or the workload alone where it broke before it had cases."""
    return shortened(verdict.workload if verdict.case in _NO_CASE else verdict.key)


def anchors(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """A link target per verdict: readable, the same in every run, unique within one."""
    used: dict[str, int] = {}
    found = []
    for verdict in verdicts:
        slug = re.sub(r"[^a-z0-9.]+", "-", verdict.key.lower()).strip("-")[:_LONGEST_ANCHOR]
        used[slug] = used.get(slug, 0) + 1
        number = f"--{used[slug]}" if used[slug] > 1 else ""
        found.append(f"case-{slug}{number}")
    return tuple(found)


def case_view(
    verdict: Verdict,
    anchor: str,
    *,
    relative_to: Path | None,
    copy: CopyBandwidth | None = None,
    axis: Axis | None = None,
    paired: bool = False,
) -> CaseView:
    """All about one verdict, source lines relative to ``relative_to``; ``copy`` is the bandwidth of its run.

    ``axis`` is that of all ratios of the run; ``paired`` says that its samples hold what they are compared with.
    """
    rates = rates_of(verdict.throughput, verdict.call_time, copy, device=verdict.timing_device)
    unit = verdict.throughput.unit if verdict.throughput is not None else ""
    checks = _checks(verdict.checks, relative_to=relative_to)
    traffic = verdict.traffic
    return CaseView(
        anchor=anchor,
        label=case_label(verdict),
        workload=shortened(verdict.workload),
        case=_case_name(verdict),
        name=_case_name(verdict, limit=_LONGEST_NAME),
        mark=Mark.of_verdict(verdict),
        parameters=tuple(
            Fact(shortened(name), shortened(text)) for name, text in verdict.parameters.items()
        ),
        checks=checks,
        values=_distinct(check for check in checks if check.check in _NUMERIC),
        overview=overview(traffic) if traffic else None,
        traffic=record_view(traffic, relative_to=relative_to) if traffic else None,
        controls=tuple(
            record_view(control, relative_to=relative_to) for control in verdict.controls
        ),
        reasons=reasons(traffic.limits) if traffic else (),
        call_time=_call_time(verdict.call_time),
        interval=_interval(verdict.call_time),
        rates=_rates(rates, unit),
        speed=speed_view(verdict, axis, paired=paired),
        facts=tuple(_facts(verdict)),
    )


def _case_name(verdict: Verdict, *, limit: int = LONGEST_LABEL) -> str:
    return "no case ran" if verdict.case in _NO_CASE else shortened(verdict.case, limit=limit)


def check_view(result: CheckResult, *, relative_to: Path | None) -> CheckView:
    """One check, with limits and source lines as text where a limit was exceeded."""
    return CheckView(
        check=shortened(result.check),
        mark=Mark.of(result.outcome),
        summary=visible(result.summary),
        brief=_brief(result),
        evidence=visible(result.evidence),
        details=tuple(visible(detail) for detail in result.details),
        next_step=visible(result.next_step),
        failure=failure_text(result, relative_to=relative_to) if result.violations else "",
    )


def _brief(result: CheckResult) -> str:
    """Of a pass how near the values came, of gradients that they passed, of anything else what was found."""
    if result.outcome is not Outcome.PASSED:
        return brief(visible(result.summary), _LONGEST_FINDING)
    if result.check != _VALUES:
        return shortened(result.check)
    return brief(visible(result.summary), _LONGEST_PASSED)


def _checks(results: Iterable[CheckResult], *, relative_to: Path | None) -> tuple[CheckView, ...]:
    """The worst first; those that differ only in what they rest on (two devices), once with all of it."""
    alike: dict[tuple[object, ...], tuple[CheckResult, list[str]]] = {}
    for result in results:
        said = (result.check, result.outcome, result.summary, result.details, result.violations)
        _, evidence = alike.setdefault(said, (result, []))
        if result.evidence and result.evidence not in evidence:
            evidence.append(result.evidence)
    views = [
        check_view(replace(result, evidence="; ".join(evidence)), relative_to=relative_to)
        for result, evidence in alike.values()
    ]
    return tuple(sorted(views, key=lambda view: -view.mark.severity))


def _distinct(checks: Iterable[CheckView]) -> tuple[CheckView, ...]:
    """Checks that say the same in the overview, whatever their details."""
    return tuple({(check.check, check.mark, check.brief): check for check in checks}.values())


def _facts(verdict: Verdict) -> Iterable[Fact]:
    yield Fact("traffic watched on", shortened(verdict.traffic_device) or "no device")
    sample, estimate = verdict.sample, verdict.call_time
    timed = sample is not None or estimate is not None
    yield Fact("timed on", (shortened(verdict.timing_device) if timed else "") or "no device")
    if sample is not None:
        values = count_text(len(sample.call_ns), "value")
        calls = count_text(sample.calls_per_value, "call")
        yield Fact(
            "sample", f"{values} of {calls} each after {sample.warmup_calls:,} for warming up"
        )
        yield Fact("clock", shortened(sample.timer))
    if estimate is not None:
        confidence = percent_text(estimate.confidence)
        yield Fact(
            "median call", f"{_call_time(estimate)} ({confidence} interval: {_bounds(estimate)})"
        )


def _call_time(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    return duration_text(estimate.value) if math.isfinite(estimate.value) else _UNKNOWN


def _interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    bounds = _bounds(estimate)
    return "interval unknown" if bounds == _UNKNOWN else bounds


def _bounds(estimate: Estimate) -> str:
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return _UNKNOWN
    low, high = duration_text(estimate.low), duration_text(estimate.high)
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def _rates(rates: Rates | None, unit: str) -> tuple[str, ...]:
    """``3.28 M samples/s``, ``26.2 GB/s``, ``76.1 % of copy``, as far as they are known."""
    if rates is None:
        return ()
    texts = [rate_text(rates.units_per_second, visible(unit))]
    if rates.bytes_per_second is not None:
        texts.append(rate_text(rates.bytes_per_second, "B"))
    if rates.of_copy is not None:
        texts.append(f"{percent_text(rates.of_copy)} of copy")
    return tuple(texts)
