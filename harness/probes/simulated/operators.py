"""Operators of device arrays; each is the universal function CuPy calls for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.elementwise import apply, update
from harness.probes.simulated.storage import DeviceMemory, is_scalar

__all__ = ["Operators"]

_PRIORITY = 100
"""``__array_priority__`` of a CuPy array; an operand with a higher one gets its reflected method called."""

_NO_ATTRIBUTE = object()
_NO_OPTIONS: Mapping[str, Any] = {}


def _defers_to(other: object) -> bool:
    """Whether ``other`` asks to handle the operation itself (NEP 13, cupy/_core/core.pyx:109-119)."""
    if isinstance(other, DeviceMemory) or is_scalar(other):
        return False
    handler = getattr(other, "__array_ufunc__", _NO_ATTRIBUTE)
    if handler is not _NO_ATTRIBUTE:
        return handler is None
    return bool(getattr(other, "__array_priority__", 0) > _PRIORITY)


def _made(like: DeviceMemory, result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_made(like, part) for part in result)
    array = object.__new__(type(like))
    array._memory = result if type(result) is np.ndarray else np.asarray(result)
    return array


def _binary(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def method(self: DeviceMemory, other: Any) -> Any:
        if type(other) is not type(self) and _defers_to(other):
            return NotImplemented
        return _made(self, apply(ufunc, (self, other), _NO_OPTIONS))

    return method


def _reflected(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def method(self: DeviceMemory, other: Any) -> Any:
        if _defers_to(other):
            return NotImplemented
        return _made(self, apply(ufunc, (other, self), _NO_OPTIONS))

    return method


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def method(self: DeviceMemory, other: Any) -> Any:
        update(ufunc, self, other)
        return self

    return method


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def method(self: DeviceMemory) -> Any:
        return _made(self, apply(ufunc, (self,), _NO_OPTIONS))

    return method


def _equality(ufunc: np.ufunc, otherwise: bool) -> Callable[[Any, object], Any]:
    compare = _binary(ufunc)

    def method(self: DeviceMemory, other: object) -> Any:
        # None and plain objects equal no element; CuPy answers with a constant array.
        if other is None or type(other).__eq__ is object.__eq__:
            answer = np.full(self.shape, otherwise)
            if otherwise:
                boundary.kernel("fill")
            else:
                boundary.memset(answer.nbytes)
            return _made(self, answer)
        return compare(self, other)

    return method


_SHORTCUTS: dict[type, dict[float, np.ufunc]] = {
    int: {2: np.square},
    float: {0.5: np.sqrt, 2.0: np.square, -1.0: np.reciprocal},
}
"""Exponents for which CuPy calls another function (cupy/_core/core.pyx:1636-1667)."""


def _power(self: DeviceMemory, other: Any, modulo: None = None) -> Any:
    if _defers_to(other):
        return NotImplemented
    kind = type(other)
    shortcut = _SHORTCUTS[kind].get(other) if kind in _SHORTCUTS else None
    if shortcut is None:
        return _made(self, apply(np.power, (self, other), {}))
    plain = "ifc" if kind is int else "fc"
    options = {} if self.dtype.kind in plain else {"dtype": np.result_type(self.dtype, other)}
    return _made(self, apply(shortcut, (self,), options))


class Operators(DeviceMemory):
    """Arithmetic, comparison and logic; an in-place operator writes into the array itself."""

    __slots__ = ()

    __lt__ = _binary(np.less)
    __le__ = _binary(np.less_equal)
    __eq__ = _equality(np.equal, False)
    __ne__ = _equality(np.not_equal, True)
    __gt__ = _binary(np.greater)
    __ge__ = _binary(np.greater_equal)
    __hash__ = None  # type: ignore[assignment]

    __add__ = _binary(np.add)
    __sub__ = _binary(np.subtract)
    __mul__ = _binary(np.multiply)
    __matmul__ = _binary(np.matmul)
    __truediv__ = _binary(np.true_divide)
    __floordiv__ = _binary(np.floor_divide)
    __mod__ = _binary(np.remainder)
    __divmod__ = _binary(np.divmod)
    __pow__ = _power
    __lshift__ = _binary(np.left_shift)
    __rshift__ = _binary(np.right_shift)
    __and__ = _binary(np.bitwise_and)
    __or__ = _binary(np.bitwise_or)
    __xor__ = _binary(np.bitwise_xor)

    __radd__ = _reflected(np.add)
    __rsub__ = _reflected(np.subtract)
    __rmul__ = _reflected(np.multiply)
    __rmatmul__ = _reflected(np.matmul)
    __rtruediv__ = _reflected(np.true_divide)
    __rfloordiv__ = _reflected(np.floor_divide)
    __rmod__ = _reflected(np.remainder)
    __rdivmod__ = _reflected(np.divmod)
    __rpow__ = _reflected(np.power)
    __rlshift__ = _reflected(np.left_shift)
    __rrshift__ = _reflected(np.right_shift)
    __rand__ = _reflected(np.bitwise_and)
    __ror__ = _reflected(np.bitwise_or)
    __rxor__ = _reflected(np.bitwise_xor)

    __iadd__ = _in_place(np.add)
    __isub__ = _in_place(np.subtract)
    __imul__ = _in_place(np.multiply)
    __itruediv__ = _in_place(np.true_divide)
    __ifloordiv__ = _in_place(np.floor_divide)
    __imod__ = _in_place(np.remainder)
    __ipow__ = _in_place(np.power)
    __ilshift__ = _in_place(np.left_shift)
    __irshift__ = _in_place(np.right_shift)
    __iand__ = _in_place(np.bitwise_and)
    __ior__ = _in_place(np.bitwise_or)
    __ixor__ = _in_place(np.bitwise_xor)

    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)
