"""The whole report as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.outcome import Outcome
from harness.model.verdict import Run, Verdict
from harness.report.view.axis import axis_of
from harness.report.view.banner import Banner, Count, banner
from harness.report.view.blind_spots import BlindSpot, blind_spots
from harness.report.view.cases import (
    CaseView,
    Fact,
    Link,
    anchors,
    case_view,
)
from harness.report.view.checks import CheckView, check_view
from harness.report.view.comparison import Comparison, comparisons
from harness.report.view.copies import copy_text
from harness.report.view.crossings import runs_text
from harness.report.view.environment import FactTable, environment_facts, fact_tables
from harness.report.view.groups import CaseGroup, grouped, worst_first
from harness.report.view.history import HistoryView, history_view
from harness.report.view.mark import Mark
from harness.report.view.reasons import Reason
from harness.report.view.reproduction import commands, reproduction
from harness.report.view.roofline import Roofline, roofline
from harness.report.view.selfcheck import SelfCheckView, self_check_view
from harness.report.view.steps import Step, steps
from harness.report.view.training import TrainingView, training_views
from harness.report.view.waivers import WaivedFinding, waived_findings
from harness.report.wording import shortened, working_folder
from harness.units import duration_text

__all__ = ["Page", "build_page"]

_MOST_PICTURED = 50
"""The cases whose sections draw pictures, the worst of all: 6 kB each are 0.3 MB, which leaves a page of a hundred cases
with their history below 1 MB. What a picture shows is told in words for all others."""

_FILTERED_FROM = 6
"""Fewer rows are seen at a glance, and a filter above them is one more thing to read."""

_SECTIONS = {
    "next": "Next steps",
    "cases": "Cases",
    "before-and-after": "Before and after",
    "training": "Training",
    "details": "Details",
    "roofline": "Roofline",
    "self-check": "Self-check",
    "environment": "Environment",
    "history": "History",
    "blind-spots": "Blind spots",
    "waivers": "Waivers",
    "reproduce": "Reproduce",
}
"""What the page can have, by the name of its link, in order."""

_LONGEST_NOTE = 600
"""Ten lines of a page; run.json has all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything a report shows, in the order it is shown.

    ``cases`` has the worst first, ``groups`` the same cases under their workloads; ``columns`` are those of
    the case table that at least one case fills. ``counted`` says what the traffic counts are of, ``compared``
    what the ratios are held against and ``margin`` how much slower is too much, where that is the same for all; empty
    where nothing was compared. ``copies`` says how fast the device copied, ``self_check`` what this machine can tell apart; empty and ``None`` where nothing was timed.
    """

    title: str
    subtitle: str
    banner: Banner
    steps: tuple[Step, ...]
    run_checks: tuple[CheckView, ...]
    cases: tuple[CaseView, ...]
    groups: tuple[CaseGroup, ...]
    columns: tuple[str, ...]
    compared: str
    margin: str
    counted: str
    comparisons: tuple[Comparison, ...]
    copies: str
    roofline: Roofline | None
    self_check: SelfCheckView | None
    environment: tuple[Fact, ...]
    fact_tables: tuple[FactTable, ...]
    history: HistoryView | None
    waivers: tuple[WaivedFinding, ...]
    training: tuple[TrainingView, ...]
    commands: tuple[str, ...]
    reproduction: tuple[Fact, ...]
    blind_spots: tuple[BlindSpot, ...]
    notes: tuple[str, ...]

    @property
    def advice_only(self) -> bool:
        """Whether no step is a finding."""
        return not any(step.check for step in self.steps)

    @property
    def sections(self) -> Mapping[str, str]:
        """The sections this page has, as its navigation calls them."""
        optional = {
            "before-and-after": self.comparisons,
            "details": self.cases or self.run_checks,
            "roofline": self.roofline,
            "self-check": self.self_check,
            "training": self.training,
            "history": self.history,
            "waivers": self.waivers,
        }
        return {name: title for name, title in _SECTIONS.items() if optional.get(name, True)}

    @property
    def filtered(self) -> bool:
        """Whether the case table is long enough to be filtered."""
        return len(self.cases) >= _FILTERED_FROM

    @property
    def outcomes(self) -> tuple[Count, ...]:
        """How many cases ended each way that any ended, the worst first."""
        ended = Counter(case.mark.style for case in self.cases)
        marks = map(Mark.of, reversed(Outcome))
        return tuple(Count(mark, ended[mark.style]) for mark in marks if ended[mark.style])

    @property
    def unpictured(self) -> int:
        """How many cases are told without pictures."""
        return sum(not case.pictured for case in self.cases)


def build_page(run: Run, *, relative_to: Path | None = None) -> Page:
    """Say everything about a run; source files are shown relative to ``relative_to``.

    ``relative_to`` is the current folder unless given. Cost: linear in the run.
    """
    folder = relative_to or working_folder()
    links = anchors(run.verdicts)
    found = steps(run, links, relative_to=folder)
    axis, paired_with = axis_of(run.verdicts), run.paired_with
    pictured = _pictured(run.verdicts)
    cases = [
        case_view(
            verdict,
            anchor,
            relative_to=folder,
            copy=run.copy_bandwidth,
            axis=axis,
            paired_with=paired_with,
            pictured=place in pictured,
        )
        for place, (verdict, anchor) in enumerate(zip(run.verdicts, links, strict=True))
    ]
    groups = grouped(cases)
    top = banner(run, found)
    return Page(
        title=f"{top.mark.word.upper()} · {shortened(run.run_id)}",
        subtitle=_subtitle(run),
        banner=top,
        steps=found,
        run_checks=tuple(check_view(result, relative_to=folder) for result in run.checks),
        cases=tuple(_reasons_once(sorted(cases, key=worst_first))),
        groups=groups,
        columns=tuple(_columns(groups)),
        compared=_compared(run, cases),
        margin=_margin(cases),
        counted=_counted(run),
        comparisons=comparisons(run.verdicts, relative_to=folder),
        copies=copy_text(run.copy_bandwidth) if run.copy_bandwidth is not None else "",
        roofline=roofline(run, links),
        self_check=_self_check(run),
        environment=environment_facts(run),
        fact_tables=fact_tables(run),
        history=history_view(run),
        waivers=waived_findings(run),
        training=training_views(run, links),
        commands=tuple(commands(run)),
        reproduction=tuple(reproduction(run)),
        blind_spots=blind_spots(run),
        notes=tuple(shortened(note, limit=_LONGEST_NOTE) for note in run.notes),
    )


def _pictured(verdicts: Sequence[Verdict]) -> frozenset[int]:
    """The places of the cases whose pictures are drawn: the worst first, as the page orders them."""
    worst = sorted(range(len(verdicts)), key=lambda place: _need_of(verdicts[place]))
    return frozenset(worst[:_MOST_PICTURED])


def _need_of(verdict: Verdict) -> tuple[int, float]:
    change = next((check.change for check in verdict.checks if check.change is not None), None)
    return -verdict.outcome.severity, -change.ratio.value if change is not None else 0.0


def _reasons_once(cases: Iterable[CaseView]) -> Iterable[CaseView]:
    """Cases without pictures refer to the first that has the same budget for the same reasons."""
    told: dict[tuple[Reason, ...], Link] = {}
    for case in cases:
        if case.pictured or case.reasons not in told:
            told.setdefault(case.reasons, Link(case.label, case.anchor))
            yield case
        else:
            yield replace(case, reasons=(), reasons_at=told[case.reasons])


def _self_check(run: Run) -> SelfCheckView | None:
    """What is known of this machine; that nothing is, only where something was timed."""
    timed = any(verdict.call_time is not None for verdict in run.verdicts)
    if not timed and not run.self_checks:
        return None
    return self_check_view(run.self_checks, now=run.created)


def _subtitle(run: Run) -> str:
    took = f"took {duration_text(run.duration_s * 1e9)}"
    return f"{shortened(run.created)} · {took} · harness {shortened(run.harness_version)}"


def _columns(groups: Iterable[CaseGroup]) -> Iterable[str]:
    rows = [row for group in groups for row in group.rows]
    yield "case"
    if any(row.parameters for row in rows):
        yield "parameters"
    if any(row.case.values for row in rows):
        yield "values"
    compared = any(row.case.speed for row in rows)
    if not compared or any(row.case.traffic for row in rows):
        yield "traffic"
    if compared:
        yield from ("baseline", "now", "ratio")
    elif any(row.case.call_time for row in rows):
        yield "call time"
    if any(row.case.rates for row in rows):
        yield "throughput"


def _compared(run: Run, cases: Iterable[CaseView]) -> str:
    against = {case.speed.against for case in cases if case.speed is not None}
    if not against:
        return ""
    return shortened(run.paired_with) or " or ".join(shortened(each) for each in sorted(against))


def _margin(cases: Iterable[CaseView]) -> str:
    """The margin of every case that was compared, empty where they differ."""
    margins = {case.speed.margin for case in cases if case.speed is not None}
    return margins.pop() if len(margins) == 1 else ""


def _counted(run: Run) -> str:
    """``per warm call``, or all there is where cases were recorded in different ways."""
    found = (runs_text(verdict.traffic) for verdict in run.verdicts if verdict.traffic)
    return ", ".join(dict.fromkeys(found))
