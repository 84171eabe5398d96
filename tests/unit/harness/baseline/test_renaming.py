"""Missing and new cases that look alike are taken for one another, as a question."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from work import calls_of

from harness.baseline.renaming import renamed
from harness.model.baseline import BaselineCase
from harness.model.measurement import Throughput


def _case(
    key: str, parameters: Mapping[str, str] | None = None, *, units: float = 64
) -> BaselineCase:
    return BaselineCase(
        key=key,
        parameters={"shape": "64x10"} if parameters is None else parameters,
        traffic_device="simulated",
        timing_device="cpu",
        traffic={},
        throughput=Throughput(unit="samples", units_per_call=units, bytes_per_call=1),
    )


def test_a_case_under_another_name_is_found_both_ways() -> None:
    assert renamed([_case("mlp/old")], [_case("mlp/new")]) == {
        "mlp/old": "mlp/new",
        "mlp/new": "mlp/old",
    }


@pytest.mark.parametrize(
    "new",
    [_case("mlp/new", {"shape": "64x11"}), _case("mlp/new", units=65), _case("mlp/new", {})],
)
def test_a_case_that_does_something_else_is_no_renamed_one(new: BaselineCase) -> None:
    assert renamed([_case("mlp/old")], [new]) == {}


def test_cases_that_say_nothing_about_themselves_are_not_alike() -> None:
    assert renamed([_case("mlp/old", {})], [_case("mlp/new", {})]) == {}


def test_the_same_workload_comes_first_then_the_same_case_name() -> None:
    old = [_case("mlp/a"), _case("cnn/b"), _case("rnn/c")]
    new = [_case("other/x"), _case("new/b"), _case("mlp/z")]
    names = renamed(old, new)
    assert [names[case.key] for case in old] == ["mlp/z", "new/b", "other/x"]


def test_each_case_is_renamed_once() -> None:
    names = renamed([_case("mlp/a"), _case("mlp/b")], [_case("mlp/c")])
    assert names == {"mlp/a": "mlp/c", "mlp/c": "mlp/a"}


def test_twice_as_many_alike_cases_are_twice_the_work() -> None:
    old, new = ([_case(f"{side}/{n}") for n in range(200)] for side in ("old", "new"))
    assert renamed(old, new)["old/7"] == "new/7"
    work = calls_of(lambda: renamed(old, new))
    assert work < 2.2 * calls_of(lambda: renamed(old[:100], new[:100]))
