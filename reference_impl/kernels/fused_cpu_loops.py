"""The loops of the fused CPU kernel, compiled by numba. Imports numba, about 0.3 s; ``fused_cpu`` does so when needed.

The sweeps over a row are written in ``lanes``. Plain loops are those that LLVM vectorises as well: over integers, without a
call to libm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from reference_impl.kernels.lanes import (
    LANES_BYTES,
    LINE_BYTES,
    address_of,
    at_least,
    fetch,
    filled,
    largest_lane,
    load,
    load_first,
    minus_infinity,
    power_of_two,
    size_of,
    smallest_lane,
    store,
    store_first,
    store_lines_past_cache,
    store_past_cache,
    sum_of_lanes,
    zero,
)

__all__ = ["added_up", "default_threads", "float_rows", "half_rows", "scaled"]

LANES_DIGEST = "7ac3d51f57a7a21b"
"""Of the text of ``lanes.py``. numba keeps what it compiled until this file changes, and looks at no other: a test sees to it
that this one changes with that."""

Function = TypeVar("Function", bound=Callable[..., Any])

# Taken as values without a static type: numba annotates itself in part, and not as it is used.
numba: Any = import_module("numba")
extending: Any = import_module("numba.extending")
types: Any = import_module("numba.core.types")
ir: Any = import_module("llvmlite.ir")

overload: Callable[..., Callable[[Function], Function]] = extending.overload

_CHUNK = 512
"""Elements whose float32 sum is taken before it goes into float64: a few for each lane, so that none grows large."""

_LEAD_BYTES = 2048
"""The logits that are brought nearer lie this much further on than a row. At four bytes in 0.25 ns it is 130 ns: with less,
the last of a row, which are wanted as soon as the next begins, would not have come from memory."""

_PAGE_BYTES = 4096
"""A load waits for an earlier store that is not done when their addresses differ by a multiple of this: at first only the
lowest bits are compared. A store past the caches takes long."""

_exact: Callable[[Function], Function] = numba.njit(
    cache=True, error_model="numpy", forceinline=True, fastmath={"contract"}
)
_released: Callable[[Function], Function] = numba.njit(cache=True, error_model="numpy", nogil=True)


def _bitcast(source: Any, target: Any, llvm: Any) -> Any:
    def typed(context: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm)

        return target(source), code

    return extending.intrinsic(typed)


_float32_of = _bitcast(types.int32, types.float32, ir.FloatType())
_int32_of = _bitcast(types.float32, types.int32, ir.IntType(32))
_float64_of = _bitcast(types.int64, types.float64, ir.DoubleType())


def _series32() -> Any:
    """Coefficients, the highest first, of a polynomial 1 + r + r**2 (cubic in r) near exp r for |r| <= ln 2 / 2.

    It meets exp at 0 twice and at four more points: the zeros of the Chebyshev polynomial T3 of r**2, stretched so that its
    last zero lies at r = 0. No other six such points keep the product of the distances from them as small.
    """
    zeros = np.cos(math.pi * (np.arange(3) + 0.5) / 3)
    squares = (zeros[:2] - zeros[2]) / (1 - zeros[2])
    points = math.log(2) / 2 * np.sqrt(squares) * np.array([[1], [-1]])
    r = points.ravel()
    cubic = np.polyfit(r, (np.expm1(r) - r) / r**2, 3)
    return tuple(np.float32(coefficient) for coefficient in (*cubic, 1, 1))


# exp x = 2**n exp r with n the integer nearest to x / ln 2, so that |r| <= 0.347. For exp r float32 takes a polynomial of
# degree 5, off by 1.25e-7 at most, two half-units in the last place: as much as the tolerances of this project grant an
# elementary function. It is 1 at 0, so that a row's largest exponential is, and a row of one class has loss 0. float64, for
# which such coefficients cannot be had from float64 arithmetic, takes Taylor's of degree 13, off by 0.347**14 / 14! = 4e-18,
# a twentieth of a unit.
# float64 takes ln 2 in two parts (Cody and Waite 1980), the first with so few bits that n times it is exact; float32
# in one, which a fused multiply-add uses exactly, 2e-9 too large: n times that is a unit in the last place from n = 30
# on, and 4 at the end. Adding 1.5 x 2**23, or 2**52, puts n into the lowest bits of a floating-point number, and the
# exponent's bias added with it makes them the exponent of 2**n.
_LN2 = Decimal(2).ln()
_LN2_32 = np.float32(math.log(2))
_LOG2E32, _ROUND32 = np.float32(1 / math.log(2)), np.float32(1.5 * 2**23 + 127)
_SERIES32 = _series32()
_HIGH64 = float.fromhex("0x1.62e42feep-1")
_LOW64 = float(_LN2 - Decimal(_HIGH64))
_LOG2E64, _ROUND64 = 1 / math.log(2), 1.5 * 2.0**52 + 1023
_SERIES64 = tuple(1 / math.factorial(k) for k in range(13, -1, -1))
_TWO_TO_112, _HALF = np.float32(2.0**112), np.float32(0.5)
# From here down exp x is no normal number, and is made 0: n is -127, or -1023, and the exponent's bits are 0.
_LEAST32, _LEAST64 = np.float32(-127 * math.log(2)), -1023 * math.log(2)


@_exact
def _exponential32(x: Any) -> Any:
    x = at_least(x, _LEAST32)
    shifted = x * _LOG2E32 + _ROUND32
    n = shifted - _ROUND32
    r = x - n * _LN2_32
    y = r * _SERIES32[0] + _SERIES32[1]
    for k in range(2, len(_SERIES32)):
        y = y * r + _SERIES32[k]
    return y * power_of_two(shifted)


@_exact
def _exponential64(x: Any) -> Any:
    x = at_least(x, _LEAST64)
    shifted = x * _LOG2E64 + _ROUND64
    n = shifted - _ROUND64
    r = (x - n * _HIGH64) - n * _LOW64
    y = r * _SERIES64[0] + _SERIES64[1]
    for k in range(2, len(_SERIES64)):
        y = y * r + _SERIES64[k]
    return y * power_of_two(shifted)


def _exponential(x: Any) -> Any:
    """e to the lanes ``x``, for x <= 0, and NaN for NaN.

    Within 1 unit in the last place in float64; in float32 within 2.5 down to e to the -20, and within 4 below.
    """
    raise NotImplementedError


@overload(_exponential, inline="always")
def _exponential_of(x: Any) -> Any:
    def of_float32(x: Any) -> Any:
        return _exponential32(x)

    def of_float64(x: Any) -> Any:
        return _exponential64(x)

    return of_float32 if x.element == types.float32 else of_float64


def _float_of(bits: Any) -> Any:
    """The float that has these bits."""
    raise NotImplementedError


@overload(_float_of, inline="always")
def _float_of_bits(bits: Any) -> Any:
    def of_int32(bits: Any) -> Any:
        return _float32_of(bits)

    def of_int64(bits: Any) -> Any:
        return _float64_of(bits)

    return of_int32 if bits == types.int32 else of_int64


@_exact
def _elements(row: Any, j: Any, classes: Any, otherwise: Any) -> Any:
    """The elements from ``j`` on of the ``classes`` at address ``row``; beyond the last, ``otherwise``."""
    size = size_of(otherwise)
    if j + LANES_BYTES // size <= classes:
        return load(row + j * size, otherwise)
    return load_first(row + j * size, classes - j, otherwise)


@_exact
def _largest(bits: Any, i: Any) -> Any:
    """The largest of the floats that have the bits of row ``i``.

    Of a row with a NaN it may be any of them: the sum will be NaN. Integers order floats that are not negative as
    their values do, and negative ones the other way round.
    """
    classes = bits.shape[1]
    row, one = address_of(bits, i * classes), bits[i, 0]
    size = size_of(one)
    count = LANES_BYTES // size
    whole = classes - classes % count
    most = filled(one)
    for j in range(0, whole, count):
        most = max(most, load(row + j * size, one))
    if whole < classes:
        most = max(most, load_first(row + whole * size, classes - whole, one))
    if largest_lane(most) >= 0:
        return _float_of(largest_lane(most))
    least = filled(one)
    for j in range(0, classes, count):
        least = min(least, _elements(row, j, classes, one))
    return _float_of(smallest_lane(least))


# A row of the gradient is put where it belongs in three parts: its head up to the first whole cache line, lanes from there
# on, its tail. Past the caches go whole lines only; of half a line the rest would be read from memory first. The line that
# the tail shares with the next row's head therefore waits in ``line``, the address of one, for the head.


@_exact
def _put_head(
    kept: Any, out: Any, written: Any, line: Any, classes: Any, factor: Any, is_streaming: Any
) -> Any:
    """Puts ``factor`` times what is at ``kept`` into the head of the row at ``out``; returns how many elements that is.

    ``written``: the address of the row put before, whose tail waits; or 0. Of a short row there is no head: one such
    store costs as much as several across two lines.
    """
    size = size_of(factor)
    before = min(-(out // size) % (LINE_BYTES // size), classes)
    values = load(kept, factor) * factor
    if not is_streaming:
        if before == 0 or classes * size <= 4 * LANES_BYTES:
            return 0
        store_first(out, before, values)
    elif written + classes * size == out:
        waiting = LINE_BYTES - before * size
        store_first(line + waiting, before, values)
        store_lines_past_cache(out - waiting, min(before, 1), load(line, factor))
    else:
        store_first(out, before, values)
        _put_tail(line, written, classes, factor)
    return before


@_exact
def _put_lanes(kept: Any, out: Any, j: Any, classes: Any, factor: Any, is_streaming: Any) -> None:
    """Puts lanes from element ``j`` on; at the end of the row, as many as there are, or as make whole lines."""
    size = size_of(factor)
    left = classes - j
    values = load(kept + j * size, factor) * factor
    if left >= LANES_BYTES // size:
        if is_streaming:
            store_past_cache(out + j * size, values)
        else:
            store(out + j * size, values)
    elif is_streaming:
        store_lines_past_cache(out + j * size, left * size // LINE_BYTES, values)
    elif left > 0:
        store_first(out + j * size, left, values)


@_exact
def _keep_tail(kept: Any, out: Any, line: Any, classes: Any, factor: Any) -> None:
    """Leaves the tail of the row at ``out`` in ``line``."""
    size = size_of(factor)
    after = (out + classes * size) % LINE_BYTES // size
    store(line, load(kept + (classes - after) * size, factor) * factor)


@_exact
def _put_tail(line: Any, out: Any, classes: Any, factor: Any) -> None:
    """Puts the tail of the row at ``out``, unless that is 0, without a head that follows."""
    size = size_of(factor)
    after = (out + classes * size) % LINE_BYTES // size
    if out != 0:
        store_first(out + (classes - after) * size, after, load(line, factor))


@_exact
def _first_lanes(row: Any, out: Any, number: Any) -> Any:
    """With which of ``number`` lanes to begin, for what is stored to lie three quarters of a page ahead of what is loaded.

    The loads are then long past when a store takes effect, and half a page is left until they come to its like.
    """
    k = (row + 3 * _PAGE_BYTES // 4 - out) % _PAGE_BYTES // LANES_BYTES
    return k if k < number else 0


@_exact
def _row(
    x: Any,
    i: Any,
    peak: Any,
    kept: Any,
    own: Any,
    previous: Any,
    out: Any,
    written: Any,
    factor: Any,
    is_streaming: Any,
) -> Any:
    """The sum of the exponentials of row ``i`` less ``peak``, which are left at ``kept.flat[own:]``.

    Meanwhile the next row is brought nearer, and the row at address ``out``, unless that is 0, becomes ``factor`` times
    the one at ``kept.flat[previous:]``: the memory is at work while the processor calculates.
    """
    classes, size = x.shape[1], size_of(peak)
    count = LANES_BYTES // size
    row, ahead = address_of(x, i * classes), address_of(x, (i + 1) * classes) + _LEAD_BYTES
    exponentials, ready = address_of(kept, own), address_of(kept, previous)
    line = _line(kept, peak)
    before, number, k = 0, 0, 0
    if out != 0:
        before = _put_head(ready, out, written, line, classes, factor, is_streaming)
        number = -(-(classes - before) // count)
        k = _first_lanes(row, out + before * size, number) if is_streaming else 0
    end = k + number
    total = 0.0
    for start in range(0, classes, _CHUNK):
        sums = filled(zero(peak))
        for j in range(start, min(start + _CHUNK, classes), count):
            for fetched in range(0, LANES_BYTES, LINE_BYTES):
                fetch(ahead + j * size + fetched)
            lanes = _exponential(_elements(row, j, classes, minus_infinity(peak)) - peak)
            store(exponentials + j * size, lanes)
            sums = sums + lanes
            if k < end:
                place = before + (k if k < number else k - number) * count
                _put_lanes(ready, out, place, classes, factor, is_streaming)
                k += 1
        total += sum_of_lanes(sums)
    if out != 0 and is_streaming:
        _keep_tail(ready, out, line, classes, factor)
    return total


@_exact
def _last_row(
    kept: Any,
    previous: Any,
    out: Any,
    written: Any,
    classes: Any,
    factor: Any,
    is_streaming: Any,
) -> None:
    """As ``_row``, of which there is none left, does with ``out``."""
    ready, line = address_of(kept, previous), _line(kept, factor)
    before = _put_head(ready, out, written, line, classes, factor, is_streaming)
    for j in range(before, classes, LANES_BYTES // size_of(factor)):
        _put_lanes(ready, out, j, classes, factor, is_streaming)
    if is_streaming:
        _keep_tail(ready, out, line, classes, factor)
        _put_tail(line, out, classes, factor)


@_exact
def _line(kept: Any, like: Any) -> Any:
    """The address of the lanes at the end of ``kept``."""
    return address_of(kept, kept.size - LANES_BYTES // size_of(like))


@_exact
def _multiply(values: Any, i: Any, factor: Any) -> None:
    for j in range(values.shape[1]):
        values[i, j] *= factor


@_exact
def _fill(losses: Any, gradient: Any, i: Any, value: Any) -> None:
    losses[i] = value
    if gradient is not None:
        gradient[i, :] = value


@_released
def float_rows(
    x: Any,
    bits: Any,
    labels: Any,
    losses: Any,
    gradient: Any,
    first: Any,
    last: Any,
    scale: Any,
    has_ignore_index: Any,
    ignore_index: Any,
    is_streaming: Any,
) -> Any:
    """Losses and gradient of rows ``first`` to ``last`` of float32 or float64 logits; the first bad row, or -1.

    ``bits``: the logits as integers. ``gradient``: like the logits, or None. ``scale``: what the gradient is multiplied
    by. ``is_streaming``: the gradient goes past the caches; it must be aligned, in rows of a cache line at least.
    """
    bad = -1
    classes = x.shape[1]
    factor = x.dtype.type(0)
    # Exponentials of two rows: while those of one are found, the gradient of the other is written. Half a page apart, with
    # room for the lanes beyond the last class; and a line.
    page = _PAGE_BYTES // size_of(factor)
    own, previous = 0, -(-classes // page) * page + page // 2
    kept = np.empty(2 * previous + page, x.dtype)
    out, written = 0, 0
    for i in range(first, last):
        label = labels[i]
        if has_ignore_index and label == ignore_index:
            _fill(losses, gradient, i, 0.0)
        elif label < 0 or label >= classes:
            bad = i if bad < 0 else bad
            _fill(losses, gradient, i, math.nan)
        else:
            target, peak = x[i, label], _largest(bits, i)
            total = _row(x, i, peak, kept, own, previous, out, written, factor, is_streaming)
            # Not (log(total) + peak) - target: under a common offset of 1e8 that has no digit left.
            losses[i] = math.log(total) - (target - peak)
            if gradient is not None:
                # Times factor it is scale * (p - 1). Here it is at hand; in the gradient it would have to be read again.
                kept[own + label] -= total
                factor = x.dtype.type(scale / total)
                own, previous = previous, own
                out, written = address_of(gradient, i * classes), out
    if gradient is not None and out != 0:
        _last_row(kept, previous, out, written, classes, factor, is_streaming)
    return bad


@_exact
def _widen(narrow: Any, i: Any, wide: Any, is_half: Any) -> None:
    """The float32 values, as int32, of row ``i`` of 16-bit numbers: float16, or else bfloat16."""
    if is_half:
        for j in range(narrow.shape[1]):
            h = np.int32(narrow[i, j])
            # The exponent comes out 112 too small, which a multiplication sets right for subnormals as well; what was
            # infinite or NaN is so again with all bits of the exponent set.
            size = np.int32((h & np.int32(0x7FFF)) << np.int32(13))
            scaled_up = _int32_of(_float32_of(size) * _TWO_TO_112)
            special = size >= np.int32(0x0F800000)
            value = (size | np.int32(0x7F800000)) if special else scaled_up
            wide[0, j] = value | np.int32((h & np.int32(0x8000)) << np.int32(16))
    else:
        for j in range(narrow.shape[1]):
            wide[0, j] = np.int32(np.int32(narrow[i, j]) << np.int32(16))


@_exact
def _narrow(wide: Any, narrow: Any, i: Any, is_half: Any) -> None:
    """Row ``i`` of 16-bit numbers: those nearest to the float32 values in ``wide``, ties to even."""
    if is_half:
        for j in range(narrow.shape[1]):
            size = wide[0, j] & np.int32(0x7FFFFFFF)
            sign = (wide[0, j] >> np.int32(16)) & np.int32(0x8000)
            # Adding 0.5 leaves the value in units of 2**-24, the subnormals' own, in the lowest bits.
            small = _int32_of(_float32_of(size) + _HALF) - np.int32(0x3F000000)
            odd = (size >> np.int32(13)) & np.int32(1)
            normal = (size - np.int32(112 << 23) + np.int32(0xFFF) + odd) >> np.int32(13)
            value = small if size < np.int32(0x38800000) else normal  # 2**-14
            value = np.int32(0x7C00) if size >= np.int32(0x477FF000) else value  # 65520
            value = np.int32(0x7E00) if size > np.int32(0x7F800000) else value  # NaN
            narrow[i, j] = np.uint16(value | sign)
    else:
        for j in range(narrow.shape[1]):
            odd = (wide[0, j] >> np.int32(16)) & np.int32(1)
            rounded = (wide[0, j] + np.int32(0x7FFF) + odd) >> np.int32(16)
            is_nan = (wide[0, j] & np.int32(0x7FFFFFFF)) > np.int32(0x7F800000)
            narrow[i, j] = np.uint16(np.int32(0x7FC0) if is_nan else rounded)


@_released
def half_rows(
    x: Any,
    is_half: Any,
    labels: Any,
    losses: Any,
    gradient: Any,
    first: Any,
    last: Any,
    scale: Any,
    has_ignore_index: Any,
    ignore_index: Any,
) -> Any:
    """As ``float_rows``, for 16-bit logits given as uint16: float16 if ``is_half``, else bfloat16.

    Each row is computed in float32, in memory of its own.
    """
    bad = -1
    row_bits = np.empty((1, x.shape[1]), np.int32)
    row = row_bits.view(np.float32)
    # With room for the lanes beyond the last class.
    out = np.empty((1, x.shape[1] + LANES_BYTES // 4), np.float32)
    out_bits = out.view(np.int32)
    for i in range(first, last):
        label = labels[i]
        if has_ignore_index and label == ignore_index:
            losses[i] = 0.0
            out[0, :] = 0.0
        elif label < 0 or label >= x.shape[1]:
            bad = i if bad < 0 else bad
            losses[i] = math.nan
            out[0, :] = math.nan
        else:
            _widen(x, i, row_bits, is_half)
            peak = _largest(row_bits, 0)
            total = _row(row, 0, peak, out, 0, 0, 0, 0, peak, False)
            losses[i] = math.log(total) - (row[0, label] - peak)
            if gradient is not None:
                out[0, label] -= total
                _multiply(out, 0, np.float32(scale / total))
        if gradient is not None:
            _narrow(out_bits, gradient, i, is_half)
    return bad


@_released
def added_up(losses: Any) -> float:
    """The sum in float64, in index order: the same for every number of threads."""
    total = 0.0
    for i in range(losses.size):
        total += losses[i]
    return total


@_released
def scaled(values: Any, first: Any, last: Any, factor: Any) -> None:
    """Multiplies rows ``first`` to ``last``, leaving zeros as they are whatever ``factor`` is."""
    for i in range(first, last):
        if math.isfinite(factor):
            _multiply(values, i, values.dtype.type(factor))
        else:
            for j in range(values.shape[1]):
                values[i, j] = values[i, j] * factor if values[i, j] != 0.0 else values[i, j]


def default_threads() -> int:
    """NUMBA_NUM_THREADS, or the processors given to this process."""
    return int(numba.config.NUMBA_NUM_THREADS)
