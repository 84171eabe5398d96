"""The four loops of the ResNet-50 program, and what each took, round by round.

In every round each loop has one block of iterations, and the round after goes the way back: a machine that grows slower,
or faster, does so for all four, and in either order of any two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reference_impl.data.published import RESNET50_SOURCE, RESNET50_THROUGHPUT
from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.training.checkpoint import Row
from reference_impl.workloads.resnet50_loops import CONTAINS, stages
from reference_impl.workloads.training_record import Record, resnet50_record, stage_times

__all__ = [
    "LOOPS",
    "Count",
    "Loop",
    "LoopTimes",
    "Spread",
    "blocks_of",
    "in_turn",
    "lines",
    "record_of",
    "row_of",
    "times_of",
]

Count = tuple[int, int] | None
"""Waits and reads of one iteration; ``None`` where nothing could count them."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Whether it waits as the ticket's does, and whether its op is that from before the fix."""

    waits: bool
    pre_fix: bool

    @property
    def kind(self) -> str:
        """Whose loop it is."""
        return "the ticket's loop" if self.waits else "no waits"

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.kind}, {'pre-fix' if self.pre_fix else 'corrected'} op"

    @property
    def op(self) -> type[SoftMaxCrossEntropy]:
        """What computes its loss."""
        return HostRoundTripSoftMaxCrossEntropy if self.pre_fix else SoftMaxCrossEntropy

    @property
    def published(self) -> bool:
        """Whether the ticket's figures are of this one: its program, run with the fix it proposes."""
        return self.waits and not self.pre_fix


LOOPS = tuple(Loop(waits, pre_fix) for waits in (True, False) for pre_fix in (False, True))

_MOST_ROUNDS = 10
"""Enough for quartiles; of a GPU's 100 iterations each block has ten, beside which the waits around it weigh little."""


def blocks_of(iterations: int) -> tuple[int, ...]:
    """How many of a loop's ``iterations`` are in its block of each round: as many in all, to one."""
    rounds = min(_MOST_ROUNDS, iterations)
    ends = [iterations * i // rounds for i in range(rounds + 1)]
    return tuple(end - start for start, end in pairwise(ends))


def in_turn(number: int) -> tuple[Loop, ...]:
    """The loops in the order of round ``number``: every second goes the way back, and two further on a loop further on."""
    first = number // 2 % len(LOOPS)
    order = LOOPS[first:] + LOOPS[:first]
    return order[::-1] if number % 2 else order


def row_of(loop: Loop, seconds: Mapping[str, float]) -> Row:
    """The seconds of one block by names that no other loop has, as a checkpoint keeps them."""
    return {f"{loop.label}/{stage}": value for stage, value in seconds.items()}


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and quartiles of ``rounds``."""

    rounds: int
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Those of one value or more; between two values a quartile is interpolated."""
        low, median, high = np.percentile(values, (25, 50, 75))
        return cls(len(values), float(median), float(low), float(high))

    @property
    def text(self) -> str:
        """``median 64.9, quartiles 63.12 to 66``."""
        if self.rounds == 1:
            return f"{self.median:.4g} in the one round, which has no spread"
        return f"median {self.median:.4g}, quartiles {self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTimes:
    """Seconds of the blocks of one loop, with how many iterations each had, of ``batch`` images."""

    loop: Loop
    batch: int
    iterations: Sequence[int]
    blocks: Sequence[Mapping[str, float]]

    @property
    def per_iteration(self) -> dict[str, float]:
        """Seconds of one iteration, over all blocks, by the ticket's stages and arithmetic."""
        mean = {
            stage: sum(block[stage] for block in self.blocks) / sum(self.iterations)
            for stage in self.blocks[0]
        }
        return stages(mean)

    @property
    def per_second(self) -> float:
        """Images."""
        return self.batch / self.per_iteration["total"]

    @property
    def by_round(self) -> list[float]:
        """Seconds of one iteration in each round."""
        return [
            block["total"] / count
            for block, count in zip(self.blocks, self.iterations, strict=True)
        ]

    @property
    def spread(self) -> Spread:
        """Of images per second."""
        return Spread.of([self.batch / seconds for seconds in self.by_round])


def times_of(history: Sequence[Row], *, batch: int, iterations: Sequence[int]) -> list[LoopTimes]:
    """The times of all loops, from rows of ``row_of``."""
    return [
        LoopTimes(
            loop=loop,
            batch=batch,
            iterations=iterations,
            blocks=[
                {
                    name.removeprefix(f"{loop.label}/"): value
                    for name, value in row.items()
                    if name.startswith(f"{loop.label}/")
                }
                for row in history
            ],
        )
        for loop in LOOPS
    ]


def lines(
    times: Sequence[LoopTimes], counts: Sequence[Count], *, notes: Sequence[str] = ()
) -> Iterator[str]:
    """The ticket's lines of each loop, then all side by side."""
    for of_loop in times:
        seconds = of_loop.per_iteration
        yield f"\n{of_loop.loop.label}"
        yield f"Throughput = {of_loop.per_second} per second"
        yield ", ".join(f"{_TITLE.get(name, name)}={value}" for name, value in seconds.items())
    yield f"\n{'per iteration':<32}{'waits':>7}{'reads':>7}{'seconds':>12}{'images/s':>12}    images/s by round"
    for of_loop, count in zip(times, counts, strict=True):
        waits, reads = map(str, count) if count is not None else ("?", "?")
        seconds_each, rate = of_loop.per_iteration["total"], of_loop.per_second
        yield (
            f"{of_loop.loop.label:<32}{waits:>7}{reads:>7}{seconds_each:>12.6f}{rate:>12.2f}"
            f"    {of_loop.spread.text}"
        )
    yield from _paired(times)
    yield from notes
    yield "backward contains sgd; waits and reads are counted on the simulated device, and a read is a wait too"
    (published,) = (loop.label for loop in LOOPS if loop.published)
    yield f"published of {published}: {RESNET50_THROUGHPUT:.2f} images/s ({RESNET50_SOURCE})"


_TITLE = {"total": "Total"}


def _paired(times: Sequence[LoopTimes]) -> Iterator[str]:
    """What the op from before the fix costs each kind of loop: both have a block in every round."""
    for corrected, pre_fix in zip(times[::2], times[1::2], strict=True):
        ratios = [
            after / before
            for before, after in zip(corrected.by_round, pre_fix.by_round, strict=True)
        ]
        spread, longer = Spread.of(ratios), sum(ratio > 1 for ratio in ratios)
        rounds = f"; longer in {longer} of {spread.rounds} rounds" if spread.rounds > 1 else ""
        yield f"{corrected.loop.kind}, time of pre-fix over corrected: {spread.text}{rounds}"


def record_of(
    times: Sequence[LoopTimes], counts: Sequence[Count], *, data: str, notes: Sequence[str] = ()
) -> Record:
    """What was done, for a report."""
    timings = []
    for of_loop, count in zip(times, counts, strict=True):
        waits, reads = count if count is not None else (None, None)
        timings.append(
            stage_times(
                of_loop.loop.label,
                of_loop.per_iteration,
                per_second=of_loop.per_second,
                syncs=waits,
                reads=reads,
                published=of_loop.loop.published,
            )
        )
    spreads = [f"{each.loop.label}, images/s by round: {each.spread.text}" for each in times]
    counted = "waits and reads are those of one iteration on the simulated device; a read waits too"
    return resnet50_record(
        timings, data=data, notes=[*spreads, *_paired(times), *notes, CONTAINS, counted]
    )
