"""How far an output may be from the float64 truth, derived from its dtype and the length of its sums.

Derivation, with ``u`` the unit roundoff of the accumulation dtype (half an ulp of 1), ``n`` the reduction
length and ``S`` the scale of the terms::

    |observed - expected|  <=  u (4 + log2 n) S  +  4 u |expected|  [ + u_storage |expected| ]  +  underflow

* ``log2 n``: a pairwise sum of n terms adds at most ``log2 n`` roundings to each term (Higham, Accuracy and
  Stability of Numerical Algorithms, 2002, section 4.2). A serial float32 sum of thousands of terms does not
  keep this bound, and is meant to be caught.
* the first ``4``: per term one subtraction, one elementary function good to 1 ulp (two half-ulps), one
  product or quotient.
* the second ``4``: the same handful of operations on the reduced value itself.
* ``u_storage``: the one rounding of the result to an output dtype narrower than the accumulation.
* underflow: the smallest normal of the accumulation dtype, since devices may flush subnormals to zero, and
  half the smallest subnormal of the output dtype, since that is where its relative precision ends.

Errors are not worst cases that line up: correct NumPy implementations of softmax cross-entropy from
(1, 5) to (4096, 32000), with logits up to a spread of 100 and an offset of 1e4, use at most half of it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import WorkloadError
from harness.numerics.float_format import FLOAT_FORMATS, INTEGER_DTYPES

__all__ = ["Tolerance"]

_TERM_ROUNDINGS = 4
"""Half-ulps each term carries before it is summed; derived above."""

_RESULT_ROUNDINGS = 4
"""Half-ulps of the operations on the reduced value; derived above."""

_DERIVED_KEYS = ("dtype", "accumulate", "reduction_length", "scale")
_EXPLICIT_KEYS = ("relative", "absolute", "because", "dtype")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """An entry may differ by ``absolute + relative * |expected|``, and why so much.

    ``dtype`` is the storage dtype the output must have, ``None`` when any dtype of the right kind will do.
    """

    absolute: float
    relative: float
    because: str
    dtype: str | None = None

    @classmethod
    def from_plain(cls, plain: Mapping[str, object], *, output: str) -> Tolerance:
        """Read one entry of a case's ``tolerances``; ``output`` is its name, for messages.

        Either derived: ``{"dtype": "float32", "reduction_length": 1000, "scale": 1.0}`` where

        * ``dtype`` is what the output is stored in; integers and bool must match exactly,
        * ``accumulate`` is what sums are kept in (default: float32 for 16-bit outputs, else ``dtype``),
        * ``reduction_length`` is how many terms enter one sum (default 1: an elementwise output),
        * ``scale`` is the size of the largest terms before they cancel (default 1): 1 for a loss, 1/N for
          the gradient of a mean over N rows, whose label entries are ``(p - 1)/N`` however small they end up.

        Or explicit: ``{"relative": 1e-6, "absolute": 0.0, "because": "..."}``, with an optional ``dtype``.
        Raises ``WorkloadError`` naming the output and the key.
        """
        if "relative" in plain or "absolute" in plain:
            return _explicit(plain, output)
        if "dtype" not in plain:
            given = "".join(f"{key!r}, " for key in plain)
            raise WorkloadError(
                f"tolerance of output {output!r} gives {given}no dtype; add 'dtype' for a derived tolerance, "
                f"or 'relative', 'absolute' and 'because' for an explicit one"
            )
        return _derived(plain, output)


def _explicit(plain: Mapping[str, object], output: str) -> Tolerance:
    _refuse_unknown(plain, _EXPLICIT_KEYS, output)
    because = plain.get("because")
    if not isinstance(because, str) or not because.strip():
        raise WorkloadError(
            f"explicit tolerance of output {output!r} gives no reason; add because='...'"
        )
    dtype = _dtype(plain, "dtype", output) if "dtype" in plain else None
    return Tolerance(
        absolute=_number(plain, "absolute", output),
        relative=_number(plain, "relative", output),
        because=because,
        dtype=dtype,
    )


def _derived(plain: Mapping[str, object], output: str) -> Tolerance:
    _refuse_unknown(plain, _DERIVED_KEYS, output)
    dtype = _dtype(plain, "dtype", output)
    length = plain.get("reduction_length", 1)
    if isinstance(length, bool) or not isinstance(length, int) or length < 1:
        raise WorkloadError(
            f"tolerance of output {output!r} gives reduction_length {length!r}; give a whole number of at least 1"
        )
    scale = _number(plain, "scale", output) if "scale" in plain else 1.0
    if dtype in INTEGER_DTYPES:
        return Tolerance(absolute=0.0, relative=0.0, because=f"{dtype} is exact", dtype=dtype)
    accumulate = _accumulation_dtype(plain, dtype, output)
    storage, wide = FLOAT_FORMATS[dtype], FLOAT_FORMATS[accumulate]
    roundings = _TERM_ROUNDINGS + math.log2(length)
    narrowing = storage.unit_roundoff if storage.precision < wide.precision else 0.0
    underflow = wide.smallest_normal + storage.smallest_subnormal / 2
    because = (
        f"{roundings:.1f} half-ulps of {accumulate} (4 + log2 of {length:,} summed terms) at scale {scale:.3g}, "
        f"and {_RESULT_ROUNDINGS} of the value"
    )
    if narrowing:
        because += f", and its rounding to {dtype}"
    return Tolerance(
        absolute=wide.unit_roundoff * roundings * scale + underflow,
        relative=wide.unit_roundoff * _RESULT_ROUNDINGS + narrowing,
        because=because,
        dtype=dtype,
    )


def _accumulation_dtype(plain: Mapping[str, object], dtype: str, output: str) -> str:
    storage = FLOAT_FORMATS[dtype]
    if "accumulate" not in plain:
        return dtype if storage.precision >= FLOAT_FORMATS["float32"].precision else "float32"
    accumulate = _dtype(plain, "accumulate", output)
    if accumulate in INTEGER_DTYPES or FLOAT_FORMATS[accumulate].precision < storage.precision:
        raise WorkloadError(
            f"tolerance of output {output!r} accumulates in {accumulate}, which is narrower than its dtype "
            f"{dtype}; name the dtype the sums are kept in"
        )
    return accumulate


def _dtype(plain: Mapping[str, object], key: str, output: str) -> str:
    value = plain[key]
    if isinstance(value, str) and (value in FLOAT_FORMATS or value in INTEGER_DTYPES):
        return value
    known = ", ".join([*FLOAT_FORMATS, "an integer dtype or bool"])
    raise WorkloadError(
        f"tolerance of output {output!r} gives {key} {value!r}; name one of {known}"
    )


def _number(plain: Mapping[str, object], key: str, output: str) -> float:
    value = plain.get(key)
    in_range = isinstance(value, int | float) and 0 <= value <= sys.float_info.max
    if isinstance(value, bool) or not isinstance(value, int | float) or not in_range:
        raise WorkloadError(
            f"tolerance of output {output!r} gives {key} {value!r}; give a finite number of at least 0"
        )
    return float(value)


def _refuse_unknown(plain: Mapping[str, object], known: tuple[str, ...], output: str) -> None:
    for key in plain:
        if key not in known:
            raise WorkloadError(
                f"tolerance of output {output!r} gives key {key!r}, which means nothing beside "
                f"its other keys; use {', '.join(known)}"
            )
