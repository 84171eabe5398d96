"""The page of several runs as plain data: which of them did not pass, why, and in what they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.verdict import INTERRUPTED, Run
from harness.report.view.banner import Banner, all_of, banner
from harness.report.view.blind_spots import blind_spots
from harness.report.view.labels import commit_text, run_labels
from harness.report.view.mark import Mark
from harness.report.view.matrix import MatrixRow, matrix_rows, row_anchors
from harness.report.view.steps import Link, Step, steps
from harness.report.wording import shortened, visible, working_folder
from harness.units import count_text, duration_text

__all__ = [
    "Difference",
    "MergedPage",
    "MergedStep",
    "Remark",
    "RunView",
    "build_merged",
    "without_raw",
]

_LONGEST_NOTE = 600
"""Ten lines of a page; run.json has all of it."""

_UNRECORDED = "not recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One of the runs: what it is called, how it ended, and how to make it again."""

    label: str
    top: Banner
    commit: str
    made: str
    run_id: str
    seed: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedStep:
    """A step that is the same in some ``runs``: their labels, or how many where it is all of them.

    ``step`` has the cases of all of them, its evidence and source lines are those of the first.
    """

    step: Step
    runs: tuple[str, ...]
    everywhere: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A note, or what could not be seen (``title``), and the labels of the runs it is true of."""

    title: str
    text: str
    runs: tuple[str, ...]
    everywhere: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A fact that the runs do not share, as each has it; a ``hard`` one makes their times incomparable."""

    field: str
    hard: bool
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPage:
    """Everything the page of several runs shows, in the order it is shown.

    ``mark`` is the worst of the runs. ``watched``, ``timed`` and ``measured`` say whether any cell has traffic, times, a
    throughput. ``incomplete`` counts the cases that some run does not have, ``same_facts`` the facts all runs share.
    """

    title: str
    subtitle: str
    mark: Mark
    reason: str
    runs: tuple[RunView, ...]
    steps: tuple[MergedStep, ...]
    notes: tuple[Remark, ...]
    rows: tuple[MatrixRow, ...]
    watched: bool
    timed: bool
    incomplete: int
    differences: tuple[Difference, ...]
    same_facts: int
    blind_spots: tuple[Remark, ...]


def without_raw(run: Run) -> Run:
    """The run without what only a page of its own draws: raw timings, timelines, error maps, history and the like.

    What is left is what the page of several runs says, and what it keeps inside: a tenth of the bytes.
    """
    verdicts = tuple(
        replace(
            verdict,
            sample=None,
            controls=(),
            errors=(),
            conditions=(),
            training=None,
            traffic=replace(verdict.traffic, timeline=None, first_call={})
            if verdict.traffic
            else None,
        )
        for verdict in run.verdicts
    )
    return replace(run, verdicts=verdicts, history=(), self_checks=())


def build_merged(
    runs: Sequence[Run], *, title: str = "", relative_to: Path | None = None
) -> MergedPage:
    """Say everything about several runs; the first is what times are compared with.

    Raw timings and what else ``without_raw`` leaves out change nothing. Source files are shown relative to
    ``relative_to``, the current folder unless given. Cost: linear in the runs.
    """
    folder = relative_to or working_folder()
    labels = run_labels(runs)
    found = [
        steps(run, anchors, relative_to=folder)
        for run, anchors in zip(runs, row_anchors(runs), strict=True)
    ]
    views = tuple(
        _run_view(run, label, findings)
        for run, label, findings in zip(runs, labels, found, strict=True)
    )
    rows = matrix_rows(runs)
    cells = [cell for row in rows for cell in row.cells if cell is not None]
    mark = max((view.top.mark for view in views), key=lambda mark: mark.severity)
    differences, same = _differences(runs)
    return MergedPage(
        title=shortened(title) or f"{mark.word.upper()} · {count_text(len(runs), 'run')}",
        subtitle=_subtitle(runs, title),
        mark=mark,
        reason=_reason(views, mark),
        runs=views,
        steps=_merged_steps(found, labels),
        notes=_remarks([[("", note) for note in run.notes] for run in runs], labels),
        rows=rows,
        watched=any(cell.traffic is not None for cell in cells),
        timed=any(cell.call_time for cell in cells),
        incomplete=sum(row.incomplete for row in rows),
        differences=differences,
        same_facts=same,
        blind_spots=_remarks(
            [[(spot.title, spot.text) for spot in blind_spots(run)] for run in runs], labels
        ),
    )


def _run_view(run: Run, label: str, findings: tuple[Step, ...]) -> RunView:
    return RunView(
        label=label,
        top=banner(run, findings),
        commit=commit_text(run),
        made=f"{shortened(run.created)}, took {duration_text(run.duration_s * 1e9)}",
        run_id=shortened(run.run_id),
        seed=str(run.seed),
        command=visible(run.command),
    )


def _subtitle(runs: Sequence[Run], title: str) -> str:
    versions = sorted({shortened(run.harness_version) for run in runs})
    made = sorted(shortened(run.created) for run in runs)
    named = f"{shortened(title)} · " if title else ""
    count = count_text(len(runs), "run")
    return f"{named}{count} from {made[0]} to {made[-1]} · harness {', '.join(versions)}"


def _reason(views: Sequence[RunView], mark: Mark) -> str:
    """How many runs ended worst, and why the first of them did."""
    ended = [view for view in views if view.top.mark.severity == mark.severity]
    if mark.severity == 0:
        return f"{all_of(len(views), 'run')} passed every check"
    first = ended[0]
    count = (
        all_of(len(views), "run")
        if len(ended) == len(views)
        else f"{len(ended):,} of {len(views):,} runs"
    )
    word = first.top.mark.word
    return (
        f"{count} {'ended ' if word != 'failed' else ''}{word}; {first.label}: {first.top.reason}"
    )


def _merged_steps(found: Sequence[Sequence[Step]], labels: Sequence[str]) -> tuple[MergedStep, ...]:
    """Every finding once with the runs it is true of, the worst first, then what most runs have; else the advice."""
    findings = [[step for step in each if step.check] for each in found]
    shown = findings if any(findings) else found
    alike: dict[tuple[str, ...], dict[int, Step]] = {}
    for number, each in enumerate(shown):
        for step in each:
            likeness = (step.mark.style, step.check, step.finding, step.action)
            alike.setdefault(likeness, {})[number] = step
    merged = [
        MergedStep(
            step=_joined(tuple(group.values())),
            runs=tuple(labels[number] for number in group),
            everywhere=len(group) == len(labels),
        )
        for group in alike.values()
    ]
    return tuple(sorted(merged, key=lambda each: (-each.step.mark.severity, -len(each.runs))))


def _joined(alike: tuple[Step, ...]) -> Step:
    first = alike[0]
    cases = tuple(dict.fromkeys(case for step in alike for case in step.cases))
    return replace(first, title=_title(first, cases), cases=cases)


def _title(step: Step, cases: tuple[Link, ...]) -> str:
    if not cases or step.check == INTERRUPTED:
        return step.title
    where = cases[0].label if len(cases) == 1 else count_text(len(cases), "case")
    return f"{shortened(step.check)} {step.mark.word} in {where}"


def _remarks(
    found: Sequence[Sequence[tuple[str, str]]], labels: Sequence[str]
) -> tuple[Remark, ...]:
    alike: dict[tuple[str, str], dict[str, None]] = {}
    for each, label in zip(found, labels, strict=True):
        for remark in each:
            alike.setdefault(remark, {})[label] = None
    return tuple(
        Remark(
            title=title,
            text=shortened(text, limit=_LONGEST_NOTE),
            runs=tuple(runs),
            everywhere=len(runs) == len(labels),
        )
        for (title, text), runs in alike.items()
    )


def _differences(runs: Sequence[Run]) -> tuple[tuple[Difference, ...], int]:
    """The facts that differ, those that decide comparability first; and how many do not."""
    every = [_facts(run) for run in runs]
    hard = {name for run in runs for name in run.environment.hard}
    names = sorted(
        {name for facts in every for name in facts}, key=lambda name: (name not in hard, name)
    )
    differing = [name for name in names if len({facts.get(name) for facts in every}) > 1]
    differences = tuple(
        Difference(
            field=shortened(name),
            hard=name in hard,
            values=tuple(shortened(facts.get(name, _UNRECORDED)) for facts in every),
        )
        for name in differing
    )
    return differences, len(names) - len(differing)


def _facts(run: Run) -> dict[str, str]:
    commit = {"commit": commit_text(run), "harness": run.harness_version}
    return {**commit, **run.environment.soft, **run.environment.hard}
