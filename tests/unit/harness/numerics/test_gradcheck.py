"""The directional gradient check: planted defects it must catch, and their fixed twins it must pass."""

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from harness.model.outcome import Outcome
from harness.numerics.direction import Moves
from harness.numerics.gradcheck import GradientCheck, check_gradients, gradient_text
from harness.numerics.tolerance import Tolerance

Array = npt.NDArray[Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def parts(x: Array, labels: Array) -> tuple[Array, Array]:
    """Row losses and probabilities of softmax cross-entropy."""
    rows = np.arange(len(labels))
    maxima = x.max(axis=1, keepdims=True)
    exponentials = np.exp(x - maxima)
    sums = exponentials.sum(axis=1, keepdims=True)
    return np.log(sums[:, 0]) - (x[rows, labels] - maxima[:, 0]), exponentials / sums


def mean_loss(inputs: Mapping[str, Any]) -> float:
    return float(parts(inputs["x"], inputs["labels"])[0].mean())


def softmax_case(
    shape: tuple[int, int], dtype: np.dtype[Any] | str = "float32", spread: float = 1.0
) -> tuple[dict[str, Array], Array]:
    """Inputs and the right gradient, in ``dtype``."""
    rng = np.random.default_rng(shape[1])
    x = (rng.standard_normal(shape) * spread).astype(dtype)
    labels = rng.integers(0, shape[1], shape[0])
    wide = x.astype("float64" if x.dtype == "float64" else "float32")
    gradient = parts(wide, labels)[1]
    gradient[np.arange(shape[0]), labels] -= 1
    return {"x": x, "labels": labels}, (gradient / wide.dtype.type(shape[0])).astype(dtype)


def check(
    inputs: Mapping[str, Array],
    gradient: Array,
    *,
    loss: Callable[[Mapping[str, Any]], float] = mean_loss,
    seed: int = 0,
    scale: float = 1.0,
) -> GradientCheck:
    dtype = gradient.dtype.name if gradient.dtype.kind != "O" else "float64"
    length = gradient.shape[-1] if gradient.ndim and gradient.shape[-1] else 1
    plain = {"dtype": dtype, "reduction_length": length, "scale": scale}
    tolerance = Tolerance.from_plain(plain, output="dx")
    (found,) = check_gradients(
        loss, inputs, {"x": gradient}, tolerances={"x": tolerance}, seed=seed
    )
    return found


def one_entry_doubled(gradient: Array) -> Array:
    wrong = gradient.copy()
    wrong[1, 2] *= 2
    return wrong


DEFECTS: dict[str, Callable[[Array], Array]] = {
    "1/N missing": lambda gradient: gradient * len(gradient),
    "sign": lambda gradient: -gradient,
    "one entry doubled": one_entry_doubled,
    "transposed": lambda gradient: np.ascontiguousarray(gradient.T),
    "a row lost": lambda gradient: gradient * (np.arange(len(gradient)) != 3)[:, None],
    "mean over N*C": lambda gradient: gradient / gradient.dtype.type(gradient.shape[1]),
}


@pytest.mark.parametrize("dtype", ["float16", BFLOAT16, "float32", "float64"], ids=str)
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_caught_and_its_fixed_twin_passes(
    defect: str, dtype: np.dtype[Any] | str
) -> None:
    inputs, gradient = softmax_case((8, 8), dtype, spread=0.5)
    for seed in range(3):
        wrong = DEFECTS[defect](gradient).astype(dtype)
        assert check(inputs, wrong, scale=1 / 8, seed=seed).outcome is Outcome.FAILED
        assert check(inputs, gradient, scale=1 / 8, seed=seed).outcome is Outcome.PASSED


@pytest.mark.parametrize("shape", [(1, 2), (3, 5), (64, 10), (32, 1000)], ids=str)
@pytest.mark.parametrize("dtype", ["float16", BFLOAT16, "float32", "float64"], ids=str)
@pytest.mark.parametrize("spread", [0.01, 1.0, 10.0])
def test_a_right_gradient_passes_at_any_shape_dtype_and_spread(
    shape: tuple[int, int], dtype: np.dtype[Any] | str, spread: float
) -> None:
    inputs, gradient = softmax_case(shape, dtype, spread)
    found = check(inputs, gradient, scale=1 / shape[0])
    assert found.outcome is Outcome.PASSED, gradient_text(found)


def relu_case(seed: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """Two dense layers on 400 points: kinks everywhere, each with the right gradients of all weights."""
    rng = np.random.default_rng(seed)
    inputs = {
        "points": rng.uniform(-1, 1, (400, 2)),
        "labels": rng.integers(0, 2, 400),
        "w0": rng.standard_normal((2, 16)) * 0.1,
        "b0": np.zeros((1, 16)),
        "w1": rng.standard_normal((16, 2)) * 0.1,
    }
    hidden = inputs["points"] @ inputs["w0"] + inputs["b0"]
    active = np.maximum(hidden, 0)
    back = parts(active @ inputs["w1"], inputs["labels"])[1]
    back[np.arange(400), inputs["labels"]] -= 1
    back /= 400
    back_hidden = (back @ inputs["w1"].T) * (hidden > 0)
    gradients = {
        "w0": inputs["points"].T @ back_hidden,
        "b0": back_hidden.sum(axis=0, keepdims=True),
        "w1": active.T @ back,
    }
    return inputs, gradients


def relu_loss(inputs: Mapping[str, Any]) -> float:
    active = np.maximum(inputs["points"] @ inputs["w0"] + inputs["b0"], 0)
    return float(parts(active @ inputs["w1"], inputs["labels"])[0].mean())


@pytest.mark.parametrize("seed", range(5))
def test_kinks_near_the_inputs_neither_hide_a_defect_nor_raise_a_false_alarm(seed: int) -> None:
    inputs, gradients = relu_case(seed)
    tolerance = Tolerance.from_plain({"dtype": "float32", "reduction_length": 400}, output="dw")
    tolerances = dict.fromkeys(gradients, tolerance)
    right = {name: value.astype(np.float32) for name, value in gradients.items()}
    found = check_gradients(relu_loss, inputs, right, tolerances=tolerances, seed=seed)
    assert [each.outcome for each in found] == [Outcome.PASSED] * 3
    wrong = {name: value * np.float32(1.1) for name, value in right.items()}
    found = check_gradients(relu_loss, inputs, wrong, tolerances=tolerances, seed=seed)
    assert [each.outcome for each in found] == [Outcome.FAILED] * 3


def absolute_sum(inputs: Mapping[str, Any]) -> float:
    return float(np.abs(inputs["x"]).sum())


def test_a_kink_at_the_inputs_is_inconclusive_and_hides_no_larger_defect() -> None:
    inputs = {"x": np.array([1.0, 0.0, -2.0])}
    found = check(inputs, np.array([1.0, 1.0, -1.0]), loss=absolute_sum)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "kink" in gradient_text(found)
    wrong = check(inputs, np.array([-1.0, 0.0, 1.0]), loss=absolute_sum)
    assert wrong.outcome is Outcome.FAILED
    assert check(inputs, np.array([1.0, 0.0, -1.0]), loss=absolute_sum).outcome is Outcome.PASSED


def test_a_rough_loss_is_inconclusive() -> None:
    def rounded(inputs: Mapping[str, Any]) -> float:
        return float(np.float16(inputs["x"].sum()))

    found = check({"x": np.array([0.3, 0.6])}, np.array([1.0, 1.0]), loss=rounded)
    assert found.outcome is not Outcome.PASSED


def test_a_loss_too_flat_to_measure_is_inconclusive() -> None:
    def flat(inputs: Mapping[str, Any]) -> float:
        return float(1.0 + 1e-30 * inputs["x"].sum())

    found = check({"x": np.array([0.3, 0.6])}, np.array([1e-30, 1e-30]), loss=flat)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "flat" in gradient_text(found)


def test_a_zero_gradient_passes_where_the_loss_does_not_move_and_only_there() -> None:
    still = check({"x": np.array([0.3, 0.6])}, np.zeros(2), loss=lambda inputs: 1.0)
    assert still.outcome is Outcome.PASSED
    assert "does not move" in gradient_text(still)
    moving = check({"x": np.array([0.3, 0.6])}, np.zeros(2), loss=absolute_sum)
    assert moving.outcome is Outcome.FAILED


def test_a_tolerance_too_loose_to_see_the_gradient_is_inconclusive() -> None:
    inputs, gradient = softmax_case((8, 8))
    assert check(inputs, gradient, scale=1e6).outcome is Outcome.INCONCLUSIVE


def test_a_loss_that_is_not_finite_is_inconclusive() -> None:
    inputs, gradient = softmax_case((4, 3))
    inputs["x"][2, 1] = np.nan
    found = check(inputs, gradient)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "the loss is nan at the inputs" in gradient_text(found)


def test_a_loss_that_is_not_finite_beside_the_inputs_is_inconclusive() -> None:
    def root(inputs: Mapping[str, Any]) -> float:
        with np.errstate(invalid="ignore"):
            return float(np.sqrt(inputs["x"]).sum())

    found = check({"x": np.array([0.0, 4.0])}, np.array([1.0, 0.25]), loss=root)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "not finite 0.016 away" in gradient_text(found)


def test_a_nan_gradient_of_a_finite_loss_fails() -> None:
    inputs, gradient = softmax_case((4, 3))
    gradient[0, 0] = np.nan
    assert check(inputs, gradient).outcome is Outcome.FAILED


def test_infinite_and_masking_logits_stay_put_and_the_rest_is_checked() -> None:
    inputs, _ = softmax_case((4, 6))
    inputs["x"][:, 0] = -np.inf
    inputs["x"][:, 1] = -1e30
    inputs["labels"][:] = 3
    gradient = parts(inputs["x"], inputs["labels"])[1]
    gradient[:, 3] -= 1
    gradient /= np.float32(4)
    found = check(inputs, gradient, scale=0.25)
    assert (found.outcome, found.moved, found.entries) == (Outcome.PASSED, 16, 24)
    assert "8 of 24 entries too large to move" in gradient_text(found)
    assert check(inputs, -gradient, scale=0.25).outcome is Outcome.FAILED


def test_inputs_that_cannot_be_moved_are_inconclusive() -> None:
    found = check({"x": np.array([np.inf, -np.inf])}, np.zeros(2), loss=lambda inputs: 1.0)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "no entry of the input can be moved" in gradient_text(found)


def test_an_input_without_entries_is_skipped() -> None:
    found = check({"x": np.zeros((0, 3))}, np.zeros((0, 3)), loss=lambda inputs: 0.0)
    assert found.outcome is Outcome.SKIPPED


def test_a_gradient_of_another_shape_fails_by_name() -> None:
    inputs, gradient = softmax_case((4, 3))
    found = check(inputs, gradient.T)
    assert found.outcome is Outcome.FAILED
    assert "shape (3, 4) where the input has (4, 3)" in gradient_text(found)


def test_without_directions_nothing_is_decided() -> None:
    inputs, gradient = softmax_case((4, 3))
    tolerance = Tolerance.from_plain({"dtype": "float32"}, output="dx")
    (found,) = check_gradients(
        mean_loss, inputs, {"x": gradient}, tolerances={"x": tolerance}, seed=0, directions=0
    )
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "no direction" in gradient_text(found)


def test_the_same_seed_gives_the_same_directions_and_another_seed_others() -> None:
    inputs, gradient = softmax_case((4, 3))
    assert check(inputs, gradient, seed=1) == check(inputs, gradient, seed=1)
    assert check(inputs, gradient, seed=1) != check(inputs, gradient, seed=2)


def test_a_smooth_loss_costs_few_evaluations() -> None:
    inputs, gradient = softmax_case((64, 10))
    calls = 0

    def counted(point: Mapping[str, Any]) -> float:
        nonlocal calls
        calls += 1
        return mean_loss(point)

    assert check(inputs, gradient, loss=counted, scale=1 / 64).outcome is Outcome.PASSED
    assert calls <= 1 + 2 * 6


def test_what_the_loss_raises_passes_through() -> None:
    def broken(inputs: Mapping[str, Any]) -> float:
        raise RuntimeError("oracle broke")

    with pytest.raises(RuntimeError, match="oracle broke"):
        check({"x": np.ones(2)}, np.ones(2), loss=broken)


@pytest.mark.parametrize("point", [0.1, 1e-9, 3.0, 1e5 + 1 / 3])
def test_rounding_of_the_moved_point_is_taken_out(point: float) -> None:
    """float64 inputs do not take small steps exactly; a linear loss must keep its slope all the same."""
    inputs = {"x": np.array([point, 2 * point, 1.0])}
    moves = Moves(lambda at: float(at["x"].sum()), inputs, "x", np.ones(3))
    direction = moves.draw(np.random.default_rng(0))
    step = moves.spread * 2.0**-26
    slope = (moves.loss(direction, step) - moves.loss(direction, -step)) / (2 * step)
    rounding = 4 * 2.0**-53 * float(inputs["x"].sum()) / step
    assert slope == pytest.approx(float(direction.sum()), abs=rounding)


def test_no_entry_hides_from_a_direction() -> None:
    moves = Moves(absolute_sum, {"x": np.ones((100, 100))}, "x", np.ones((100, 100)))
    sizes = np.abs(moves.draw(np.random.default_rng(0)))
    assert sizes.min() == 0.5
    assert sizes.max() == 1.5
    assert abs(float(moves.draw(np.random.default_rng(1)).mean())) < 0.05
