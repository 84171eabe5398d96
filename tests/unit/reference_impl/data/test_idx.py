"""IDX files: what is written is read, and nothing that is not one is."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from reference_impl.data.idx import IdxError, decode_idx, encode_idx, read_bytes

ARRAYS = arrays(np.uint8, array_shapes(max_dims=3, max_side=4))


@given(ARRAYS)
def test_an_array_comes_back_as_it_was(array: Any) -> None:
    found = decode_idx(encode_idx(array), source="file")
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, array)


@given(ARRAYS)
def test_a_file_cut_off_after_any_byte_is_refused(array: Any) -> None:
    content = encode_idx(array)
    for length in range(len(content)):
        with pytest.raises(IdxError, match="file: "):
            decode_idx(content[:length], source="file")


@given(ARRAYS, st.binary(min_size=1, max_size=3))
def test_bytes_left_over_are_refused(array: Any, more: bytes) -> None:
    with pytest.raises(IdxError, match="has bytes left over"):
        decode_idx(encode_idx(array) + more, source="file")


@given(st.binary(max_size=40))
def test_any_bytes_are_an_array_or_one_line(content: bytes) -> None:
    try:
        array = decode_idx(content, source="file")
    except IdxError as error:
        complaint = str(error)
    else:
        assert encode_idx(array) == content
        return
    assert "\n" not in complaint


@pytest.mark.parametrize("start", [b"\x00\x00\x0d\x01", b"\x00\x01\x08\x01", b"\x00\x00\x08\x00"])
def test_another_magic_number_is_refused(start: bytes) -> None:
    with pytest.raises(IdxError, match="begins with 0x"):
        decode_idx(start + bytes(8), source="file")


def test_a_shape_too_large_for_memory_is_refused_by_its_length() -> None:
    with pytest.raises(IdxError, match="is cut off"):
        decode_idx(b"\x00\x00\x08\x04" + b"\xff" * 16, source="file")


def test_gzip_is_told_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    for name, content in (("packed", gzip.compress(b"abc")), ("plain.gz", b"abc")):
        (tmp_path / name).write_bytes(content)
        assert read_bytes(tmp_path / name) == b"abc"


def test_a_gzip_file_cut_off_or_damaged_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(bytes(range(200))))
    path = tmp_path / "file.gz"
    path.write_bytes(packed[:-9])
    with pytest.raises(IdxError, match="is a cut off or damaged gzip file; fetch it again"):
        read_bytes(path)
    packed[-6] ^= 1  # its checksum
    path.write_bytes(packed)
    with pytest.raises(IdxError, match="is a cut off or damaged gzip file; fetch it again"):
        read_bytes(path)


@pytest.mark.parametrize("array", [np.zeros((), np.uint8), np.zeros(3, np.int8)])
def test_what_such_a_file_cannot_hold_is_not_written(array: Any) -> None:
    with pytest.raises(ValueError, match="cannot hold"):
        encode_idx(array)
