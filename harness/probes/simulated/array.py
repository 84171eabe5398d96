"""The device array: what host code holds of an array that lives on the simulated device."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import GenericAlias
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from harness.probes.simulated import (
    boundary,
    catalogue,
    creation,
    host_answers,
    indexing,
    transfer,
    values,
)
from harness.probes.simulated.elementwise import apply, apply_method, exists
from harness.probes.simulated.flat import FlatIterator
from harness.probes.simulated.host_reads import HostReads
from harness.probes.simulated.methods import methods, not_modelled_attributes
from harness.probes.simulated.operators import Operators
from harness.probes.simulated.refusal import (
    NotModelledError,
    UnsupportedOperandError,
    absent,
    implicit_conversion_refused,
    not_modelled,
)
from harness.probes.simulated.storage import DeviceMemory, Memory, allocate
from harness.probes.simulated.streams import Device

__all__ = ["DeviceArray", "wrap"]


def wrap(result: Any) -> Any:
    """A result of an operation as host code gets it: memory becomes a device array, 0-d results too."""
    kind = type(result)
    if kind is np.ndarray:
        array = _new(DeviceArray)
        array._memory = result
        return array
    if kind is DeviceArray or result is None:
        return result
    if kind is list:
        return [wrap(part) for part in result]
    if isinstance(result, tuple):
        return tuple(wrap(part) for part in result)
    return wrap(np.asarray(result))


_new = object.__new__


class DeviceArray(Operators, HostReads):
    """An array on the simulated device (``cupy.ndarray``); made by the functions of the namespace.

    Element values are only reachable through operations of the device, each of which is announced to open
    recordings, or through an explicit copy to the host. ``DeviceArray(shape, dtype)`` is uninitialised.
    """

    __slots__ = ()

    __array_priority__: ClassVar[int] = 100

    def __init__(
        self,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike = float,
        memptr: Any = None,
        strides: Any = None,
        order: str = "C",
    ) -> None:
        if memptr is not None or strides is not None:
            raise not_modelled("xp.ndarray over given memory or strides")
        self._memory = allocate(shape, dtype, order)

    @property
    def T(self) -> DeviceArray:  # noqa: N802 - the name NumPy and CuPy give it
        """The axes reversed: a view."""
        return self if self.ndim < 2 else self._view(self._memory.T)

    @property
    def mT(self) -> DeviceArray:  # noqa: N802 - the name NumPy and CuPy give it
        """The last two axes swapped: a view; ``ValueError`` below two axes."""
        if self.ndim < 2:
            raise ValueError("a matrix transpose takes at least two axes")
        return self._view(self._memory.swapaxes(-1, -2))

    @property
    def real(self) -> DeviceArray:
        """The real part: a view, the array itself when it is real."""
        return self._view(self._memory.real) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> DeviceArray:
        """The imaginary part: a view, or new zeros when the array is real."""
        if self.dtype.kind == "c":
            return self._view(self._memory.imag)
        zeros: DeviceArray = wrap(creation.FUNCTIONS["zeros_like"](self))
        return zeros

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("a real device array has no imaginary part to set")
        self.imag[...] = value

    @property
    def base(self) -> DeviceArray | None:
        """The array this one is a view of."""
        base = self._memory.base
        return None if base is None else self._view(base)

    @property
    def flat(self) -> FlatIterator:
        """The elements as if there were one axis."""
        return FlatIterator(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        raise not_modelled("ndarray.flat = ...", "write a.flat[:] = ...")

    @property
    def device(self) -> Device:
        """The device the array lives on."""
        return Device(0)

    def _view(self, memory: Memory) -> DeviceArray:
        view: DeviceArray = wrap(memory)
        return view

    # --- protocols -------------------------------------------------------------------------------------

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise implicit_conversion_refused()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if not exists(ufunc):
            return NotImplemented
        try:
            if method == "__call__":
                return wrap(apply(ufunc, inputs, options))
            return wrap(apply_method(ufunc, method, inputs, options))
        except UnsupportedOperandError:
            return NotImplemented

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if len(types) > 1 and not all(issubclass(kind, _HANDLED) for kind in types):
            return NotImplemented
        answer = _HOST_ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **kwargs)
        function = _BY_NUMPY_FUNCTION.get(func)
        if function is None:
            return self._call_by_name(func, args, kwargs)
        return wrap(function(*args, **kwargs))

    def _call_by_name(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The namespace's function for NumPy's, found by its path as CuPy finds it (cupy/_core/core.pyx:2028)."""
        owner = self.__array_namespace__()
        try:
            for part in (*func.__module__.split(".")[1:], func.__name__):
                owner = getattr(owner, part)
        except NotModelledError:
            raise
        except AttributeError:
            return NotImplemented
        return NotImplemented if owner is func else owner(*args, **kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        # By name: the namespace is built on this class.
        return importlib.import_module("harness.probes.simulated.namespace")

    @classmethod
    def __class_getitem__(cls, item: tuple[Any, Any]) -> GenericAlias:
        return GenericAlias(cls, item)

    def __getattr__(self, name: str) -> Any:
        raise absent("ndarray", name)

    # --- elements --------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> DeviceArray:
        array = _new(DeviceArray)
        array._memory = indexing.get_item(self._memory, key)
        return array

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.set_item(self._memory, key, value)

    def __iter__(self) -> Iterator[DeviceArray]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d device array")
        return (self[position] for position in range(len(self._memory)))

    def fill(self, value: Any) -> None:
        """Write one value everywhere: a memset for zero, else one kernel."""
        if isinstance(value, DeviceMemory):
            value = value._memory
        if np.ndim(value):
            raise ValueError("fill() takes a scalar or a 0-d device array")
        transfer.fill(self._memory, value)

    def set(self, arr: Any, stream: Any = None) -> None:
        """Overwrite with a host array: one copy, which holds the host unless ``arr`` is pinned."""
        transfer.overwrite(self._memory, arr, stream=None if stream is None else stream.ptr)

    # --- copies and views ------------------------------------------------------------------------------

    def astype(
        self,
        dtype: npt.DTypeLike,
        order: str | None = "K",
        casting: object = None,
        subok: object = None,
        copy: bool = True,
    ) -> DeviceArray:
        """The values in another dtype: one kernel, or the array itself with ``copy=False`` and nothing to do."""
        if casting is not None or subok is not None:
            raise TypeError("astype() takes no casting= and no subok= on the device")
        wanted: DeviceArray = wrap(
            creation.cast(self, dtype, order=order or "K", copy=True if copy else None)
        )
        return wanted

    def copy(self, order: str = "C") -> DeviceArray:
        """A new array with the same values, by one kernel."""
        return self.astype(self.dtype, order)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceArray:
        return self.copy()

    def flatten(self, order: str = "C") -> DeviceArray:
        """A 1-D copy, by one kernel."""
        if self.size:
            boundary.kernel("copy")
        return self._view(self._memory.flatten(order))  # type: ignore[arg-type]

    def view(self, dtype: npt.DTypeLike | None = None, type: type | None = None) -> DeviceArray:
        """The same memory, read as another dtype if one is given."""
        if type is not None:
            raise not_modelled("ndarray.view(type=...)")
        memory = self._memory.view() if dtype is None else self._memory.view(dtype)
        return self._view(memory)

    def byteswap(self, inplace: bool = False) -> DeviceArray:
        """The bytes of every element in reverse order, by one kernel, two when in place."""
        swapped = self._memory.byteswap()
        boundary.kernel("byteswap")
        if not inplace:
            return self._view(swapped)
        self._memory[...] = swapped
        boundary.kernel("copy")
        return self

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> DeviceArray:
        """The same elements in another shape: a view, or one kernel when the layout forbids it."""
        wanted = shape[0] if len(shape) == 1 else shape
        memory = values.reshape(self._memory, wanted, order, copy)
        if memory.size and not np.may_share_memory(memory, self._memory):
            boundary.kernel("reshape")
        return self._view(memory)

    def transpose(self, *axes: Any) -> DeviceArray:
        """The axes in another order: a view."""
        order = axes[0] if len(axes) == 1 else (axes if axes else None)
        return self._view(self._memory.transpose(order))

    def clip(self, min: Any = None, max: Any = None, out: DeviceArray | None = None) -> Any:
        """Values limited to ``[min, max]``, by one kernel."""
        return wrap(catalogue.FUNCTIONS["clip"](self, min, max, out=out))

    def sort(self, axis: int = -1, kind: str | None = None) -> None:
        """Sort in place, stably; a strided array is refused, as by CuPy."""
        self._in_place("sort", axis=axis, kind=kind)

    def partition(self, kth: Any, axis: int = -1) -> None:
        """Partition in place; a strided array is refused, as by CuPy."""
        self._in_place("partition", kth=kth, axis=axis)

    def _in_place(self, name: str, **options: Any) -> None:
        if not self._memory.flags.c_contiguous:
            raise NotImplementedError(f"{name}() in place takes a contiguous device array")
        self._memory[...] = catalogue.FUNCTIONS[name](self, **options)


for _name, _function in methods(wrap).items():
    setattr(DeviceArray, _name, _function)
for _name, _attribute in not_modelled_attributes(DeviceArray).items():
    setattr(DeviceArray, _name, _attribute)

_HANDLED = (DeviceArray, np.ndarray)
_BY_NUMPY_FUNCTION = catalogue.by_numpy_function()
_HOST_ANSWERS = {
    getattr(np, name): answer
    for name, answer in host_answers.FUNCTIONS.items()
    if hasattr(np, name)
}
