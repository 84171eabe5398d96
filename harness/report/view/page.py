"""The whole report as plain data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.model.environment import Environment
from harness.model.verdict import Run
from harness.report.view.axis import axis_of
from harness.report.view.banner import Banner, banner
from harness.report.view.blind_spots import BlindSpot, blind_spots
from harness.report.view.cases import CaseView, CheckView, Fact, anchors, case_view, check_view
from harness.report.view.comparison import Comparison, comparisons
from harness.report.view.copies import copy_text
from harness.report.view.crossings import runs_text
from harness.report.view.groups import CaseGroup, grouped, worst_first
from harness.report.view.selfcheck import SelfCheckView, self_check_view
from harness.report.view.steps import Step, steps
from harness.report.wording import shortened, visible, working_folder
from harness.units import duration_text

__all__ = ["Page", "build_page"]

_LONGEST_NOTE = 600
"""Ten lines of a page; run.json has all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything a report shows, in the order it is shown.

    ``cases`` has the worst first, ``groups`` the same cases under their workloads; ``columns`` are those of
    the case table that at least one case fills. ``counted`` says what the traffic counts are of, ``compared``
    what the ratios are held against, empty where nothing is. ``copies`` says how
    fast the device copied, ``self_check`` what this machine can tell apart; empty and ``None`` where nothing was timed.
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
    counted: str
    comparisons: tuple[Comparison, ...]
    copies: str
    self_check: SelfCheckView | None
    environment: tuple[Fact, ...]
    hard: tuple[Fact, ...]
    soft: tuple[Fact, ...]
    commands: tuple[str, ...]
    reproduction: tuple[Fact, ...]
    blind_spots: tuple[BlindSpot, ...]
    notes: tuple[str, ...]

    @property
    def advice_only(self) -> bool:
        """Whether no step is a finding."""
        return not any(step.check for step in self.steps)


def build_page(run: Run, *, relative_to: Path | None = None) -> Page:
    """Say everything about a run; source files are shown relative to ``relative_to``.

    ``relative_to`` is the current folder unless given. Cost: linear in the run.
    """
    folder = relative_to or working_folder()
    links = anchors(run.verdicts)
    found = steps(run, links, relative_to=folder)
    axis, paired = axis_of(run.verdicts), bool(run.paired_with)
    cases = [
        case_view(
            verdict, anchor, relative_to=folder, copy=run.copy_bandwidth, axis=axis, paired=paired
        )
        for verdict, anchor in zip(run.verdicts, links, strict=True)
    ]
    groups = grouped(cases)
    top = banner(run, found)
    return Page(
        title=f"{top.mark.word.upper()} · {shortened(run.run_id)}",
        subtitle=_subtitle(run),
        banner=top,
        steps=found,
        run_checks=tuple(check_view(result, relative_to=folder) for result in run.checks),
        cases=tuple(sorted(cases, key=worst_first)),
        groups=groups,
        columns=tuple(_columns(groups)),
        compared=_compared(run, cases),
        counted=_counted(run),
        comparisons=comparisons(run.verdicts, relative_to=folder),
        copies=copy_text(run.copy_bandwidth) if run.copy_bandwidth is not None else "",
        self_check=_self_check(run),
        environment=tuple(_code_under_test(run.environment)),
        hard=_facts(run.environment.hard.items()),
        soft=_facts(run.environment.soft.items()),
        commands=tuple(_commands(run)),
        reproduction=tuple(_reproduction(run)),
        blind_spots=blind_spots(run),
        notes=tuple(shortened(note, limit=_LONGEST_NOTE) for note in run.notes),
    )


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


def _counted(run: Run) -> str:
    """``per warm call``, or all there is where cases were recorded in different ways."""
    found = (runs_text(verdict.traffic) for verdict in run.verdicts if verdict.traffic)
    return ", ".join(dict.fromkeys(found))


def _facts(items: Iterable[tuple[str, str]]) -> tuple[Fact, ...]:
    return tuple(Fact(shortened(name), shortened(text)) for name, text in sorted(items))


def _code_under_test(environment: Environment) -> Iterable[Fact]:
    if environment.commit is None:
        yield Fact("commit", "unknown: the code under test is in no git repository")
        return
    states = {True: " with uncommitted changes", False: "", None: " (changes unknown)"}
    yield Fact("commit", f"{shortened(environment.commit)}{states[environment.dirty]}")


def _commands(run: Run) -> Iterable[str]:
    """What to type to get this run again, in order."""
    commit = run.environment.commit
    if commit is not None and re.fullmatch(r"[0-9a-f]{7,64}", commit):
        yield f"git checkout {commit}"
    yield visible(run.command)


def _reproduction(run: Run) -> Iterable[Fact]:
    yield Fact("run", shortened(run.run_id))
    yield Fact("seed", str(run.seed))
    yield Fact("baseline", shortened(run.baseline) if run.baseline else "none")
    if run.environment.dirty:
        yield Fact(
            "note",
            "the code had uncommitted changes, which a checkout of the commit does not bring back",
        )
