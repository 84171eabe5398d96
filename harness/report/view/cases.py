"""One case as the overview and its own section show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.model.measurement import CopyBandwidth, Rates, rates_of
from harness.model.outcome import Outcome
from harness.model.verdict import Verdict
from harness.report.view.axis import Axis
from harness.report.view.checks import CheckView, check_views, numeric_views
from harness.report.view.conditions import ConditionsView, conditions_view
from harness.report.view.crossings import RecordView, record_view
from harness.report.view.distribution import Distribution, distribution
from harness.report.view.error_map import ErrorMapView, error_map_views
from harness.report.view.flags import Flag, few_values, flags
from harness.report.view.interval import call_time_text, interval_text
from harness.report.view.mark import Mark
from harness.report.view.ordering import sort_figures
from harness.report.view.overview import Overview, overview
from harness.report.view.reasons import Reason, reasons
from harness.report.view.speed import SpeedView, speed_view
from harness.report.wording import LONGEST_LABEL, LONGEST_UNIT, cut, shortened, visible
from harness.units import count_text, percent_text, rate_text

__all__ = [
    "CaseView",
    "Fact",
    "Link",
    "anchors",
    "case_label",
    "case_view",
]

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


@dataclass(frozen=True, slots=True)
class Link:
    """A case and where its section starts."""

    label: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """Everything shown about one case.

    ``name`` is the case as short as a line of a terminal needs it. ``values`` are the numeric checks, ``call_time`` and ``interval`` the median of a call and how sure it
    is, ``few_values`` how many made it where these are too few, ``rates`` work, least bytes per second, and those as a fraction of what the device copies; all empty where
    they do not apply. ``speed`` is how it stands against what it was compared with. ``figures`` are what each column
    of the case table is sorted by. ``pictured`` says whether its section draws pictures or only tells them;
    one that does not may leave its ``reasons`` to another case that has the same (``reasons_at``).
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
    few_values: str
    rates: tuple[str, ...]
    speed: SpeedView | None
    spread: Distribution | None
    conditions: ConditionsView | None
    errors: tuple[ErrorMapView, ...]
    facts: tuple[Fact, ...]
    flags: tuple[Flag, ...]
    figures: Mapping[str, str]
    pictured: bool
    reasons_at: Link | None = None

    @property
    def row(self) -> str:
        """The link target of its row in the case table."""
        return f"row-{self.anchor.removeprefix('case-')}"

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
    paired_with: str = "",
    pictured: bool = True,
) -> CaseView:
    """All about one verdict, source lines relative to ``relative_to``; ``copy`` is the bandwidth of its run.

    ``axis`` is that of all ratios of the run; ``paired_with`` names what its samples hold and are compared with.
    """
    rates = rates_of(verdict.throughput, verdict.call_time, copy, device=verdict.timing_device)
    unit = verdict.throughput.unit if verdict.throughput is not None else ""
    checks = check_views(verdict.checks, relative_to=relative_to)
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
        values=numeric_views(checks),
        overview=overview(traffic) if traffic else None,
        traffic=record_view(traffic, relative_to=relative_to) if traffic else None,
        controls=tuple(
            record_view(control, relative_to=relative_to) for control in verdict.controls
        ),
        reasons=reasons(traffic.limits) if traffic else (),
        call_time=call_time_text(verdict.call_time),
        interval=interval_text(verdict.call_time),
        few_values=few_values(verdict),
        rates=_rates(rates, unit),
        speed=speed_view(verdict, axis, paired=bool(paired_with)),
        spread=distribution(verdict, paired_with=paired_with),
        conditions=conditions_view(verdict),
        errors=error_map_views(verdict.errors),
        facts=tuple(_facts(verdict)),
        flags=flags(verdict),
        figures=sort_figures(verdict, rates),
        pictured=pictured,
    )


def _case_name(verdict: Verdict, *, limit: int = LONGEST_LABEL) -> str:
    return "no case ran" if verdict.case in _NO_CASE else shortened(verdict.case, limit=limit)


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
        interval = interval_text(estimate)
        bounds = f" ({percent_text(estimate.confidence)} interval: {interval})" if interval else ""
        yield Fact("median call", f"{call_time_text(estimate)}{bounds}")


def _rates(rates: Rates | None, unit: str) -> tuple[str, ...]:
    """``3.28 M samples/s``, ``26.2 GB/s``, ``76.1 % of copy``, as far as they are known."""
    if rates is None:
        return ()
    texts = [rate_text(rates.units_per_second, cut(visible(unit), LONGEST_UNIT))]
    if rates.bytes_per_second is not None:
        texts.append(rate_text(rates.bytes_per_second, "B"))
    if rates.of_copy is not None:
        texts.append(f"{percent_text(rates.of_copy)} of copy")
    return tuple(texts)
