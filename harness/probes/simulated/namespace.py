"""The array namespace of the simulated device: what ``import cupy as xp`` gives on a real one.

Functions come from the tables in ``catalogue``, ``elementwise``, ``creation``, ``joining``, ``linalg`` and
``random``. A name that NumPy has and the tables do not raises ``NotModelledError``, which ``hasattr`` takes
for absence.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.probes.simulated import catalogue, cuda, host_answers, random
from harness.probes.simulated import linalg as _linalg
from harness.probes.simulated.array import DeviceArray, wrap
from harness.probes.simulated.elementwise import UFUNCS, apply, apply_method
from harness.probes.simulated.foreign import adopt, is_foreign
from harness.probes.simulated.launch import launch
from harness.probes.simulated.refusal import NotModelledError
from harness.probes.simulated.streams import Stream

ndarray = DeviceArray


class DeviceUfunc:
    """A universal function whose result is a device array even for host scalars (``cupy.ufunc``)."""

    __slots__ = ("_ufunc",)

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return wrap(apply(self._ufunc, inputs, options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)

    def __repr__(self) -> str:
        return f"<ufunc {self._ufunc.__name__} of the simulated device>"

    def at(self, a: DeviceArray, indices: Any, b: Any = None) -> None:
        """Scatter in place."""
        apply_method(self._ufunc, "at", (a, indices, b), {})

    def outer(self, A: Any, B: Any, **options: Any) -> Any:  # noqa: N803 - CuPy's names
        """All pairs."""
        return wrap(apply_method(self._ufunc, "outer", (A, B), options))

    def reduce(self, array: Any, axis: Any = 0, **options: Any) -> Any:
        """``sum`` or ``prod``; CuPy has no other."""
        return wrap(apply_method(self._ufunc, "reduce", (array,), {"axis": axis, **options}))

    def accumulate(self, array: Any, axis: Any = 0, **options: Any) -> Any:
        """``cumsum`` or ``cumprod``; CuPy has no other."""
        return wrap(apply_method(self._ufunc, "accumulate", (array,), {"axis": axis, **options}))


def _public(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return wrap(function(*args, **kwargs))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def asnumpy(
    a: Any,
    stream: Stream | None = None,
    order: str = "C",
    out: npt.NDArray[Any] | None = None,
    *,
    blocking: bool = True,
) -> npt.NDArray[Any]:
    """A host copy of a device array (see ``DeviceArray.get``); host input is passed through NumPy."""
    if is_foreign(a):
        a = wrap(adopt(a))
    if isinstance(a, DeviceArray):
        return a.get(stream, order, out, blocking=blocking)
    host = np.asarray(a, order="F" if order == "F" else "C")
    if out is None:
        return host
    out[...] = host
    return out


def get_array_module(*args: Any) -> ModuleType:
    """This namespace when any argument is a device array, else NumPy."""
    for arg in args:
        if isinstance(arg, DeviceArray):
            return arg.__array_namespace__()
    return np


def _assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 0, err_msg: str = ""
) -> None:
    """``numpy.testing.assert_allclose`` of host copies: one copy and one wait per device array."""
    np.testing.assert_allclose(asnumpy(actual), asnumpy(desired), rtol, atol, err_msg=err_msg)


testing = SimpleNamespace(assert_allclose=_assert_allclose)


class _LinalgNamespace(SimpleNamespace):
    def __getattr__(self, name: str) -> Any:
        if hasattr(np.linalg, name):
            raise NotModelledError(f"linalg.{name}")
        raise AttributeError(f"the simulated linalg has no attribute {name!r}")


linalg = _LinalgNamespace(
    LinAlgError=np.linalg.LinAlgError,
    **{name: _public(name, function) for name, function in _linalg.FUNCTIONS.items()},
)


_MEMORY_POOL = cuda.MemoryPool()
_PINNED_MEMORY_POOL = cuda.PinnedMemoryPool()

_CUDA_SOURCE = frozenset(
    {"ElementwiseKernel", "RawKernel", "RawModule", "ReductionKernel", "fuse", "vectorize"}
)
"""What CuPy compiles for a GPU and a simulated device cannot run."""

_FROM_NUMPY = """
bool_ broadcast_shapes complex128 complex64 complexfloating dtype e euler_gamma finfo float16 float32 float64
floating iinfo inexact inf int16 int32 int64 int8 integer intp isdtype isscalar issubdtype nan ndindex newaxis
number pi promote_types signedinteger uint16 uint32 uint64 uint8 unsignedinteger
"""
"""Dtypes, constants and questions about them, which are NumPy's own in CuPy too."""

_NAMES: dict[str, Any] = {
    **{name: DeviceUfunc(ufunc) for name, ufunc in UFUNCS.items()},
    **{name: _public(name, function) for name, function in catalogue.FUNCTIONS.items()},
    **host_answers.FUNCTIONS,
    **{name: getattr(np, name) for name in _FROM_NUMPY.split()},
    "bool": np.bool_,
    "cuda": cuda,
    "get_default_memory_pool": lambda: _MEMORY_POOL,
    "get_default_pinned_memory_pool": lambda: _PINNED_MEMORY_POOL,
    "launch": launch,
    "random": random,
}

globals().update(_NAMES)

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name in _CUDA_SOURCE:
        raise NotModelledError(f"cupy.{name}", "run a host function as one launch(kernel, ...)")
    if hasattr(np, name):
        raise NotModelledError(f"numpy.{name}")
    raise AttributeError(f"the namespace of the simulated device has no attribute {name!r}")
