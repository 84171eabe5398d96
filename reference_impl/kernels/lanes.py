"""Vectors for numba: lanes that LLVM puts into as many registers as they take, on any processor.

For the loops of ``fused_cpu_loops``, which are written in them. LLVM vectorises plain loops too, but each time one begins it
asks whether arrays overlap, and each time one ends it adds the lanes up and does what is left over one by one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

__all__ = [
    "LANES_BYTES",
    "LINE_BYTES",
    "Lanes",
    "address_of",
    "at_least",
    "fetch",
    "filled",
    "largest_lane",
    "load",
    "load_first",
    "minus_infinity",
    "power_of_two",
    "size_of",
    "smallest_lane",
    "store",
    "store_first",
    "store_lines_past_cache",
    "store_past_cache",
    "sum_of_lanes",
    "zero",
]

Function = TypeVar("Function", bound=Callable[..., Any])

# Taken as values without a static type: numba annotates itself in part, and not as it is used.
extending: Any = import_module("numba.extending")
cgutils: Any = import_module("numba.core.cgutils")
models: Any = import_module("numba.core.datamodel.models")
types: Any = import_module("numba.core.types")
ir: Any = import_module("llvmlite.ir")
binding: Any = import_module("llvmlite.binding")

intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = extending.intrinsic
overload: Callable[..., Callable[[Function], Function]] = extending.overload

LINE_BYTES = 64
"""A cache line: of x86, and of all but a few ARM processors, where every other fetch is then for nothing."""

LANES_BYTES = 256 if binding.get_host_cpu_features().get("avx512f") else 128
"""Four registers of 64 or 32 bytes: a chain of dependent instructions in each, for one result takes four cycles and two
can be begun in each. Eight would not leave room among 16 registers for what the chains need."""


class Lanes(types.Type):  # type: ignore[misc]  # numba's classes have no static types
    """As many numbers as ``LANES_BYTES`` hold, in vector registers."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.count = LANES_BYTES * 8 // element.bitwidth
        super().__init__(name=f"{self.count} lanes of {element}")


@extending.register_model(Lanes)
class _Model(models.PrimitiveModel):  # type: ignore[misc]  # numba's classes have no static types
    def __init__(self, manager: Any, kind: Any) -> None:
        element = manager.lookup(kind.element).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.count))


_INT32 = ir.IntType(32)


def _integers(values: Any) -> Any:
    return ir.Constant(ir.VectorType(_INT32, len(values)), list(values))


def _spread(builder: Any, value: Any, count: int) -> Any:
    """``value`` in each of ``count`` lanes."""
    nothing = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    first = builder.insert_element(nothing, value, _INT32(0))
    return builder.shuffle_vector(first, nothing, _integers([0] * count))


def _lanewise(operation: Any, build: Callable[..., Any]) -> None:
    """Has ``operation`` do for lanes, and for lanes and one number, what ``build`` makes of two vectors."""

    def typed(context: Any, left: Any, right: Any) -> Any:
        lanes = left if isinstance(left, Lanes) else right

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vectors = (
                value if isinstance(kind, Lanes) else _spread(builder, value, lanes.count)
                for kind, value in zip(signature.args, arguments, strict=True)
            )
            return build(builder, *vectors)

        return lanes(left, right), code

    instruction = intrinsic(typed)

    @overload(operation, inline="always")
    def of_lanes(left: Any, right: Any) -> Any:
        def of_both(left: Any, right: Any) -> Any:
            return instruction(left, right)

        return of_both if isinstance(left, Lanes) or isinstance(right, Lanes) else None


def _larger(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.icmp_signed(">", left, right), left, right)


def _smaller(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.icmp_signed("<", left, right), left, right)


def at_least(x: Any, least: Any) -> Any:
    """``x``, or ``least`` where that is larger. NaN stays."""
    raise NotImplementedError


# "contract": a product that is added may be rounded once, with the sum.
_lanewise(operator.add, lambda builder, x, y: builder.fadd(x, y, flags=("contract",)))
_lanewise(operator.sub, lambda builder, x, y: builder.fsub(x, y, flags=("contract",)))
_lanewise(operator.mul, lambda builder, x, y: builder.fmul(x, y, flags=("contract",)))
_lanewise(max, _larger)
_lanewise(min, _smaller)
_lanewise(at_least, lambda builder, x, y: builder.select(builder.fcmp_ordered("<", x, y), y, x))


def _across(build: Callable[..., Any]) -> Any:
    """What remains of lanes when ``build`` makes one vector of two halves until there is one number."""

    def typed(context: Any, lanes: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value, count = arguments[0], lanes.count
            while count > 1:
                count //= 2
                low, high = _integers(range(count)), _integers(range(count, 2 * count))
                value = build(
                    builder,
                    builder.shuffle_vector(value, value, low),
                    builder.shuffle_vector(value, value, high),
                )
            return builder.extract_element(value, _INT32(0))

        return lanes.element(lanes), code

    return intrinsic(typed)


sum_of_lanes = _across(lambda builder, low, high: builder.fadd(low, high))
largest_lane = _across(_larger)
smallest_lane = _across(_smaller)


@intrinsic
def filled(context: Any, value: Any) -> Any:
    """Lanes of ``value``."""
    lanes = Lanes(value)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _spread(builder, arguments[0], lanes.count)

    return lanes(value), code


@intrinsic
def power_of_two(context: Any, shifted: Any) -> Any:
    """The numbers that have the lowest bits of ``shifted`` for their exponents'."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width, mantissa = {32: (32, 23), 64: (64, 52)}[shifted.element.bitwidth]
        integer = ir.IntType(width)
        bits = builder.bitcast(arguments[0], ir.VectorType(integer, shifted.count))
        moved = builder.shl(bits, _spread(builder, integer(mantissa), shifted.count))
        return builder.bitcast(moved, context.get_value_type(shifted))

    return shifted(shifted), code


@intrinsic
def address_of(context: Any, array: Any, where: Any) -> Any:
    """Of ``array.flat[where]``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.ptrtoint(
            builder.gep(data, [arguments[1]]), context.get_value_type(types.intp)
        )

    return types.intp(array, types.intp), code


@intrinsic
def size_of(context: Any, like: Any) -> Any:
    """The bytes of such a number. Of an array's ``itemsize`` LLVM does not know that it is constant."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.intp, like.bitwidth // 8)

    return types.intp(like), code


def _constant(number: float) -> Any:
    """A function to ``number``, of the type of its argument."""

    def typed(context: Any, like: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.get_constant(like, number)

        return like(like), code

    return intrinsic(typed)


zero = _constant(0.0)
minus_infinity = _constant(-math.inf)


@intrinsic
def load(context: Any, address: Any, like: Any) -> Any:
    """The lanes at ``address``, of the type of ``like``."""
    lanes = Lanes(like)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        return builder.load(builder.inttoptr(arguments[0], vector.as_pointer()), align=1)

    return lanes(types.intp, like), code


@intrinsic
def store(context: Any, address: Any, lanes: Any) -> Any:
    """Writes ``lanes`` to ``address``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        target = builder.inttoptr(arguments[0], vector.as_pointer())
        builder.store(arguments[1], target, align=1)
        return context.get_dummy_value()

    return types.void(types.intp, lanes), code


def _write_past_cache(builder: Any, vector: Any, target: Any) -> None:
    """A store that fills a cache line without reading it first: a third less to move. glibc's memcpy does the same."""
    stored = builder.store(vector, target, align=LINE_BYTES)
    stored.set_metadata("nontemporal", builder.module.add_metadata([_INT32(1)]))


@intrinsic
def store_past_cache(context: Any, address: Any, lanes: Any) -> Any:
    """Writes ``lanes`` to ``address``, a multiple of a line, past the caches."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        target = builder.inttoptr(arguments[0], vector.as_pointer())
        _write_past_cache(builder, arguments[1], target)
        return context.get_dummy_value()

    return types.void(types.intp, lanes), code


@intrinsic
def store_lines_past_cache(context: Any, address: Any, number: Any, lanes: Any) -> Any:
    """Writes the first ``number`` cache lines of ``lanes``, at a multiple of a line, past the caches."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        width = LINE_BYTES * 8 // lanes.element.bitwidth
        vector = ir.VectorType(context.get_value_type(lanes.element), width)
        for k in range(LANES_BYTES // LINE_BYTES):
            with builder.if_then(builder.icmp_signed(">", arguments[1], arguments[1].type(k))):
                places = _integers(range(k * width, (k + 1) * width))
                part = builder.shuffle_vector(arguments[2], arguments[2], places)
                where = builder.add(arguments[0], arguments[0].type(k * LINE_BYTES))
                _write_past_cache(builder, part, builder.inttoptr(where, vector.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, lanes), code


def _first(builder: Any, number: Any, count: int) -> Any:
    """For each of ``count`` lanes whether it is among the first ``number``."""
    bound = _spread(builder, builder.trunc(number, _INT32), count)
    return builder.icmp_signed("<", _integers(range(count)), bound)


def _masked(builder: Any, name: str, lanes: Any, result: Any, arguments: Any) -> Any:
    letter = "f" if isinstance(lanes.element, types.Float) else "i"
    function = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(result, [argument.type for argument in arguments]),
        f"llvm.masked.{name}.v{lanes.count}{letter}{lanes.element.bitwidth}.p0",
    )
    return builder.call(function, arguments)


@intrinsic
def load_first(context: Any, address: Any, number: Any, otherwise: Any) -> Any:
    """The first ``number`` of the lanes at ``address``; ``otherwise`` in the others."""
    lanes = Lanes(otherwise)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        source = builder.inttoptr(arguments[0], vector.as_pointer())
        mask = _first(builder, arguments[1], lanes.count)
        others = _spread(builder, arguments[2], lanes.count)
        return _masked(builder, "load", lanes, vector, [source, _INT32(1), mask, others])

    return lanes(types.intp, types.intp, otherwise), code


@intrinsic
def store_first(context: Any, address: Any, number: Any, lanes: Any) -> Any:
    """Writes the first ``number`` of ``lanes``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = context.get_value_type(lanes)
        target = builder.inttoptr(arguments[0], vector.as_pointer())
        mask = _first(builder, arguments[1], lanes.count)
        _masked(builder, "store", lanes, ir.VoidType(), [arguments[2], target, _INT32(1), mask])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, lanes), code


@intrinsic
def fetch(context: Any, address: Any) -> Any:
    """Has the cache line at ``address`` brought to the second-level cache."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        prefetch = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, _INT32, _INT32, _INT32]),
            "llvm.prefetch.p0",
        )
        to_read, second_level, data = _INT32(0), _INT32(2), _INT32(1)
        line = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        builder.call(prefetch, [line, to_read, second_level, data])
        return context.get_dummy_value()

    return types.void(types.intp), code
