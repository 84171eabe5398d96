"""Cases that vanished and cases that appeared, taken for one another where they are alike in everything but name."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from harness.model.baseline import BaselineCase

__all__ = ["renamed"]


def renamed(missing: Sequence[BaselineCase], new: Sequence[BaselineCase]) -> dict[str, str]:
    """Old name to new and new to old, of pairs with the same parameters and work per call.

    Each case is in one pair at most; those of the same workload come first, then those of the same case name. A case
    without parameters is like none. It remains a guess, so it is put as a question. Cost: linear.
    """
    names: dict[str, str] = {}
    for likeness in (_of_its_workload, _of_its_case, _of_any_name):
        free: dict[object, deque[str]] = defaultdict(deque)
        for case in new:
            if case.key not in names:
                free[likeness(case)].append(case.key)
        for case in missing:
            if case.key not in names and case.parameters and free[likeness(case)]:
                now = free[likeness(case)].popleft()
                names |= {case.key: now, now: case.key}
    return names


def _of_any_name(case: BaselineCase) -> tuple[object, ...]:
    return (*sorted(case.parameters.items()), case.throughput)


def _of_its_workload(case: BaselineCase) -> tuple[object, ...]:
    return (case.key.partition("/")[0], *_of_any_name(case))


def _of_its_case(case: BaselineCase) -> tuple[object, ...]:
    return (case.key.partition("/")[2], *_of_any_name(case))
