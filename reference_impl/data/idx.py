"""IDX files, the format of MNIST: a magic number, one size per axis, then bytes.

Source: the description on the data set's home page. Only unsigned bytes (type 8), which is all that MNIST has.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["IdxError", "decode_idx", "encode_idx", "read_bytes"]

_UNSIGNED_BYTE = 8
_GZIP_MAGIC = b"\x1f\x8b"

_LARGEST_BYTES = 2**28
"""Five times the largest file of MNIST (47 MB): a gzip file may claim to hold anything."""


class IdxError(ValueError):
    """A file is missing, truncated, damaged, or not what it should be; one line says which and how."""


def decode_idx(content: bytes, *, source: str) -> NDArray[np.uint8]:
    """The array in the bytes of an IDX file; ``source`` is what messages call it.

    Raises ``IdxError`` for any other magic number and for a byte too few or too many.
    """
    if len(content) < 4:
        raise IdxError(f"{source}: {len(content)} B are no IDX file, whose header has at least 4")
    zero, kind, axes = int.from_bytes(content[:2], "big"), content[2], content[3]
    if zero or kind != _UNSIGNED_BYTE or not axes:
        raise IdxError(
            f"{source}: begins with 0x{content[:4].hex()}, not with 0x000008NN as an IDX file of bytes does"
        )
    start = 4 + 4 * axes
    if len(content) < start:
        raise IdxError(f"{source}: its header of {start} B is cut off after {len(content)}")
    shape = tuple(int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(axes))
    needed = start
    size = 1
    for extent in shape:
        size *= extent
    needed += size
    if len(content) != needed:
        what = "is cut off" if len(content) < needed else "has bytes left over"
        raise IdxError(
            f"{source}: {what}: {len(content):,} B, but its header says {'x'.join(map(str, shape))}, "
            f"which takes {needed:,}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def encode_idx(array: NDArray[np.uint8]) -> bytes:
    """The bytes of an IDX file that holds ``array``, of 1 to 255 axes."""
    if array.dtype != np.uint8 or not 1 <= array.ndim <= 255:
        raise ValueError(f"an IDX file of bytes cannot hold {array.dtype} of shape {array.shape}")
    header = bytes([0, 0, _UNSIGNED_BYTE, array.ndim])
    sizes = b"".join(extent.to_bytes(4, "big") for extent in array.shape)
    return header + sizes + array.tobytes()


def read_bytes(path: Path) -> bytes:
    """What the file holds, unpacked where it is gzip; ``IdxError`` where it cannot be read or unpacked."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP_MAGIC
        with gzip.open(path, "rb") if packed else path.open("rb") as opened:
            content = opened.read(_LARGEST_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise IdxError(f"{path}: is a cut off or damaged gzip file; fetch it again") from error
    except OSError as error:
        raise IdxError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > _LARGEST_BYTES:
        raise IdxError(f"{path}: holds more than {_LARGEST_BYTES:,} B, which no file of MNIST does")
    return bytes(content)
