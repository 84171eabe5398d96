"""Raw timings as compact bytes, exact to the last bit.

The bytes of the float64 values are transposed before they are compressed: first all first bytes, then all second
ones. Times of one op share sign, exponent and leading digits, so those bytes all but vanish, and where values are
whole nanoseconds the trailing ones do too.
"""

from __future__ import annotations

import zlib

import msgspec
import numpy as np

from harness.errors import FileFormatError
from harness.model.measurement import Sample

__all__ = ["decode_file", "decode_sample", "encode_file", "encode_sample"]

_VERSION = 1
_MAGIC = b"ondevice-harness samples\n"
"""Marks a file of samples as ours."""

_MOST_BYTES = 2**30
"""A hundred million timings were not written by the harness; a damaged length must not fill the memory."""

_Packed = tuple[int, str, int, int, int, tuple[int, ...], bytes, bytes]


class _File(msgspec.Struct):
    """Samples of one run by key."""

    schema_version: int
    samples: dict[str, bytes]


_PACKED = msgspec.msgpack.Decoder(_Packed)
_FILE = msgspec.msgpack.Decoder(_File)


def encode_sample(sample: Sample) -> bytes:
    """The sample as bytes; some 3 to 6 of them per timing."""
    packed: _Packed = (
        _VERSION,
        sample.timer,
        int(sample.seed),
        int(sample.calls_per_value),
        int(sample.warmup_calls),
        tuple(map(int, sample.process_starts)),
        _transposed(sample.call_ns),
        _transposed(sample.peer_ns),
    )
    return zlib.compress(msgspec.msgpack.encode(packed), 9)


def decode_sample(data: bytes, *, source: str) -> Sample:
    """The sample in ``data``; raises ``FileFormatError`` when it is damaged or of another version."""
    try:
        expander = zlib.decompressobj()
        plain = expander.decompress(data, _MOST_BYTES)
        if not expander.eof or expander.unused_data:
            raise ValueError("cut off")
        version = msgspec.msgpack.decode(plain)[0]
        if version != _VERSION:
            raise ValueError(f"version {version!r}, this harness reads {_VERSION}")
        _, timer, seed, calls, warmup, starts, call, peer = _PACKED.decode(plain)
        return Sample(
            call_ns=_restored(call),
            peer_ns=_restored(peer),
            calls_per_value=calls,
            warmup_calls=warmup,
            timer=timer,
            seed=seed,
            process_starts=starts,
        )
    except (zlib.error, msgspec.DecodeError, ValueError, TypeError, IndexError, KeyError) as error:
        raise FileFormatError(
            f"{source} cannot be read: {' '.join(str(error).split())}; the timings themselves are in "
            "the run.json of that run"
        ) from None


def encode_file(samples: dict[str, bytes]) -> bytes:
    """Encoded samples by key as the content of one file."""
    return _MAGIC + msgspec.msgpack.encode(_File(schema_version=_VERSION, samples=samples))


def decode_file(data: bytes, *, source: str) -> dict[str, bytes]:
    """Encoded samples by key; raises ``FileFormatError``."""
    if not data.startswith(_MAGIC):
        raise FileFormatError(f"{source} is no file of samples; take it away or restore it")
    try:
        file = _FILE.decode(data[len(_MAGIC) :])
    except (msgspec.DecodeError, ValueError) as error:
        raise FileFormatError(
            f"{source} is damaged: {' '.join(str(error).split())}; take it away or restore it"
        ) from None
    if file.schema_version != _VERSION:
        raise FileFormatError(
            f"{source} has schema_version {file.schema_version}, this harness reads {_VERSION}; "
            "upgrade with: python -m pip install --upgrade ondevice-harness"
        )
    return file.samples


def _transposed(values: tuple[float, ...]) -> bytes:
    return np.asarray(values, dtype="<f8").view(np.uint8).reshape(len(values), 8).T.tobytes()


def _restored(data: bytes) -> tuple[float, ...]:
    if len(data) % 8:
        raise ValueError(f"{len(data)} bytes are no float64 values")
    transposed = np.frombuffer(data, dtype=np.uint8).reshape(8, len(data) // 8)
    return tuple(np.ascontiguousarray(transposed.T).view("<f8").ravel().tolist())
