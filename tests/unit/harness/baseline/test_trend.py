"""A trend holds what may be compared, and finds the run at which it changed."""

from __future__ import annotations

import random

from builders import a_speed
from store_writers import a_history_record

from harness.baseline.trend import trends


def _series(medians, *, key="softmax/a", comparable="x", relative=None):
    return [
        a_history_record(
            f"run-{number:03}",
            key,
            comparable=comparable,
            created=f"2026-01-01T00:{number:02}:00Z",
            speed=a_speed(call_ns=median, relative=None if relative is None else relative[number]),
        )
        for number, median in enumerate(medians)
    ]


def test_records_that_may_not_be_compared_are_trends_of_their_own() -> None:
    records = [
        *_series([1e6] * 3),
        *_series([2e6] * 2, comparable="y"),
        *_series([1e3], key="mlp/b"),
    ]
    found = trends(records)
    assert [(trend.key, trend.comparable, len(trend.records)) for trend in found] == [
        ("mlp/b", "x", 1),
        ("softmax/a", "x", 3),
        ("softmax/a", "y", 2),
    ]
    assert all(not trend.changes for trend in found)


def test_a_step_is_found_at_the_first_run_after_it() -> None:
    rng = random.Random(3)
    medians = [rng.gauss(1e6, 3e3) for _ in range(20)] + [rng.gauss(1.05e6, 3e3) for _ in range(20)]
    (trend,) = trends(_series(medians))
    (change,) = trend.changes
    assert change.index == 20
    assert trend.times_ns() == tuple(medians)


def test_the_ratio_to_a_frozen_peer_sees_the_code_through_a_slow_machine() -> None:
    machine = [1e6] * 15 + [1.4e6] * 15
    rng = random.Random(3)
    same = [rng.gauss(1.0, 0.003) for _ in machine]
    slower = [value * (1.05 if number >= 20 else 1.0) for number, value in enumerate(same)]
    assert trends(_series(machine, relative=same))[0].changes == ()
    (change,) = trends(_series(machine, relative=slower))[0].changes
    assert change.index == 20
    raw = trends(_series(machine))[0]
    assert not raw.relative
    assert [change.index for change in raw.changes] == [15]


def test_one_record_without_a_peer_makes_a_trend_of_raw_times() -> None:
    records = _series([1e6] * 2, relative=[1.0, 1.0])
    (trend,) = trends([*records, a_history_record("z", comparable="x", speed=a_speed(call_ns=2e6))])
    assert not trend.relative
    assert trend.values == (1e6, 1e6, 2e6)


def test_only_the_last_runs_are_looked_at_when_asked() -> None:
    (trend,) = trends(_series([1.0, 2.0, 3.0, 4.0]), last=2)
    assert trend.values == (3.0, 4.0)
