"""The workload: what the harness asks of it, and every case right on plain NumPy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

from harness.model.budget import Budget, Quantity
from harness.model.workload import Case, Workload
from harness.numerics.compare import compare, comparison_text
from harness.numerics.tolerance import Tolerance
from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy
from reference_impl.workloads.softmax_cross_entropy import (
    CONTROL,
    WORKLOAD,
    SoftmaxCrossEntropyCase,
    SoftmaxCrossEntropyWorkload,
)
from reference_impl.workloads.softmax_cross_entropy_recipes import RECIPES, Recipe

# The largest cases take a second each and teach nothing here that 64x10 does not.
SMALL_CASES = [case for case in WORKLOAD.cases() if np.prod(case.recipe.shape) <= 256_000]
TIMED = [case for case in WORKLOAD.cases() if case.timed]


def by_name(case: SoftmaxCrossEntropyCase) -> str:
    return case.name


def a_case(name: str) -> SoftmaxCrossEntropyCase:
    return next(case for case in WORKLOAD.cases() if case.name == name)


def unwatched(region: str) -> AbstractContextManager[None]:
    return nullcontext()


def assert_within_tolerance(
    case: SoftmaxCrossEntropyCase, outputs: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    for name, output in outputs.items():
        tolerance = Tolerance.from_plain(case.tolerances[name], output=name)
        comparison = compare(np.asarray(output), expected[name], tolerance)
        assert comparison.passed, comparison_text(comparison, output=name)


def test_it_is_a_workload_of_cases_without_importing_the_harness() -> None:
    assert isinstance(WORKLOAD, Workload)
    for case in WORKLOAD.cases():
        assert isinstance(case, Case)


def test_every_case_has_its_own_name_that_can_name_a_file() -> None:
    names = [case.name for case in WORKLOAD.cases()]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", name)


def test_the_published_shapes_are_timed() -> None:
    names = {case.name for case in TIMED}
    assert {
        "64x10-float32",
        "256x1000-float32",
        "4096x1000-float16",
        "4096x1000-float32",
        "4096x1000-float64",
        "1024x32000-float32",
    } <= names


@pytest.mark.parametrize("case", SMALL_CASES, ids=by_name)
def test_every_case_is_right_on_numpy(case: SoftmaxCrossEntropyCase) -> None:
    inputs = case.inputs(0)
    outputs, expected = case.run(inputs, unwatched), case.expected(inputs)
    assert set(outputs) == set(expected) == set(case.tolerances)
    assert_within_tolerance(case, outputs, expected)


@pytest.mark.parametrize("case", SMALL_CASES, ids=by_name)
def test_inputs_depend_on_the_seed_alone(case: SoftmaxCrossEntropyCase) -> None:
    first, again, other = case.inputs(1), case.inputs(1), case.inputs(2)
    assert set(first) == set(again) == set(other)
    for name, values in first.items():
        assert values.tobytes() == again[name].tobytes()
        assert values.dtype == other[name].dtype
        assert values.shape == other[name].shape


def test_another_seed_gives_other_logits_and_labels() -> None:
    case = a_case("64x10-float32")
    first, other = case.inputs(1), case.inputs(2)
    assert not np.array_equal(first["logits"], other["logits"])
    assert not np.array_equal(first["labels"], other["labels"])


@pytest.mark.parametrize("case", SMALL_CASES, ids=by_name)
def test_the_run_leaves_its_inputs_as_they_were(case: SoftmaxCrossEntropyCase) -> None:
    inputs, untouched = case.inputs(0), case.inputs(0)
    case.run(inputs, unwatched)
    for name, values in untouched.items():
        assert inputs[name].tobytes() == values.tobytes()


def test_logits_have_the_shape_dtype_and_memory_order_of_the_recipe() -> None:
    for case in SMALL_CASES:
        logits, recipe = case.inputs(0)["logits"], case.recipe
        rows, classes = recipe.shape
        assert logits.shape == (rows, classes * recipe.layout.stride)
        assert logits.dtype.name == recipe.dtype
    assert a_case("transposed").inputs(0)["logits"].flags.f_contiguous
    assert not a_case("transposed").inputs(0)["logits"].flags.c_contiguous


def test_the_strided_case_hands_over_views_that_are_not_contiguous() -> None:
    seen: list[Any] = []

    class Spy(HostRoundTripSoftMaxCrossEntropy):
        def forward(self, x: Any) -> Any:
            seen.extend([x, self._labels])
            return super().forward(x)

    case = a_case("strided")
    SoftmaxCrossEntropyCase(recipe=case.recipe, op=Spy).run(case.inputs(0), unwatched)
    assert [array.flags.c_contiguous for array in seen] == [False, False]


def test_the_hard_rows_hold_what_they_are_named_for() -> None:
    x = a_case("extreme-float32").inputs(0)["logits"]
    largest = x.max(axis=1)
    assert (largest < -9_000).any(), "rows far below 0"
    assert (largest == 1e8).any(), "equal huge logits"
    assert np.isneginf(x).any(), "-inf beside the target"
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(x)).any(), "rows that overflow without a shift"
    with np.errstate(invalid="ignore"):
        assert (np.ptp(x, axis=1) > 9_000).any(), "a spread of 1e4"


def test_nothing_may_cross_and_nothing_may_wait() -> None:
    for case in WORKLOAD.cases():
        budget = Budget.from_plain(case.budget)
        assert set(budget.regions) == {"forward", "backward", "run"}
        for limits in budget.regions.values():
            assert {limit.quantity for limit in limits} == {
                Quantity.D2H,
                Quantity.H2D,
                Quantity.SYNCS,
                Quantity.BLOCKING_COPIES,
            }
            assert {limit.at_most for limit in limits} == {0}


def test_forward_and_backward_are_the_regions() -> None:
    opened: list[str] = []

    def region(name: str) -> AbstractContextManager[None]:
        opened.append(name)
        return nullcontext()

    case = a_case("backward-twice")
    case.run(case.inputs(0), region)
    assert opened == ["forward", "backward"]


@pytest.mark.parametrize(
    ("name", "size_bytes"),
    [("64x10-float32", 64 * 10 * 8), ("256x1000-float32", 256 * 1000 * 8)],
)
def test_the_least_traffic_is_one_read_and_one_write_of_each_logit(
    name: str, size_bytes: int
) -> None:
    rows = float(name.partition("x")[0])
    assert a_case(name).throughput == ("samples", rows, size_bytes)


def test_sixteen_bit_logits_move_half_as_much() -> None:
    half, single = a_case("4096x1000-float16"), a_case("4096x1000-float32")
    assert 2 * half.throughput[2] == single.throughput[2]


def test_a_slope_is_declared_only_where_the_loss_is_one_finite_number() -> None:
    declared = {case.name for case in WORKLOAD.cases() if case.gradients}
    assert {"64x10-float32", "soft-float32", "ignore-weights-smoothing"} <= declared
    assert not declared & {"reduction-none", "extreme-float32", "dy-2", "all-ignored", "strided"}
    for case in WORKLOAD.cases():
        assert (case.loss == "loss") == bool(case.gradients)


@pytest.mark.parametrize("case", [c for c in TIMED if c in SMALL_CASES], ids=by_name)
def test_the_yardstick_does_the_same_work(case: SoftmaxCrossEntropyCase) -> None:
    inputs = case.inputs(0)
    outputs = case.peer(inputs, unwatched)  # type: ignore[attr-defined]  # timed cases have one
    assert set(outputs) == set(case.tolerances)
    assert_within_tolerance(case, outputs, case.expected(inputs))


def test_the_yardstick_honours_the_gradient_of_the_loss() -> None:
    recipe = Recipe(name="scaled", shape=(6, 4), dtype="float16", dy=8.0, timed=True)
    (case,) = SoftmaxCrossEntropyWorkload(recipes=(recipe,)).cases()
    inputs = case.inputs(0)
    assert_within_tolerance(case, case.peer(inputs, unwatched), case.expected(inputs))  # type: ignore[attr-defined]


def test_untimed_cases_have_no_yardstick() -> None:
    assert not hasattr(a_case("dy-2"), "peer")


def test_the_pre_fix_op_is_the_control_and_must_show_one_read() -> None:
    control = WORKLOAD.controls[CONTROL]
    names = {case.name for case in control.cases()}
    assert names < {recipe.name for recipe in RECIPES}
    assert next(iter(control.cases())).name == WORKLOAD.cases()[0].name
    assert all(case.op is HostRoundTripSoftMaxCrossEntropy for case in control.cases())
    forward = {Quantity(key): count for key, count in control.control_expects["forward"].items()}
    assert forward[Quantity.D2H] == forward[Quantity.SYNCS] == 1
    assert forward[Quantity.D2H_BYTES] == 4


def test_the_control_computes_the_same_numbers() -> None:
    for case in WORKLOAD.controls[CONTROL].cases():
        inputs = case.inputs(0)
        outputs, expected = case.run(inputs, unwatched), case.expected(inputs)
        assert_within_tolerance(case, outputs, expected)


def test_parameters_are_text_that_tells_any_two_cases_apart() -> None:
    seen = [tuple(sorted(case.parameters.items())) for case in WORKLOAD.cases()]
    assert all(isinstance(value, str) for parameters in seen for _, value in parameters)
    assert len(set(seen)) == len(seen)


def test_parameters_name_every_option_that_is_not_the_default() -> None:
    named = a_case("ignore-weights-smoothing").parameters
    assert named["ignore_index"] == "-100"
    assert named["label_smoothing"] == "0.1"
    assert named["weight"] == "one per class"
    assert a_case("4096x1000-float16").parameters["dy"] == "4096.0"
    assert a_case("backward-twice").parameters["backward calls"] == "2"
