"""The table of float formats against NumPy's own."""

import math

import ml_dtypes
import numpy as np
import pytest

from harness.numerics.float_format import FLOAT_FORMATS


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_the_table_agrees_with_numpy(name: str) -> None:
    info = np.finfo(name)
    stored = FLOAT_FORMATS[name]
    assert stored.unit_roundoff == float(info.eps) / 2
    assert stored.smallest_normal == float(info.smallest_normal)
    assert stored.smallest_subnormal == float(info.smallest_subnormal)


def test_the_table_agrees_with_bfloat16() -> None:
    info = ml_dtypes.finfo(ml_dtypes.bfloat16)
    stored = FLOAT_FORMATS["bfloat16"]
    assert stored.unit_roundoff == float(info.eps) / 2
    assert stored.smallest_normal == float(info.smallest_normal)
    assert stored.smallest_subnormal == float(info.smallest_subnormal)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_values_round_to_infinity_exactly_from_the_threshold_on(name: str) -> None:
    dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    threshold = FLOAT_FORMATS[name].overflow_threshold
    with np.errstate(over="ignore"):
        assert math.isinf(float(np.array(threshold).astype(dtype)))
        assert math.isfinite(float(np.array(threshold * (1 - 2**-23)).astype(dtype)))


def test_float64_holds_every_oracle_value() -> None:
    assert FLOAT_FORMATS["float64"].overflow_threshold == math.inf
