"""Functions of any number of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.operation import on_device
from harness.probes.simulated.refusal import not_modelled
from harness.probes.simulated.storage import DeviceMemory, Memory, is_scalar, to_memory
from harness.probes.simulated.transfer import upload

__all__ = ["FUNCTIONS"]


def _array(value: Any, where: str) -> Memory:
    memory: Memory = upload(value) if is_scalar(value) else on_device(value, where)
    return memory


def _at_least(name: str) -> Callable[..., Any]:
    reshape = getattr(np, name)

    def atleast(*arys: Any) -> Any:
        views = [reshape(_array(a, name)) for a in arys]
        return views[0] if len(views) == 1 else views

    atleast.__name__ = name
    atleast.__doc__ = f"``numpy.{name}``: views; host input is copied to the device."
    return atleast


def broadcast_arrays(*args: Any) -> tuple[Memory, ...]:
    """Views of a common shape."""
    return tuple(np.broadcast_arrays(*(to_memory(arg, "broadcast_arrays") for arg in args)))


def einsum(
    subscripts: str, *operands: Any, out: DeviceMemory | None = None, optimize: Any = False
) -> Any:
    """``numpy.einsum`` with the subscripts as text, by one kernel; host operands are copied over."""
    if not isinstance(subscripts, str):
        raise not_modelled("xp.einsum with lists of subscripts", "write the subscripts as text")
    memories = [_array(operand, "einsum") for operand in operands]
    target = None if out is None else to_memory(out, "einsum(out=...)")
    with np.errstate(all="ignore"):
        result = np.einsum(subscripts, *memories, out=target, optimize=optimize)
    # NumPy answers a pure transposition with a view that must not alias; a kernel writes new memory.
    result = np.asarray(result)
    if any(np.may_share_memory(result, memory) for memory in memories) and out is None:
        result = result.copy()
    boundary.kernel("einsum")
    return result if out is None else out


def gradient(f: DeviceMemory, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """``numpy.gradient``: one kernel per axis.

    Whether coordinates on the device are evenly spaced is read, once per axis (cupy/_math/sumprod.py:496).
    """
    spacings = []
    for spacing in varargs:
        if not (is_scalar(spacing) or isinstance(spacing, DeviceMemory)):
            raise not_modelled(
                "xp.gradient with coordinates on the host", "pass scalars, or asarray(x)"
            )
        spacings.append(to_memory(spacing, "gradient"))
        if np.ndim(spacings[-1]):
            boundary.read_back(1)
    with np.errstate(all="ignore"):
        result = np.gradient(to_memory(f, "gradient"), *spacings, axis=axis, edge_order=edge_order)
    for _ in result if isinstance(result, (list, tuple)) else (result,):
        boundary.kernel("gradient")
    return list(result) if isinstance(result, tuple) else result


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "broadcast_arrays": broadcast_arrays,
    "einsum": einsum,
    "gradient": gradient,
    **{name: _at_least(name) for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
}
