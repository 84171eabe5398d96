"""What the evidence cannot show: said in every report, so that a pass is never read as more than it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.model.outcome import Evidence
from harness.model.verdict import Run, Verdict
from harness.report.view.cases import case_label
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["BlindSpot", "blind_spots"]

_BY_EVIDENCE: Mapping[Evidence, str] = {
    Evidence.PROVEN: (
        "copies and waits of this process only; work that another process gave to the same GPU is not in"
        " the counts"
    ),
    Evidence.WITNESSED: (
        "a captured call cannot have waited for the device, but sizes, and lines of code of copies inside"
        " the graph, may be missing"
    ),
    Evidence.RECORDED: (
        "a trace that another tool recorded: what that tool did not record, or lost, is not in the counts"
    ),
    Evidence.SIMULATED: (
        "the call ran with its real values on a simulated device; no GPU took part, so the driver, code"
        " that bypasses the array interface, and the speed of a GPU are unseen"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindSpot:
    """One limit of sight and the cases it holds for, as a few words."""

    title: str
    text: str
    cases: str


def blind_spots(run: Run) -> tuple[BlindSpot, ...]:
    """Every limit of sight of this run, the strongest evidence first."""
    return tuple(
        BlindSpot(title=title, text=text, cases=_cases_text(found, len(run.verdicts)))
        for title, text, found in _limits_of_sight(run)
        if found
    )


def _limits_of_sight(run: Run) -> Iterable[tuple[str, str, list[Verdict]]]:
    for level, text in _BY_EVIDENCE.items():
        watched = [
            verdict
            for verdict in run.verdicts
            if verdict.traffic and verdict.traffic.evidence is level
        ]
        probes = ", ".join(
            dict.fromkeys(verdict.traffic.probe for verdict in watched if verdict.traffic)
        )
        title = (
            level.value
            if probes == level.value.lower()
            else f"{level.value} by {shortened(probes)}"
        )
        yield title, text, watched
    yield (
        "no traffic seen",
        "nothing watched the boundary of these cases, so nothing is known about copies and waits",
        [verdict for verdict in run.verdicts if verdict.traffic is None],
    )
    yield (
        "timed elsewhere",
        "traffic and time come from different devices: the times say nothing about the watched one",
        [verdict for verdict in run.verdicts if _timed_elsewhere(verdict)],
    )
    yield (
        "not timed",
        "these cases were checked for values and traffic only",
        [verdict for verdict in run.verdicts if verdict.call_time is None],
    )


def _timed_elsewhere(verdict: Verdict) -> bool:
    return (
        verdict.traffic is not None
        and verdict.call_time is not None
        and verdict.timing_device != verdict.traffic_device
    )


def _cases_text(found: list[Verdict], total: int) -> str:
    if len(found) == total:
        return count_text(total, "case") if total == 1 else f"all {total:,} cases"
    if len(found) == 1:
        return case_label(found[0])
    return f"{len(found):,} of {total:,} cases"
