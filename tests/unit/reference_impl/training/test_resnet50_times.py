"""What four loops took: the ticket's arithmetic, drift that falls on all alike, and figures beside their own loop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from harness.session.training import training_of
from reference_impl.training.checkpoint import Row
from reference_impl.training.device import device_named
from reference_impl.training.resnet50_program import Resnet50Program, Size
from reference_impl.training.resnet50_times import (
    LOOPS,
    Loop,
    LoopTimes,
    Spread,
    blocks_of,
    in_turn,
    lines,
    record_of,
    row_of,
    times_of,
)
from reference_impl.workloads.resnet50_network import Architecture

TICKET = Loop(waits=True, pre_fix=False)
COUNTS = [(325, 0), (326, 1), (0, 0), (1, 1)]


def machine(rounds: int, seconds: Callable[[Loop, int], float]) -> list[LoopTimes]:
    """The times of one iteration per block, each ``seconds`` of its loop and of how many blocks went before."""
    history: list[Row] = []
    done = 0
    for number in range(rounds):
        row: Row = {"loss": 1.0}
        for loop in in_turn(number):
            total = seconds(loop, done)
            parts = {"forward": total / 4, "softmax": total / 8, "sgd": total / 16}
            row |= row_of(loop, {"total": total, **(parts if loop.waits else {})})
            done += 1
        history.append(row)
    return times_of(history, batch=8, iterations=[1] * rounds)


@pytest.mark.parametrize("iterations", [1, 2, 9, 10, 11, 100, 137])
def test_blocks_are_as_many_iterations_as_asked_for_and_alike_to_one(iterations: int) -> None:
    blocks = blocks_of(iterations)
    assert sum(blocks) == iterations
    assert len(blocks) == min(10, iterations)
    assert max(blocks) - min(blocks) <= 1


def test_in_eight_rounds_each_loop_has_had_each_place_twice() -> None:
    places = Counter(
        (loop, place) for number in range(8) for place, loop in enumerate(in_turn(number))
    )
    assert set(places.values()) == {2}
    assert len(places) == 16


def test_of_any_two_loops_each_comes_first_in_every_second_round() -> None:
    for number in range(0, 8, 2):
        assert in_turn(number + 1) == in_turn(number)[::-1]


def test_a_machine_that_grows_slower_does_so_for_all_loops_alike() -> None:
    times = machine(8, lambda loop, done: 1.0 + 0.01 * done)
    totals = [of_loop.per_iteration["total"] for of_loop in times]
    assert totals == pytest.approx([totals[0]] * 4)
    one_after_the_other = [np.mean([1.0 + 0.01 * (8 * i + k) for k in range(8)]) for i in range(4)]
    assert max(one_after_the_other) > 1.2 * min(one_after_the_other)


def test_a_loop_that_is_slower_is_told_from_one_that_is_not() -> None:
    times = machine(
        8, lambda loop, done: (1.1 if loop.pre_fix and loop.waits else 1.0) * (1 + 0.01 * done)
    )
    waiting, free = [
        line for line in lines(times, COUNTS) if "time of pre-fix over corrected" in line
    ]

    def quartiles(line: str) -> tuple[float, float]:
        low, high = re.findall(r"quartiles ([\d.]+) to ([\d.]+)", line)[0]
        return float(low), float(high)

    assert waiting.endswith("; longer in 8 of 8 rounds")
    assert free.endswith(
        "; longer in 4 of 8 rounds"
    )  # the drift itself, which is told from a difference
    assert quartiles(waiting)[0] > 1.05
    assert 0.95 < quartiles(free)[0] <= quartiles(free)[1] < 1.05


def test_a_spread_is_median_and_quartiles() -> None:
    assert Spread.of([4.0, 1.0, 2.0, 3.0, 5.0]).text == "median 3, quartiles 2 to 4"
    assert Spread.of([2.5]).text == "2.5 in the one round, which has no spread"


def test_times_have_the_ticket_s_arithmetic_over_blocks_of_any_length() -> None:
    rows = [
        row_of(TICKET, {"total": 4.0, "forward": 1.0, "softmax": 0.5, "sgd": 0.25}),
        row_of(TICKET, {"total": 5.0, "forward": 2.0, "softmax": 0.25, "sgd": 0.5}),
    ]
    times = LoopTimes(
        loop=TICKET,
        batch=6,
        iterations=(1, 2),
        blocks=[{name.partition("/")[2]: value for name, value in row.items()} for row in rows],
    )
    seconds = times.per_iteration
    assert list(seconds) == ["total", "forward", "softmax", "backward", "sgd"]
    assert seconds["total"] == 3.0
    assert seconds["backward"] == seconds["total"] - seconds["forward"] - seconds["softmax"]
    assert seconds["sgd"] == 0.25 < seconds["backward"]
    assert times.per_second == 2.0
    assert times.by_round == [4.0, 2.5]


def test_published_figures_stand_beside_the_corrected_op_in_the_ticket_s_loop_alone() -> None:
    training = training_of(
        record_of(machine(3, lambda loop, done: 1.0), COUNTS, data="noise"), where="resnet50"
    )
    for loop, timing in zip(LOOPS, training.timings, strict=True):
        beside = [stage.published_s is not None for stage in timing.stages]
        assert beside == [loop == TICKET] * len(timing.stages)
    ticket = training.timings[0]
    assert ticket.stages[0].published_s == pytest.approx(32 / 110.30029570709767)
    assert [stage.name for stage in ticket.stages][3:] == ["backward", "of which sgd"]
    assert (ticket.syncs, ticket.reads) == (325, 0)
    assert all(
        len(note) <= 120 for note in training.notes
    )  # as many letters as a report shows of one
    (line,) = [
        line for line in lines(machine(3, lambda loop, done: 1.0), COUNTS) if "110.30" in line
    ]
    assert line.startswith(f"published of {TICKET.label}: ")


def test_what_a_machine_without_a_gpu_cannot_show_is_said() -> None:
    for device, said in (("cpu", True), ("simulated", True), ("cuda:0", False)):
        program = Resnet50Program(
            replace(device_named("cpu"), name=device),
            Size(2, 16, 1),
            architecture=Architecture(stages=(1, 1), planes=4, classes=6),
        )
        assert bool(program.notes) == said
        times = machine(2, lambda loop, done: 1.0)
        assert set(program.notes) <= set(lines(times, COUNTS, notes=program.notes))
        record = record_of(times, COUNTS, data="noise", notes=program.notes)
        assert set(program.notes) <= set(record["notes"])
        assert all(len(note) <= 120 for note in program.notes)


def test_every_loop_has_a_line_with_its_counts_rate_and_spread() -> None:
    told = list(lines(machine(4, lambda loop, done: 2.0), [(325, 0), None, (0, 0), (1, 1)]))
    for loop, counts in zip(LOOPS, ("325      0", "?      ?", "0      0", "1      1"), strict=True):
        (line,) = [line for line in told if line.startswith(f"{loop.label} ")]
        assert counts in line
        assert line.endswith("4.00    median 4, quartiles 4 to 4")
