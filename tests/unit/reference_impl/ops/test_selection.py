import math

import numpy as np
import pytest

from reference_impl.ops.selection import select

CHOSEN = np.array([True, False, True, False])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_chosen_values_keep_their_bits_and_others_are_plain_0(dtype):
    values = np.array([-1.5, -2.5, math.nan, math.nan], dtype)
    kept = select(CHOSEN, values)
    assert kept.dtype == dtype
    assert kept.tobytes() == np.array([-1.5, 0, math.nan, 0], dtype).tobytes()


def test_infinity_that_is_not_chosen_is_0():
    assert select(~CHOSEN, np.full(4, math.inf, np.float32)).tolist() == [0, math.inf, 0, math.inf]


def test_it_writes_into_a_part_of_an_array():
    out = np.full((2, 8), 7.0, np.float32)
    target = out[1, ::2]
    assert select(CHOSEN, np.arange(4, dtype=np.float32) + 1, out=target) is target
    assert out.tolist() == [[7.0] * 8, [1, 7, 0, 7, 3, 7, 0, 7]]


def test_a_device_selects_where_the_values_are(device):
    kept = select(device.array(CHOSEN), device.array(np.arange(4, dtype=np.float32)))
    assert device.fetch(kept).tolist() == [0, 0, 2, 0]
    assert device.reads == []
