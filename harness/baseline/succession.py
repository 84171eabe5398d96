"""What a baseline hands on to the one that replaces it: the anchor and the speeds since, as far as they still compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.baseline.comparability import (
    case_differences,
    differences,
    fields_text,
    speed_differences,
)
from harness.baseline.throughput import origin_text
from harness.model.baseline import LATEST_KEPT, Baseline, BaselineCase
from harness.model.measurement import Speed
from harness.units import count_text

__all__ = ["Succession", "succeeded", "without_doubtful"]

_MOST_KEYS = 3
"""Cases named in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """The baseline to save, and one line for everything about its speeds a reader must know."""

    baseline: Baseline
    lines: tuple[str, ...]


def without_doubtful(baseline: Baseline, doubts: Mapping[str, str]) -> Succession:
    """The baseline without the speeds one may doubt, which would be promised as the code's own."""
    doubtful = [case.key for case in baseline.cases if case.speeds and case.key in doubts]
    if not doubtful:
        return Succession(baseline=baseline, lines=())
    cases = tuple(
        replace(case, speeds=()) if case.key in doubts else case for case in baseline.cases
    )
    reason = f"left out the speed of {_cases(doubtful)}: {doubts[doubtful[0]]}"
    line = f"{reason}; time it again, or keep it all the same (--doubtful)"
    return Succession(baseline=replace(baseline, cases=cases), lines=(line,))


def succeeded(before: Baseline, now: Baseline, *, doubts: Mapping[str, str]) -> Succession:
    """``now`` with the anchor and the latest speeds of ``before`` in front of its own.

    Where hard facts, the parameters of a case or the way it was timed differ, its speeds cannot be compared any more:
    it starts anew, and a line says why. A case whose new speed was left out for its ``doubts`` keeps the old ones; one
    that was measured no more keeps none. A speed that is kept already is not kept twice.
    """
    environments = differences(before.environment, now.environment)
    known = {case.key: case for case in before.cases if case.speeds}
    afresh: dict[str, list[str]] = {}
    carried: list[BaselineCase] = []
    cases: list[BaselineCase] = []
    for case in now.cases:
        old = known.get(case.key)
        kept = case
        if old is not None and (case.speeds or case.key in doubts):
            timing = speed_differences(old, case) if case.speeds else ()
            differing = (*environments, *case_differences(old, case), *timing)
            if differing:
                afresh.setdefault(fields_text(differing), []).append(case.key)
            else:
                kept = _continued(old, case)
                carried.append(kept)
        cases.append(kept)
    lines = [
        f"speeds of {_cases(keys)} start anew, without the old anchor: {reason}"
        for reason, keys in afresh.items()
    ]
    return Succession(
        baseline=replace(now, cases=tuple(cases)), lines=(*_carried_lines(carried), *lines)
    )


def _continued(old: BaselineCase, new: BaselineCase) -> BaselineCase:
    if not new.speeds:
        return replace(
            new, speeds=old.speeds, timing_device=old.timing_device, throughput=old.throughput
        )
    added = () if new.speeds[-1] == old.speeds[-1] else new.speeds
    return replace(new, speeds=_bounded((*old.speeds, *added)))


def _bounded(speeds: tuple[Speed, ...]) -> tuple[Speed, ...]:
    anchor, *later = speeds
    return (anchor, *later[-LATEST_KEPT:])


def _carried_lines(carried: list[BaselineCase]) -> list[str]:
    """From which anchors the speeds go on; cases of one anchor share a line."""
    by_anchor: dict[str, list[str]] = {}
    for case in carried:
        by_anchor.setdefault(origin_text(case.speeds[0]), []).append(case.key)
    return [
        f"speeds of {_cases(keys)} go on from the anchor of {origin}"
        for origin, keys in by_anchor.items()
    ]


def _cases(keys: list[str]) -> str:
    more = ", ..." if len(keys) > _MOST_KEYS else ""
    return f"{count_text(len(keys), 'case')} ({', '.join(keys[:_MOST_KEYS])}{more})"
