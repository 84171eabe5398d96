"""A run turned into a promise: everything a later run is held against, and nothing one may doubt unsaid."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import a_check, a_record, a_run, a_sample, a_verdict, an_environment
from hypothesis import given
from hypothesis import strategies as st

from harness.baseline.codec import decode, encode
from harness.baseline.promise import commit_of, kept_speed, promised_by, timing_doubts
from harness.baseline.records import records_of
from harness.errors import OutputError, UsageError
from harness.model.baseline import SCHEMA_VERSION
from harness.model.measurement import Sample, Throughput
from harness.model.outcome import Evidence, Outcome
from harness.model.verdict import TIMING_CONDITIONS

_TIMES = tuple(1_234_567.891 + 1e3 * (step % 7) for step in range(40))


def test_a_baseline_keeps_what_the_run_showed() -> None:
    record, work = a_record(), Throughput(unit="samples", units_per_call=4096, bytes_per_call=2**24)
    verdict = a_verdict(traffic=record, sample=a_sample(call_ns=_TIMES), throughput=work)
    run = a_run(replace(verdict, margin=0.02))
    baseline = promised_by(run, "main")
    (case,) = baseline.cases
    assert (baseline.name, baseline.created) == ("main", run.created)
    assert baseline.environment is run.environment
    assert baseline.schema_version == SCHEMA_VERSION
    assert case.key == verdict.key
    assert (case.traffic, case.probe, case.evidence) == (
        record.regions,
        "simulated",
        Evidence.SIMULATED,
    )
    assert (case.throughput, case.margin) == (work, 0.02)
    assert (case.traffic_device, case.timing_device) == ("simulated", "cpu")
    (speed,) = case.speeds
    assert (speed.commit, speed.created) == (run.environment.commit, run.created)
    assert (speed.rounds, speed.timer) == (40, "perf_counter_ns")


def test_a_case_that_was_not_watched_or_timed_promises_neither() -> None:
    (case,) = promised_by(a_run(a_verdict()), "main").cases
    assert (case.traffic, case.probe, case.evidence, case.speeds) == ({}, "", None, ())


@pytest.mark.parametrize(
    ("commit", "dirty", "expected"),
    [
        ("ab12", False, "ab12"),
        ("ab12", True, "ab12-dirty"),
        ("ab12", None, "ab12"),
        (None, None, None),
    ],
)
def test_a_speed_of_a_changed_tree_does_not_pass_for_that_of_its_commit(
    commit: str | None, dirty: bool | None, expected: str | None
) -> None:
    assert commit_of(an_environment(commit=commit, dirty=dirty)) == expected


@given(
    st.lists(st.floats(1e-3, 1e18), min_size=1, max_size=40),
    st.floats(0.5, 2),
)
def test_what_is_kept_of_any_timings_can_be_saved_and_loads_again(
    calls: list[float], factor: float
) -> None:
    peers = tuple(min(1e18, max(1e-3, call * factor)) for call in calls)
    sample = a_sample(call_ns=tuple(calls), peer_ns=peers)
    baseline = promised_by(a_run(a_verdict(sample=sample)), "main")
    assert decode(encode(baseline), source="main.json") == baseline


def test_numbers_are_kept_to_what_can_matter() -> None:
    speed = kept_speed(a_sample(call_ns=_TIMES), commit=None, created="")
    assert {len(f"{value:.15g}".strip("0").rstrip(".")) for value in speed.call_ns} <= {4, 5}
    assert speed.call_ns[0] == pytest.approx(_TIMES[0], rel=5e-5)
    assert speed.worth <= speed.rounds


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), 0.0, -1.0])
def test_timings_no_clock_gives_are_no_promise(broken: float) -> None:
    run = a_run(a_verdict(sample=a_sample(call_ns=(*_TIMES, broken))))
    with pytest.raises(OutputError, match="was not saved"):
        encode(promised_by(run, "main"))


def test_a_sample_with_half_a_peer_is_refused_by_name() -> None:
    sample = Sample(
        call_ns=(1.0, 2.0), peer_ns=(1.0,), calls_per_value=1, warmup_calls=0, timer="t", seed=0
    )
    with pytest.raises(UsageError, match=r"timings of softmax_cross_entropy/4096x1000-float32 "):
        promised_by(a_run(a_verdict(sample=sample)), "main")


def test_the_timings_of_a_throttled_gpu_are_doubted_and_those_of_a_quiet_one_are_not() -> None:
    throttled = a_check(
        check=TIMING_CONDITIONS, outcome=Outcome.INCONCLUSIVE, summary="the power cap held it down"
    )
    quiet = a_check(check=TIMING_CONDITIONS)
    elsewhere = a_check(check="traffic", outcome=Outcome.INCONCLUSIVE)
    run = a_run(
        a_verdict(throttled, case="a"), a_verdict(quiet, case="b"), a_verdict(elsewhere, case="c")
    )
    assert timing_doubts(run) == {"softmax_cross_entropy/a": "the power cap held it down"}


def test_a_comparison_cannot_become_a_promise_nor_history() -> None:
    comparison = replace(a_run(a_verdict()), paired_with="main @ 1a2b3c4 (git worktree)")
    with pytest.raises(UsageError, match=r"compared with main @ 1a2b3c4.*a baseline; measure it"):
        promised_by(comparison, "main")
    with pytest.raises(UsageError, match=r"compared with main @ 1a2b3c4.*a history; measure it"):
        records_of(comparison)
