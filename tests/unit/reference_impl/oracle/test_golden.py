"""Both oracles against what the real Apache SINGA computed: tests/golden/singa_cases.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impl.oracle.singa_softmax_cross_entropy import FLT_MIN, singa_softmax_cross_entropy
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy

GOLDEN = Path(__file__).parents[3] / "golden" / "singa_cases.json"

# SINGA's own arithmetic is float32: a few roundings of 6e-8 in a loss, fewer in p - T below 1.
LOSS_RELATIVE = 3e-7
GRADIENT_ABSOLUTE = 1e-7

WHERE_SINGA_DEPARTS = {
    "gap_100": "the loss stops at -log(FLT_MIN)",
    "nan_logit": "the NaN does not reach the loss",
    "inf_logit": "only the infinite place of the gradient is NaN",
    "ids_float32_zero": "floating-point ids are no ids",
    "soft_labels_float32": "soft labels are read as the integers of their bits",
    "smooth_labels_float32": "soft labels are read as the integers of their bits",
    "dy_2": "dy is not used",
    "dy_0": "dy is not used",
}


def defined_cases() -> list[dict[str, Any]]:
    cases = json.loads(GOLDEN.read_text())["cases"]
    return [
        case
        for case in cases
        if case["exit_code"] == 0 and not case["undefined_behaviour"] and "grad" in case["result"]
    ]


def array(stored: dict[str, Any]) -> np.ndarray[Any, Any]:
    values = np.array([float(value) for value in stored["data"]])
    return values.reshape(stored["shape"]).astype(stored["dtype"])


def numbers(values: list[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.array([float(value) for value in values]).reshape(shape)


def by_name(case: dict[str, Any]) -> str:
    return str(case["name"])


def test_the_file_holds_the_cases_this_test_is_about() -> None:
    names = {case["name"] for case in defined_cases()}
    assert len(names) >= 28
    assert set(WHERE_SINGA_DEPARTS) < names


@pytest.mark.parametrize("case", defined_cases(), ids=by_name)
def test_the_singa_oracle_reproduces_singa(case: dict[str, Any]) -> None:
    x, result = array(case["x"]), case["result"]
    truth = singa_softmax_cross_entropy(x, array(case["t"]))
    np.testing.assert_allclose(truth.loss, float(result["loss"][0]), rtol=LOSS_RELATIVE)
    np.testing.assert_allclose(
        truth.gradient, numbers(result["grad"], x.shape), rtol=0, atol=GRADIENT_ABSOLUTE
    )
    np.testing.assert_allclose(
        truth.probabilities, numbers(result["p"], x.shape), rtol=0, atol=GRADIENT_ABSOLUTE
    )


@pytest.mark.parametrize("case", defined_cases(), ids=by_name)
def test_the_oracle_agrees_with_singa_except_where_singa_departs_from_the_mathematics(
    case: dict[str, Any],
) -> None:
    if case["name"] in WHERE_SINGA_DEPARTS:
        assert not agrees(case), "no departure any more: take it off the list"
    else:
        assert agrees(case)


def agrees(case: dict[str, Any]) -> bool:
    x, result = array(case["x"]), case["result"]
    try:
        truth = softmax_cross_entropy(x, array(case["t"]), dy=case.get("dy", 1.0))
    except ValueError:
        return False
    return bool(
        np.allclose(truth.loss, float(result["loss"][0]), LOSS_RELATIVE, 0, equal_nan=True)
        and np.allclose(
            truth.gradient,
            numbers(result["grad"], x.shape),
            0,
            GRADIENT_ABSOLUTE,
            equal_nan=True,
        )
    )


def test_flt_min_is_the_smallest_normal_float32() -> None:
    assert FLT_MIN == 2.0**-126


def test_singa_labels_outside_the_classes_are_refused_not_read() -> None:
    with pytest.raises(ValueError, match=r"label 3 in row 1 is outside \[0, 3\)"):
        singa_softmax_cross_entropy(np.zeros((2, 3)), np.array([0, 3], np.int32))
