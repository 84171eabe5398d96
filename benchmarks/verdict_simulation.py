"""Decisions on the simulated clock: false alarms and coverage against exact truth, and the time a decision takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.model.measurement import Sample
from harness.stats.change import Change, compare_pairs
from harness.timers.simulated import Interrupts, SimulatedClock, Throttle

Row = dict[str, Any]

DECISIONS = 10_000
CALL_NS = 5e6
DISTURBANCES: Mapping[str, Mapping[str, Any]] = {
    "noise 1 %": {"noise": 0.01},
    "interrupts": {"noise": 0.005, "interrupts": Interrupts(per_second=20.0, mean_ns=2e6)},
    "drift 5 % a second": {"noise": 0.01, "drift": 0.05},
    "layout bias 11 %": {"noise": 0.01, "layout_bias": 0.11},
    "throttling": {"noise": 0.01, "throttle": Throttle(per_second=1.0, mean_ns=2e8, factor=1.4)},
    "all of them": {
        "noise": 0.01,
        "interrupts": Interrupts(per_second=20.0, mean_ns=2e6),
        "drift": 0.05,
        "layout_bias": 0.11,
        "throttle": Throttle(per_second=1.0, mean_ns=2e8, factor=1.4),
    },
}
PROCESSES = 8
CAPS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SURE = 0.9


def simulated_rows(seed: int, *, say: Callable[[str], object]) -> Iterator[Row]:
    """One row per disturbance and way of timing, then the times to a decision."""
    with ProcessPoolExecutor() as pool:
        for name, processes in itertools.product(DISTURBANCES, (1, PROCESSES)):
            take = partial(_alarm, name, processes)
            seeds = range(seed, seed + DECISIONS)
            found = list(pool.map(take, seeds, chunksize=100))
            row = {
                "kind": "simulated",
                "disturbance": name,
                "processes": processes,
                "decisions": DECISIONS,
                "false alarms % (2.5 nominal)": 100 * sum(alarm for alarm, _ in found) / DECISIONS,
                "covers % (95 nominal)": 100 * sum(covers for _, covers in found) / DECISIONS,
                "seed": seed,
            }
            say(f"{name}, {processes}: {row['false alarms % (2.5 nominal)']:.2f} %")
            yield row
        yield from _times_to_decide(seed, pool)


def _alarm(name: str, processes: int, seed: int) -> tuple[bool, bool]:
    """Whether unchanged code is called slower at all, and whether the interval holds the truth."""
    change = _decision(
        DISTURBANCES[name], effect=0.0, margin=0.0, seed=seed, seconds=1.0, processes=processes
    )
    assert change.ratio is not None
    return change.ratio.low > 1.0, change.ratio.low <= 1.0 <= change.ratio.high


def _times_to_decide(seed: int, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """The least time in which nine of ten decisions at a margin of 1 % are right, for an op of 5 ms."""
    for noise in (0.005, 0.01, 0.02, 0.05, 0.1):
        row: Row = {"kind": "time to decide", "noise": f"{noise:.1%}"}
        for effect in (0.0, 0.02, 0.03, 0.05, 0.1):
            right = "regressed" if effect else "unchanged"
            row[f"{effect:+.0%} {right}"] = next(
                (f"{cap:g} s" for cap in CAPS_S if _share(pool, noise, effect, cap, seed) >= SURE),
                f"over {CAPS_S[-1]:g} s",
            )
        yield row


def _share(pool: ProcessPoolExecutor, noise: float, effect: float, cap: float, seed: int) -> float:
    take = partial(_right, noise, effect, cap)
    found = list(pool.map(take, range(seed, seed + 50), chunksize=10))
    return sum(found) / len(found)


def _right(noise: float, effect: float, seconds: float, seed: int) -> bool:
    change = _decision(
        {"noise": noise}, effect=effect, margin=0.01, seed=seed, seconds=seconds, processes=1
    )
    return change.decision.value == ("regressed" if effect else "unchanged")


def _decision(
    disturbance: Mapping[str, Any],
    *,
    effect: float,
    margin: float,
    seed: int,
    seconds: float,
    processes: int,
) -> Change:
    """A decision from as many processes, each with its share of the time, on one clock."""
    clock = SimulatedClock(seed=seed, process_bias=0.005 if processes > 1 else 0.0, **disturbance)
    samples = [_sample(clock, effect, seed, seconds / processes) for _ in range(processes)]
    calls = [value for each in samples for value in each.call_ns]
    peers = [value for each in samples for value in each.peer_ns]
    lengths = [len(each.call_ns) for each in samples]
    starts = [0, *itertools.accumulate(lengths[:-1])]
    return compare_pairs(calls, peers, margin=margin, confidence=0.95, process_starts=starts)


def _sample(clock: SimulatedClock, effect: float, seed: int, seconds: float) -> Sample:
    clock.new_process()
    return measure(
        clock.operation(CALL_NS * (1 + effect)),
        clock.operation(CALL_NS),
        timer=clock,
        seed=seed,
        rule=StoppingRule(
            half_width=0.0025, time_cap_ns=seconds * 1e9, least_time_ns=seconds * 5e8
        ),
        change_layout=clock.change_layout,
    )
