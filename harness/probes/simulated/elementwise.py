"""Universal functions on device memory: the ones CuPy has, the refusals CuPy makes, one kernel each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.indexing import ufunc_at
from harness.probes.simulated.refusal import NotModelledError
from harness.probes.simulated.silence import silently
from harness.probes.simulated.storage import DeviceMemory, is_scalar, to_memory

__all__ = ["UFUNCS", "apply", "apply_method", "is_modelled", "update"]

_NAMES = """
    abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh acos acosh asin asinh atan atan2
    atanh bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide divmod
    equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod frexp gcd greater greater_equal
    heaviside hypot invert isfinite isinf isnan lcm ldexp left_shift less less_equal log log10 log1p log2
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul maximum minimum mod modf
    multiply negative nextafter not_equal positive pow power rad2deg radians reciprocal remainder
    right_shift rint sign signbit sin sinh sqrt square subtract tan tanh true_divide trunc
"""

UFUNCS: Mapping[str, np.ufunc] = {
    name: getattr(np, name) for name in _NAMES.split() if hasattr(np, name)
}
"""Every universal function of CuPy 14.2 that NumPy has too, by name."""

_MODELLED = frozenset(UFUNCS.values())
_COMPARISONS = frozenset(
    {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
)
_OPTIONS = frozenset({"out", "dtype", "casting"})
"""All that a CuPy ufunc takes (cupy/_core/_kernel.pyx:1268-1277)."""

_REDUCTIONS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "reduce": {"add": np.sum, "multiply": np.prod},
    "accumulate": {"add": np.cumsum, "multiply": np.cumprod},
}
"""The ufunc methods CuPy implements besides ``at`` and ``outer`` (cupy/_core/_kernel.pyx:1432-1493)."""


def is_modelled(ufunc: np.ufunc) -> bool:
    """Whether the device has this universal function."""
    return ufunc in _MODELLED


def apply(ufunc: np.ufunc, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """NumPy's values of ``ufunc`` on device memory, announced as one kernel named after it.

    ``inputs`` are device arrays and scalars, outputs included when given by position. Returns memory, a
    tuple of memories, or what was given as ``out``. Raises ``TypeError`` for host arrays.
    """
    name = ufunc.__name__
    if ufunc not in _MODELLED:
        raise NotModelledError(f"the ufunc {name}")
    if len(inputs) > ufunc.nin:
        inputs, options = _outputs_by_keyword(ufunc, inputs, options)
    if ufunc in _COMPARISONS:
        inputs = tuple(x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in inputs)
    operands = [x._memory if isinstance(x, DeviceMemory) else to_memory(x, name) for x in inputs]
    keywords, given = _keywords(name, options) if options else ({}, None)
    result = silently(ufunc, *operands, **keywords)
    first = result[0] if type(result) is tuple else result
    if first.size:
        boundary.kernel(name)
    return result if given is None else given


def update(ufunc: np.ufunc, target: DeviceMemory, other: Any) -> None:
    """``ufunc(target, other, out=target)``, as an in-place operator calls it."""
    memory = target._memory
    silently(ufunc, memory, to_memory(other, ufunc.__name__), memory)
    if memory.size:
        boundary.kernel(ufunc.__name__)


def _outputs_by_keyword(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    if "out" in options:
        raise TypeError(f"{ufunc.__name__}: out is given both by position and by keyword")
    return inputs[: ufunc.nin], {**options, "out": inputs[ufunc.nin :]}


def _keywords(name: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The options as NumPy takes them, and the device array or arrays given as ``out``."""
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        raise TypeError(
            f"{name} takes out=, dtype= and casting= on the device, not {', '.join(unknown)}="
        )
    keywords = {key: value for key, value in options.items() if key != "out"}
    out = options.get("out")
    outputs = out if isinstance(out, tuple) else (out,)
    if all(output is None for output in outputs):
        return keywords, None
    keywords["out"] = tuple(_output(name, output) for output in outputs)
    return keywords, outputs[0] if len(outputs) == 1 else outputs


def _output(name: str, output: object) -> Any:
    if output is not None and not isinstance(output, DeviceMemory):
        raise TypeError(f"{name}(out=...) takes a device array, not {type(output).__name__}")
    return to_memory(output, name)


def apply_method(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: Any) -> Any:
    """``ufunc.at``, ``outer``, and the few reductions CuPy has; any other raises ``NotModelledError``."""
    name = ufunc.__name__
    if not is_modelled(ufunc):
        raise NotModelledError(f"the ufunc {name}")
    if method == "at":
        return ufunc_at(ufunc, *inputs)
    if method == "outer":
        return _outer(ufunc, *inputs, **options)
    reduction = _REDUCTIONS.get(method, {}).get(name)
    if reduction is None:
        raise NotModelledError(f"{name}.{method}", f"CuPy has no {name}.{method} either")
    options = {key: value for key, value in options.items() if value is not None}
    out = options.pop("out", None)
    if out is not None:
        out = out[0] if isinstance(out, tuple) else out
        options["out"] = _output(name, out)
    options.setdefault("axis", 0)
    result = silently(reduction, to_memory(inputs[0], name), *inputs[1:], **options)
    boundary.kernel(f"{name}.{method}")
    return result if out is None else out


def _outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    left, right = to_memory(a, ufunc.__name__), to_memory(b, ufunc.__name__)
    if is_scalar(left) or is_scalar(right):
        raise NotModelledError(f"{ufunc.__name__}.outer with a scalar")
    result = silently(ufunc.outer, left, right, **options)
    boundary.kernel(f"{ufunc.__name__}.outer")
    return result
