"""A run adds one record per timed case, and two records compare only where all that matters agrees."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import a_check, a_run, a_sample, a_verdict, an_environment

from harness.baseline.records import comparable_of, left_out, records_of
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.stats.speed import speed_of

TIMED = a_verdict(sample=a_sample(call_ns=(1.0, 2.0, 4.0), peer_ns=(1.0, 1.0, 3.0)))


def test_a_record_says_of_which_code_and_when_and_keeps_the_raw_sample() -> None:
    environment = replace(an_environment(), commit="abc", dirty=True)
    run = a_run(TIMED, a_verdict(case="untimed"), environment=environment)
    (record,) = records_of(run)
    assert record.key == TIMED.key
    assert (record.run_id, record.created) == (run.run_id, run.created)
    assert (record.commit, record.dirty) == ("abc", True)
    assert record.sample == TIMED.sample
    assert record.speed.rounds == 3


def test_a_speed_is_rounded_to_less_than_a_millionth_and_stays_in_order() -> None:
    sample = a_sample(call_ns=(123456.789123, 123456.789999, 1e9 / 7), peer_ns=(7.0, 7.0, 3.0))
    (record,) = records_of(a_run(a_verdict(sample=sample)))
    exact = speed_of(sample)
    for kept, whole in (
        (record.speed.call_ns, exact.call_ns),
        (record.speed.relative, exact.relative),
    ):
        assert kept == pytest.approx(whole, rel=1e-6)
        assert list(kept) == sorted(kept)
    assert max(len(repr(value)) for value in record.speed.call_ns) <= 11


def test_a_failed_case_is_recorded_too() -> None:
    failed = replace(TIMED, checks=(a_check(outcome=Outcome.FAILED),))
    assert len(records_of(a_run(failed))) == 1


@pytest.mark.parametrize(
    "sample",
    [
        a_sample(call_ns=()),
        a_sample(call_ns=(1.0, float("nan"))),
        a_sample(call_ns=(1.0, 0.0)),
        a_sample(call_ns=(1.0, -1.0)),
        a_sample(call_ns=(1.0, float("inf"))),
        a_sample(call_ns=(1.0,), peer_ns=(0.0,)),
        a_sample(call_ns=(1.0,), peer_ns=(1.0, 2.0)),
    ],
)
def test_timings_that_mean_nothing_are_left_out_by_name(sample) -> None:
    run = a_run(TIMED, a_verdict(case="bad", sample=sample))
    assert [record.key for record in records_of(run)] == [TIMED.key]
    assert left_out(run) == ("softmax_cross_entropy/bad",)


def test_everything_that_must_agree_is_in_the_digest_and_nothing_else() -> None:
    environment = an_environment()

    def digest(verdict=TIMED, environment=environment) -> str:
        return comparable_of(verdict, verdict.sample, environment)

    hard = {**environment.hard, "gpu.name": "H200"}
    others = [
        digest(environment=replace(environment, hard=hard)),
        digest(replace(TIMED, parameters={"shape": "1x1"})),
        digest(replace(TIMED, timing_device="cuda:0")),
        digest(replace(TIMED, sample=a_sample(timer="cuda_event"))),
        digest(
            replace(
                TIMED, throughput=Throughput(unit="samples", units_per_call=2.0, bytes_per_call=4)
            )
        ),
        digest(
            replace(
                TIMED, throughput=Throughput(unit="samples", units_per_call=2.0, bytes_per_call=8)
            )
        ),
    ]
    assert len({digest(), *others}) == 7
    assert digest() == digest(
        replace(TIMED, sample=a_sample(call_ns=(9.0,)), case="other"),
        replace(environment, commit="else", dirty=True, soft={"x": "y"}),
    )
