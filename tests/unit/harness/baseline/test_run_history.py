"""A run knows its past: comparable records alone, itself the last, at the pace of the machine now."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_run, a_sample, a_speed, a_verdict, an_environment
from store_writers import a_history_record

from harness.baseline.promise import promised_by
from harness.baseline.records import comparable_of, records_of
from harness.baseline.run_history import POINTS_KEPT, with_history, with_promised_speeds
from harness.baseline.stores.opening import open_store
from harness.model.verdict import Run, Verdict
from harness.stats.speed import speed_of


def a_timed_case(
    case: str = "a", *, call: float = 1e6, peer: float = 1e6, seed: int = 0
) -> Verdict:
    rng = random.Random(seed)
    rounds = [(rng.gauss(call, 2e3), rng.gauss(peer, 2e3)) for _ in range(30)]
    calls, peers = zip(*rounds, strict=True)
    return a_verdict(case=case, sample=a_sample(call_ns=calls, peer_ns=peers))


def a_run_of(*verdicts: Verdict, number: int, commit: str = "f" * 40) -> Run:
    run = a_run(
        *verdicts, run_id=f"run-{number:03}", environment=replace(an_environment(), commit=commit)
    )
    return replace(run, created=f"2026-{1 + number // 28:02}-{1 + number % 28:02}T12:00:00+00:00")


@pytest.fixture
def store(tmp_path: Path):
    return open_store(str(tmp_path))


def test_the_present_value_is_the_last_point_and_a_step_is_found_at_its_commit(store) -> None:
    for number in range(16):
        factor = 1.0 if number < 9 else 1.1
        run = a_run_of(
            a_timed_case(call=factor * 1e6, seed=number),
            number=number,
            commit=f"{number:02}".ljust(40, "0"),
        )
        store.append(records_of(run))
    now = a_run_of(a_timed_case(call=1.1e6, seed=99), number=20)
    (history,) = with_history(now, store).history
    assert len(history.points) == 17
    assert history.points[-1].commit == "ffffffffffff"
    assert history.points[-1].created == now.created
    assert history.points[-1].call_ns == pytest.approx(1.1e6, rel=0.003)
    (change,) = history.changes
    assert history.points[change.index].commit == "090000000000"
    assert change.ratio == pytest.approx(1.1, rel=0.005)
    assert all(point.low_ns <= point.call_ns <= point.high_ns for point in history.points)


def test_a_slow_machine_is_no_change_where_every_run_has_a_frozen_peer(store) -> None:
    for number in range(16):
        pace = 1.0 if number < 8 else 1.5
        case = a_timed_case(call=pace * 2e6, peer=pace * 1e6, seed=number)
        store.append(records_of(a_run_of(case, number=number)))
    now = a_run_of(a_timed_case(call=3e6, peer=1.5e6, seed=99), number=20)
    (history,) = with_history(now, store).history
    assert history.changes == ()
    assert {round(point.call_ns / 3e6, 1) for point in history.points} == {1.0}


def test_only_the_newest_records_are_kept_and_the_earlier_ones_counted(store) -> None:
    now = a_run_of(a_timed_case(), number=200)
    (verdict,) = now.verdicts
    comparable = comparable_of(verdict, verdict.sample, now.environment)
    store.append(
        [
            a_history_record(
                f"run-{number:03}",
                verdict.key,
                comparable=comparable,
                created=f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z",
                speed=speed_of(verdict.sample),
            )
            for number in range(60)
        ]
    )
    (history,) = with_history(now, store).history
    assert (len(history.points), history.earlier) == (POINTS_KEPT, 11)


def test_what_does_not_compare_or_came_later_is_no_part_of_the_past(store) -> None:
    case = a_timed_case()
    now = a_run_of(case, number=10)
    elsewhere = replace(
        a_run_of(case, number=1), environment=replace(an_environment(), hard={"cpu.model": "Z80"})
    )
    for other in (elsewhere, a_run_of(case, number=11), now):
        store.append(records_of(other))
    (history,) = with_history(now, store).history
    assert len(history.points) == 1
    store.append(records_of(a_run_of(case, number=2)))
    (history,) = with_history(now, store).history
    assert [point.created[:10] for point in history.points] == ["2026-01-03", "2026-01-11"]


def test_a_comparison_is_shown_beside_the_runs_of_the_same_code_by_its_times_alone(store) -> None:
    hard = {"cpu.model": "EPYC", "devices": "cpu simulated"}
    earlier = replace(
        a_run_of(a_timed_case(peer=5e5), number=1),
        environment=replace(an_environment(), hard=hard),
    )
    store.append(records_of(earlier))
    compared = replace(
        a_run_of(a_timed_case(call=2e6, peer=1e6), number=2),
        environment=replace(an_environment(), hard={**hard, "devices": "cpu"}),
        paired_with="main @ 1a2b3c4",
    )
    (history,) = with_history(compared, store).history
    first, last = history.points
    assert first.call_ns == pytest.approx(1e6, rel=0.01)
    assert last.call_ns == pytest.approx(2e6, rel=0.01)


def test_numbers_are_as_short_as_what_they_are_sure_of(store) -> None:
    store.append(records_of(a_run_of(a_timed_case(call=1234567.0), number=1)))
    (history,) = with_history(a_run_of(a_timed_case(), number=2), store).history
    for point in history.points:
        for value in (point.low_ns, point.call_ns, point.high_ns):
            assert float(f"{value:.4g}") == value


def test_the_speeds_of_a_baseline_are_a_short_history_where_there_is_no_other(store) -> None:
    then = a_run_of(a_timed_case("a"), a_timed_case("b"), number=1, commit="1" * 40)
    baseline = promised_by(then, "main")
    old = a_speed(call_ns=9e5, relative=0.9, commit="2222-dirty", created="2025-12-01T00:00:00Z")
    cases = tuple(replace(case, speeds=(old, *case.speeds)) for case in baseline.cases)
    baseline = replace(baseline, cases=cases)
    store.append(records_of(a_run_of(a_timed_case("a"), number=0)))
    now = a_run_of(a_timed_case("a"), a_timed_case("b"), number=2)
    run = with_promised_speeds(with_history(now, store), baseline)
    by_key = {history.key.partition("/")[2]: history for history in run.history}
    assert len(by_key["a"].points) == 2
    anchor, newest, present = by_key["b"].points
    assert (anchor.commit, anchor.dirty) == ("2222", True)
    assert anchor.call_ns == pytest.approx(9e5, rel=0.01)
    assert newest.commit == "1" * 12
    assert present.created == now.created


def test_a_baseline_of_another_machine_or_another_way_of_timing_is_no_history() -> None:
    now = a_run_of(a_timed_case(), number=2)
    baseline = promised_by(a_run_of(a_timed_case(), number=1), "main")
    hard = {**now.environment.hard, "cpu.model": "Z80"}
    moved = replace(baseline, environment=replace(baseline.environment, hard=hard))
    retimed = replace(
        baseline,
        cases=tuple(replace(case, timing_device="cuda:0") for case in baseline.cases),
    )
    assert len(with_promised_speeds(now, baseline).history) == 1
    for other in (moved, retimed):
        assert with_promised_speeds(now, other).history == ()
