"""The loops of the fused CPU kernel, compiled by numba. Imports numba, about 0.3 s; ``fused_cpu`` does so when needed.

LLVM makes vector instructions of every loop here because each is written so that it can: no call to libm, whose exp is
eight times slower; the maximum over integers, for a floating-point maximum that must heed NaN stays scalar; additions
that may be reordered apart from the exponentials, which may not; unsigned indices, for signed ones may count from the
end. All in one file, for numba looks at no other to see whether what it compiled before is still good.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.polynomial import chebyshev

__all__ = ["added_up", "default_threads", "float_rows", "half_rows", "scaled"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Taken as values without a static type: numba annotates itself in part, and not as it is used.
numba: Any = import_module("numba")
extending: Any = import_module("numba.extending")
cgutils: Any = import_module("numba.core.cgutils")
types: Any = import_module("numba.core.types")
ir: Any = import_module("llvmlite.ir")

intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = extending.intrinsic
overload: Callable[..., Callable[[Function], Function]] = extending.overload

_CHUNK = 512
"""Elements whose float32 sum is taken before it goes into float64: a few for each of the partial sums that vector
instructions keep, so that none of them grows large. As many of the next row are fetched meanwhile, no more than
memory brings in that time."""

_LINE_BYTES = 64
"""A cache line: of x86, and of all but a few ARM processors, where every other fetch is then for nothing."""

_exact: Callable[[Function], Function] = numba.njit(
    cache=True, error_model="numpy", forceinline=True, fastmath={"contract"}
)
_reordered: Callable[[Function], Function] = numba.njit(
    cache=True, error_model="numpy", forceinline=True, fastmath={"contract", "reassoc"}
)
_released: Callable[[Function], Function] = numba.njit(cache=True, error_model="numpy", nogil=True)


def _bitcast(source: Any, target: Any, llvm: Any) -> Any:
    def typed(context: Any, value: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm)

        return target(source), code

    return intrinsic(typed)


_float32_of = _bitcast(types.int32, types.float32, ir.FloatType())
_int32_of = _bitcast(types.float32, types.int32, ir.IntType(32))
_float64_of = _bitcast(types.int64, types.float64, ir.DoubleType())
_int64_of = _bitcast(types.float64, types.int64, ir.IntType(64))


def _interpolated(degree: int) -> Any:
    """Coefficients, the highest first, of the polynomial that meets exp at the Chebyshev points of |r| <= ln 2 / 2."""
    half = math.log(2) / 2
    interpolate: Any = chebyshev.chebinterpolate  # whose stub knows functions of a scalar only
    by_chebyshev = interpolate(lambda t: np.exp(t * half), degree)
    return chebyshev.cheb2poly(by_chebyshev)[::-1] / half ** np.arange(degree, -1, -1)


# exp x = 2**n exp r with n the integer nearest to x / ln 2, so that |r| <= 0.347. For exp r float32 takes a polynomial of
# degree 6, off by 0.347**7 / (7! 2**6) = 2e-9, a thirtieth of half a unit in the last place; float64, for which such
# coefficients cannot be had from float64 arithmetic, Taylor's of degree 13, off by 0.347**14 / 14! = 4e-18, a twentieth.
# float64 takes ln 2 in two parts (Cody and Waite 1980), the first with so few bits that n times it is exact; float32
# in one, which a fused multiply-add uses exactly, 2e-9 too large: n times that is a unit in the last place from n = 30
# on, and 4 at the end. Adding 1.5 x 2**23, or 2**52, puts n into the lowest bits of a floating-point number, and the
# exponent's bias added with it makes them the exponent of 2**n.
_LN2 = Decimal(2).ln()
_LN2_32 = np.float32(math.log(2))
_LOG2E32, _ROUND32 = np.float32(1 / math.log(2)), np.float32(1.5 * 2**23 + 127)
_SERIES32 = tuple(np.float32(coefficient) for coefficient in _interpolated(6))
_HIGH64 = float.fromhex("0x1.62e42feep-1")
_LOW64 = float(_LN2 - Decimal(_HIGH64))
_LOG2E64, _ROUND64 = 1 / math.log(2), 1.5 * 2.0**52 + 1023
_SERIES64 = tuple(1 / math.factorial(k) for k in range(13, -1, -1))
_TWO_TO_112, _HALF = np.float32(2.0**112), np.float32(0.5)
# From here down exp x is no normal number, and is made 0: n is -127, or -1023, and the exponent's bits are 0.
_LEAST32, _LEAST64 = np.float32(-127 * math.log(2)), -1023 * math.log(2)


@_exact
def _exponential32(x: Any) -> Any:
    x = _LEAST32 if x < _LEAST32 else x
    shifted = x * _LOG2E32 + _ROUND32
    n = shifted - _ROUND32
    r = x - n * _LN2_32
    y = _SERIES32[0]
    for k in range(1, len(_SERIES32)):
        y = y * r + _SERIES32[k]
    return y * _float32_of(np.int32(_int32_of(shifted) << np.int32(23)))


@_exact
def _exponential64(x: Any) -> Any:
    x = _LEAST64 if x < _LEAST64 else x
    shifted = x * _LOG2E64 + _ROUND64
    n = shifted - _ROUND64
    r = (x - n * _HIGH64) - n * _LOW64
    y = _SERIES64[0]
    for k in range(1, len(_SERIES64)):
        y = y * r + _SERIES64[k]
    return y * _float64_of(_int64_of(shifted) << 52)


def _exponential(x: Any) -> Any:
    """e to the ``x``, for x <= 0, and NaN for NaN.

    Within 1 unit in the last place in float64; in float32 within 1 down to e to the -20, and within 5 below.
    """
    raise NotImplementedError


@overload(_exponential, inline="always")
def _exponential_of(x: Any) -> Any:
    def of_float32(x: Any) -> Any:
        return _exponential32(x)

    def of_float64(x: Any) -> Any:
        return _exponential64(x)

    return of_float32 if x == types.float32 else of_float64


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


@intrinsic
def _write_past_cache(
    context: Any, out: Any, where: Any, source: Any, start: Any, factor: Any
) -> Any:
    """``out.flat[where:] = source.flat[start:] * factor`` for 64 bytes, at an address that 64 divides.

    Such a store fills a cache line without reading it first: a third less to move. glibc's memcpy does the same.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out_type, _, source_type, _, factor_type = signature.args
        element = context.get_value_type(factor_type)
        vector = ir.VectorType(element, 64 * 8 // factor_type.bitwidth)
        addresses = [
            builder.bitcast(
                builder.gep(context.make_array(kind)(context, builder, array).data, [index]),
                vector.as_pointer(),
            )
            for kind, array, index in (
                (out_type, arguments[0], arguments[1]),
                (source_type, arguments[2], arguments[3]),
            )
        ]
        factors = ir.Constant(vector, ir.Undefined)
        for lane in range(vector.count):
            lane_number = ir.Constant(ir.IntType(32), lane)
            factors = builder.insert_element(factors, arguments[4], lane_number)
        loaded = builder.load(addresses[1], align=factor_type.bitwidth // 8)
        stored = builder.store(builder.fmul(loaded, factors), addresses[0], align=64)
        once = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        stored.set_metadata("nontemporal", once)
        return context.get_dummy_value()

    return types.void(out, types.intp, source, types.intp, factor), code


@intrinsic
def _fetch(context: Any, array: Any, where: Any) -> Any:
    """Has the cache line of ``array.flat[where]`` brought to the second-level cache."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        memory = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        number = ir.IntType(32)
        address = builder.bitcast(builder.gep(memory, [arguments[1]]), cgutils.voidptr_t)
        prefetch = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number]),
            "llvm.prefetch.p0",
        )
        to_read, second_level, data = (ir.Constant(number, value) for value in (0, 2, 1))
        builder.call(prefetch, [address, to_read, second_level, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), code


# Rows are named by array and number, not sliced: each slice would count a reference up and down, atomically.


@_exact
def _largest(bits: Any, i: Any) -> Any:
    """The largest of the floats that have the bits of row ``i``.

    Of a row with a NaN it may be any of them: the sum will be NaN. Integers order floats that are not negative as
    their values do, and negative ones the other way round.
    """
    largest = bits[i, 0]
    for j in range(bits.shape[1]):
        largest = max(largest, bits[i, j])
    if largest >= 0:
        return _float_of(largest)
    smallest = bits[i, 0]
    for j in range(bits.shape[1]):
        smallest = min(smallest, bits[i, j])
    return _float_of(smallest)


@_reordered
def _exponentials(x: Any, i: Any, start: Any, stop: Any, peak: Any, out: Any, o: Any) -> Any:
    total = out.dtype.type(0)
    for j in range(np.uintp(start), np.uintp(stop)):
        e = _exponential(x[i, j] - peak)
        out[o, j] = e
        total += e
    return total


@_exact
def _row(x: Any, bits: Any, i: Any, out: Any, o: Any, fetched: Any) -> Any:
    """The largest of row ``i``, and the sum of the exponentials taken from there, which are left in row ``o`` of ``out``.

    Meanwhile row ``fetched`` is brought nearer, unless that is -1.
    """
    peak = _largest(bits, i)
    total = 0.0
    start = 0
    while start < x.shape[1]:
        stop = min(start + _CHUNK, x.shape[1])
        if fetched >= 0:
            j = start
            while j < stop:
                _fetch(x, fetched * x.shape[1] + j)
                j += _LINE_BYTES // x.itemsize
        total += _exponentials(x, i, start, stop, peak, out, o)
        start = stop
    return peak, total


@_exact
def _multiply(values: Any, i: Any, factor: Any) -> None:
    for j in range(values.shape[1]):
        values[i, j] *= factor


@_exact
def _multiply_past_cache(source: Any, out: Any, i: Any, factor: Any) -> None:
    """Row ``i`` of ``out`` becomes the one row of ``source`` times ``factor``."""
    classes = out.shape[1]
    width = 64 // out.itemsize
    first = i * classes
    before = min(-(out.ctypes.data // out.itemsize + first) % width, classes)
    for j in range(before):
        out[i, j] = source[0, j] * factor
    j = before
    while j + width <= classes:
        _write_past_cache(out, first + j, source, j, factor)
        j += width
    for k in range(j, classes):
        out[i, k] = source[0, k] * factor


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
    by. ``is_streaming``: the gradient goes past the caches.
    """
    bad = -1
    is_direct = gradient is not None and not is_streaming
    meanwhile = np.empty((1, 1 if is_direct else x.shape[1]), x.dtype)
    for i in range(first, last):
        label = labels[i]
        if has_ignore_index and label == ignore_index:
            losses[i] = 0.0
            if gradient is not None:
                gradient[i, :] = 0.0
            continue
        if label < 0 or label >= x.shape[1]:
            bad = i if bad < 0 else bad
            losses[i] = math.nan
            if gradient is not None:
                gradient[i, :] = math.nan
            continue
        ahead = i + 1 if i + 1 < last else -1
        target = x[i, label]
        if gradient is None:
            peak, total = _row(x, bits, i, meanwhile, 0, ahead)
        elif is_streaming:
            peak, total = _row(x, bits, i, meanwhile, 0, ahead)
            _multiply_past_cache(meanwhile, gradient, i, x.dtype.type(scale / total))
            gradient[i, label] -= scale
        else:
            peak, total = _row(x, bits, i, gradient, i, ahead)
            _multiply(gradient, i, x.dtype.type(scale / total))
            gradient[i, label] -= scale
        # Not (log(total) + peak) - target: under a common offset of 1e8 that has no digit left.
        losses[i] = math.log(total) - (target - peak)
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
        for j in range(wide.shape[1]):
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
        for j in range(wide.shape[1]):
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
    out_bits = np.empty((1, x.shape[1]), np.int32)
    row = row_bits.view(np.float32)
    out = out_bits.view(np.float32)
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
            peak, total = _row(row, row_bits, 0, out, 0, -1)
            losses[i] = math.log(total) - (row[0, label] - peak)
            if gradient is not None:
                _multiply(out, 0, np.float32(scale / total))
                out[0, label] -= scale
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
