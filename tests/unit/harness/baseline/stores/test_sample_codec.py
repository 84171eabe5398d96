"""Raw timings are kept to the last bit, in a few bytes each."""

from __future__ import annotations

import math
import random
import zlib
from dataclasses import replace

import msgspec
import pytest
from builders import a_sample
from hypothesis import given
from hypothesis import strategies as st

from harness.baseline.stores.sample_codec import decode_sample, encode_sample
from harness.errors import FileFormatError


@given(st.lists(st.floats(allow_nan=False)), st.lists(st.floats(allow_nan=False)))
def test_any_timings_come_back_as_they_were(call: list[float], peer: list[float]) -> None:
    sample = replace(a_sample(), call_ns=tuple(call), peer_ns=tuple(peer), process_starts=(0, 7))
    assert decode_sample(encode_sample(sample), source="x") == sample


def test_signs_of_zero_and_not_a_number_survive() -> None:
    sample = a_sample(call_ns=(-0.0, math.nan, math.inf, 5e-324))
    zero, nan, inf, smallest = decode_sample(encode_sample(sample), source="x").call_ns
    assert math.copysign(1, zero) == -1
    assert math.isnan(nan)
    assert (inf, smallest) == (math.inf, 5e-324)


@pytest.mark.parametrize(
    ("calls", "most_bytes"),
    [(1, 3.0), (7, 6.5)],  # whole nanoseconds; sevenths of them, whose last digits are noise
)
def test_a_timing_takes_a_few_bytes(calls: int, most_bytes: float) -> None:
    rng = random.Random(7)
    timings = tuple(round(rng.gauss(1e6, 1e4)) / calls for _ in range(400))
    size = len(encode_sample(a_sample(call_ns=timings[:200], peer_ns=timings[200:])))
    assert size / 400 < most_bytes


@given(st.binary(max_size=200))
def test_other_bytes_are_refused_in_one_line(data: bytes) -> None:
    whole = encode_sample(a_sample())
    for tried in (data, whole[: len(data) % len(whole)], zlib.compress(data)):
        with pytest.raises(FileFormatError) as caught:
            decode_sample(tried, source="runs.db")
        assert str(caught.value).startswith("runs.db cannot be read: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [[], [2], [1, "t", 0, 1, 1, [0], b"1234567", b""], 5, {"a": 1}])
def test_what_decompresses_to_something_else_is_refused(content: object) -> None:
    with pytest.raises(FileFormatError, match=r"the timings themselves are in the run\.json"):
        decode_sample(zlib.compress(msgspec.msgpack.encode(content)), source="x")
