"""What to do next: everything that did not pass, the worst first, then what would make the run worth more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.model.outcome import Evidence, Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Run
from harness.report.failure import failure_text
from harness.report.view.cases import Link, case_label
from harness.report.view.mark import Mark
from harness.report.view.waivers import found_text
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["Link", "Step", "steps"]

_Likeness = tuple[Outcome, str, str, str]

_ADVICE = Mark("→", "worth doing", "advice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do: ``finding`` is why (``headline`` the same in three lines), ``evidence`` what that rests on, ``action`` what to do.

    ``cases`` are all cases with the same finding, each once however many of its devices showed it, empty
    when it belongs to the whole run. ``failure`` is the text with limits and source lines where a limit was
    exceeded, of the first of the cases. ``same`` says that the finding is word for word that of all cases.
    ``check`` is empty for advice.
    """

    check: str
    mark: Mark
    title: str
    cases: tuple[Link, ...]
    headline: str
    finding: str
    evidence: str
    action: str
    failure: str = ""
    same: bool = True


def steps(run: Run, anchors: tuple[str, ...], *, relative_to: Path | None) -> tuple[Step, ...]:
    """Failures, then what stayed open, then what was skipped, each once for all cases it is true of."""
    alike: dict[_Likeness, _Alike] = {}
    for result, link in _results(run, anchors):
        if result.outcome is Outcome.PASSED:
            continue
        group = alike.setdefault(_likeness(result), _Alike([], {}))
        group.results.append((result, link))
        group.evidence[result.evidence] = None
    ordered = sorted(alike.values(), key=_worst_first)
    return tuple(_step(group, relative_to) for group in ordered) or tuple(_advice(run))


def _likeness(result: CheckResult) -> _Likeness:
    """What results that need one step share: what they say, of changes of speed the decision and not the figures."""
    what = _said(result) if result.change is None else result.change.decision
    return result.outcome, result.check, what, result.next_step


def _said(result: CheckResult) -> str:
    """What was found, and after it for how long it is accepted where a waiver covers it."""
    if result.waiver is None:
        return result.summary
    return "; ".join(dict.fromkeys((found_text(result), result.summary)))


@dataclass(frozen=True, slots=True)
class _Alike:
    """Cases being gathered because they need the same step, and what that rests on, each once."""

    results: list[tuple[CheckResult, Link | None]]
    evidence: dict[str, None]

    @property
    def first(self) -> CheckResult:
        """The slowest, or the first where nothing is said of speed."""
        return max((result for result, _ in self.results), key=_slowness)

    @property
    def same(self) -> bool:
        """Whether all of them say the same in every figure."""
        return len({_said(result) for result, _ in self.results}) == 1

    def cases(self) -> tuple[Link, ...]:
        """The cases, the slowest first, otherwise as they ran."""
        slowest = sorted(self.results, key=lambda found: -_slowness(found[0]))
        return tuple(dict.fromkeys(link for _, link in slowest if link is not None))


def _slowness(result: CheckResult) -> float:
    return result.change.ratio.value if result.change is not None else 0.0


def _worst_first(group: _Alike) -> tuple[int, float]:
    """By outcome, then by how much slower; what says nothing of speed keeps its place before that."""
    slowness = _slowness(group.first)
    return -group.first.outcome.severity, 1 / slowness if slowness > 0 else 0.0


_NOTHING = CheckResult(
    check="run",
    outcome=Outcome.INCONCLUSIVE,
    summary="nothing was checked",
    evidence="the run has no case and no check",
    next_step="name a workload that has cases; `harness workloads` lists the built-in ones",
)

_MOST_EVIDENCE = 2
"""The two devices of a case; cases that rest on something else each have it in their own section."""

_LONGEST_HEADLINE = 300
"""Three lines of the banner, which has to be read in ten seconds: a ratio with its interval and what it lacks."""

_LONGEST_FINDING = 600
"""Ten lines of a page: what is longer is whole in the section of its case."""


def _results(run: Run, anchors: tuple[str, ...]) -> Iterable[tuple[CheckResult, Link | None]]:
    for result in run.checks or (() if run.verdicts else (_NOTHING,)):
        yield result, None
    for verdict, anchor in zip(run.verdicts, anchors, strict=True):
        for result in verdict.checks or (_UNCHECKED,):
            yield result, Link(case_label(verdict), anchor)


_UNCHECKED = CheckResult(
    check="checks",
    outcome=Outcome.INCONCLUSIVE,
    summary="no check ran",
    evidence="the run file holds no result for it",
    next_step="run it again; a case without a check can never pass",
)


def _step(group: _Alike, relative_to: Path | None) -> Step:
    result, cases = group.first, group.cases()
    return Step(
        check=result.check,
        mark=Mark.of(result.outcome),
        title=_title(group),
        cases=cases,
        headline=shortened(_said(result), limit=_LONGEST_HEADLINE),
        finding=shortened(_said(result), limit=_LONGEST_FINDING),
        evidence=shortened(_evidence(group), limit=_LONGEST_FINDING),
        action=shortened(result.next_step, limit=_LONGEST_FINDING),
        failure=failure_text(result, relative_to=relative_to) if result.violations else "",
        same=group.same,
    )


def _title(group: _Alike) -> str:
    result, cases = group.first, group.cases()
    if result.check == INTERRUPTED:
        return "the run was interrupted"
    where = ""
    if cases:
        where = f" in {cases[0].label if len(cases) == 1 else count_text(len(cases), 'case')}"
    slowest = "" if group.same else "; the slowest:"  # whose figures follow
    return f"{shortened(result.check)} {result.outcome.value}{where}{slowest}"


def _evidence(group: _Alike) -> str:
    found = [text for text in group.evidence if text]
    more = len(found) - _MOST_EVIDENCE
    return "; ".join([*found[:_MOST_EVIDENCE], *([f"{more:,} more"] if more > 0 else [])])


def _advice(run: Run) -> Iterable[Step]:
    """What would make a run worth more that has no findings, where nothing is more urgent."""
    levels = {verdict.traffic.evidence for verdict in run.verdicts if verdict.traffic}
    if run.baseline is None and any(verdict.sample for verdict in run.verdicts):
        yield _step_of(
            "no baseline to compare with",
            "a change of speed or traffic since the last run would not be noticed",
            "harness baseline save NAME, then harness run --baseline NAME",
        )
    if levels == {Evidence.SIMULATED}:
        yield _step_of(
            "evidence is SIMULATED",
            "no GPU took part, so the driver and code that bypasses the array interface are unseen",
            "run the same command on a machine with a CUDA device",
        )


def _step_of(title: str, finding: str, action: str) -> Step:
    return Step(
        check="",
        mark=_ADVICE,
        title=title,
        cases=(),
        headline=finding,
        finding=finding,
        evidence="",
        action=action,
    )
