"""Traffic of one case against a baseline: counts are exact, so any growth is a regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.model.baseline import BaselineCase
from harness.model.budget import WHOLE_RUN
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.units import count_text

__all__ = ["TRAFFIC_CHECK", "compare_traffic", "count_changes"]

TRAFFIC_CHECK = "traffic-baseline"

_GUARDED = {
    "d2h": "D2H copies",
    "d2h_bytes": "D2H bytes",
    "h2d": "H2D copies",
    "h2d_bytes": "H2D bytes",
    "d2d": "D2D copies",
    "blocking_copies": "blocking copies",
    "syncs": "host waits",
}
"""What may not grow: everything that moves data or makes the host wait."""

_NOTED = {"kernels": "kernel launches", "memsets": "memsets"}
"""What may change freely, since it stays on the device and holds nobody up; a change is still told."""


@dataclass(frozen=True, slots=True)
class CountChange:
    """One count of one region that is not what it was."""

    region: str
    what: str
    then: int
    now: int
    guarded: bool

    def __str__(self) -> str:
        where = "in the whole call" if self.region == WHOLE_RUN else f"within {self.region!r}"
        return f"{self.what} {self.then:,} -> {self.now:,} {where}"


def compare_traffic(then: BaselineCase, now: BaselineCase, *, name: str) -> CheckResult:
    """Hold the counts of every region against those of baseline ``name``.

    Growth seen in any region both sides know fails. A region only one side knows, or no region at all, is
    inconclusive. Less traffic passes, with a word on saving the gain.
    """
    changes = tuple(count_changes(then, now))
    grown = [change for change in changes if change.guarded and change.now > change.then]
    shrunk = [change for change in changes if change.guarded and change.now < change.then]
    doubts = list(_unmatched(then, now, name))
    outcome, summary, next_step = Outcome.PASSED, "", ""
    if grown:
        outcome = Outcome.FAILED
        summary = f"more traffic than in baseline {name!r}: {_first(grown)}"
        next_step = (
            "see the lines of the traffic check; where this is meant, run without --baseline and save that with: "
            f"harness baseline save {name} --replace"
        )
    elif doubts:
        outcome, summary = Outcome.INCONCLUSIVE, doubts.pop(0)
        next_step = "run on a device that counts traffic, or save the baseline again"
    elif shrunk:
        summary = f"less traffic than in baseline {name!r}: {_first(shrunk)}"
        next_step = "save the baseline again to keep the gain"
    else:
        regions = count_text(len(now.traffic), "region")
        summary = f"same traffic as in baseline {name!r} in {regions}"
    return CheckResult(
        check=TRAFFIC_CHECK,
        outcome=outcome,
        summary=summary,
        evidence=f"exact counts on {now.traffic_device}, then and now" if now.traffic else "",
        details=(*doubts, *map(str, changes)),
        next_step=next_step,
    )


def count_changes(then: BaselineCase, now: BaselineCase) -> Iterator[CountChange]:
    """Every count that differs in a region both sides know, the whole call first."""
    shared = then.traffic.keys() & now.traffic.keys()
    for region in sorted(shared, key=lambda region: (region != WHOLE_RUN, region)):
        for field, what in (_GUARDED | _NOTED).items():
            before = getattr(then.traffic[region], field)
            after = getattr(now.traffic[region], field)
            if before != after:
                yield CountChange(region, what, before, after, guarded=field in _GUARDED)


def _unmatched(then: BaselineCase, now: BaselineCase, name: str) -> Iterator[str]:
    if not then.traffic:
        yield f"baseline {name!r} holds no traffic of this case"
    if not now.traffic:
        yield f"no traffic was counted now, so it cannot be compared with baseline {name!r}"
    if not (then.traffic and now.traffic):
        return
    for region in sorted(then.traffic.keys() - now.traffic.keys()):
        yield f"region {region!r} of baseline {name!r} was not entered now"
    for region in sorted(now.traffic.keys() - then.traffic.keys()):
        yield f"region {region!r} is not in baseline {name!r}"


def _first(changes: list[CountChange]) -> str:
    """The first change in words, and how many more there are."""
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{changes[0]}{more}"
