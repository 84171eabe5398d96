"""A baseline that replaces another goes on from its anchor, is bounded, and never loses one without a word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import a_speed

from harness.baseline.succession import succeeded, without_doubtful
from harness.model.baseline import LATEST_KEPT, Baseline, BaselineCase
from harness.model.environment import Environment
from harness.model.measurement import Throughput

_HARD = {"gpu.name": "NVIDIA H200", "gpu.driver_branch": "580"}
_CASE = BaselineCase(
    key="mlp/a",
    parameters={"dtype": "float32"},
    traffic_device="simulated",
    timing_device="cuda:0",
    traffic={},
    speeds=(a_speed(commit="aa" * 20),),
    throughput=Throughput(unit="samples", units_per_call=64, bytes_per_call=1),
)


def _of(*cases: BaselineCase, hard: dict[str, str] = _HARD) -> Baseline:
    return Baseline(
        name="main",
        created="2026-01-31T12:00:00Z",
        environment=Environment(hard=hard, soft={"load": "1"}),
        cases=cases,
    )


def _at(commit: str, case: BaselineCase = _CASE, **change: Any) -> BaselineCase:
    return replace(case, speeds=(a_speed(commit=commit),), **change)


def _commits(baseline: Baseline) -> list[str | None]:
    (case,) = baseline.cases
    return [speed.commit for speed in case.speeds]


def test_the_anchor_and_every_commit_since_are_carried_over() -> None:
    first = _of(_CASE)
    second = succeeded(first, _of(_at("bb" * 20)), doubts={})
    third = succeeded(second.baseline, _of(_at("cc" * 20)), doubts={})
    assert _commits(third.baseline) == ["aa" * 20, "bb" * 20, "cc" * 20]
    assert third.lines == ("speeds of 1 case (mlp/a) go on from the anchor of commit aaaaaaaaaaaa",)


def test_the_history_is_bounded_and_the_anchor_never_falls_out() -> None:
    baseline = _of(_CASE)
    for number in range(2 * LATEST_KEPT):
        baseline = succeeded(baseline, _of(_at(f"{number:040}")), doubts={}).baseline
    commits = _commits(baseline)
    assert commits[0] == "aa" * 20
    assert commits[1:] == [f"{number:040}" for number in range(LATEST_KEPT, 2 * LATEST_KEPT)]


def test_saving_the_same_run_again_adds_nothing() -> None:
    first = _of(_CASE, replace(_CASE, key="mlp/b"))
    assert succeeded(first, first, doubts={}).baseline == first


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"parameters": {"dtype": "float16"}}, "parameters.dtype differs"),
        ({"timing_device": "cuda:1"}, "timing_device differs"),
        ({"throughput": None}, "throughput differs"),
        ({"speeds": (a_speed(commit="bb" * 20, timer="other"),)}, "timer differs"),
    ],
)
def test_speeds_that_compare_no_more_are_given_up_with_a_line(
    change: dict[str, Any], says: str
) -> None:
    now = replace(_at("bb" * 20), **change)
    found = succeeded(_of(_CASE), _of(now), doubts={})
    assert found.baseline == _of(now)
    assert found.lines == (f"speeds of 1 case (mlp/a) start anew, without the old anchor: {says}",)


def test_another_driver_branch_gives_up_all_speeds_in_one_line() -> None:
    cases = [replace(_CASE, key=f"mlp/{letter}") for letter in "abcd"]
    now = _of(*cases, hard={**_HARD, "gpu.driver_branch": "590"})
    found = succeeded(_of(*cases), now, doubts={})
    assert found.baseline == now
    assert found.lines == (
        "speeds of 4 cases (mlp/a, mlp/b, mlp/c, ...) start anew, without the old anchor: "
        "gpu.driver_branch differs",
    )


def test_cases_with_other_anchors_each_have_their_line_and_new_cases_none() -> None:
    old = _of(_CASE, _at("bb" * 20, replace(_CASE, key="mlp/b")))
    now = _of(*(_at("cc" * 20, replace(_CASE, key=f"mlp/{letter}")) for letter in "abc"))
    found = succeeded(old, now, doubts={})
    assert len(found.lines) == 2
    assert [len(case.speeds) for case in found.baseline.cases] == [2, 2, 1]


def test_a_speed_one_may_doubt_is_left_out_and_the_old_ones_stay() -> None:
    doubts = {"mlp/a": "the GPU was shared"}
    left = without_doubtful(_of(_at("bb" * 20)), doubts)
    assert left.baseline.cases[0].speeds == ()
    assert left.lines == (
        "left out the speed of 1 case (mlp/a): the GPU was shared; time it again, or keep it all the "
        "same (--doubtful)",
    )
    assert _commits(succeeded(_of(_CASE), left.baseline, doubts=doubts).baseline) == ["aa" * 20]
    assert without_doubtful(_of(_CASE), {}).baseline == _of(_CASE)


def test_the_old_speeds_of_a_doubtful_case_that_changed_are_given_up_too() -> None:
    doubts = {"mlp/a": "the GPU was shared"}
    now = replace(_CASE, speeds=(), parameters={"dtype": "float16"})
    found = succeeded(_of(_CASE), _of(now), doubts=doubts)
    assert found.baseline == _of(now)
    assert "start anew" in found.lines[0]


def test_a_case_that_is_timed_no_more_takes_no_old_speeds_along() -> None:
    now = replace(_CASE, speeds=(), timing_device="")
    assert succeeded(_of(_CASE), _of(now), doubts={}).baseline == _of(now)
