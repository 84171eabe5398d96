"""Universal functions on device memory: the ones CuPy has, the refusals CuPy makes, one kernel each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from harness.probes.simulated import boundary, cupy_names
from harness.probes.simulated.host_knowledge import REFUSALS, depends_on_values
from harness.probes.simulated.indexing import ufunc_at
from harness.probes.simulated.operation import on_device
from harness.probes.simulated.refusal import not_modelled
from harness.probes.simulated.silence import silently
from harness.probes.simulated.storage import DeviceMemory, to_memory
from harness.probes.simulated.transfer import upload

__all__ = ["UFUNCS", "apply", "apply_method", "exists", "update"]

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

_OF_MATMUL = frozenset({"axes", "axis", "keepdims", "order", "signature"})
"""What CuPy's ``matmul``, a generalised ufunc, takes besides (cupy/_core/_gufuncs.py)."""

_REDUCTIONS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "reduce": {"add": np.sum, "multiply": np.prod},
    "accumulate": {"add": np.cumsum, "multiply": np.cumprod},
    "reduceat": {"add": np.add.reduceat},
}
"""The ufunc methods CuPy implements besides ``at`` and ``outer`` (cupy/_core/_kernel.pyx:1432-1493)."""


def exists(ufunc: np.ufunc) -> bool:
    """Whether CuPy has this universal function, itself or in ``cupyx.scipy.special``; ``not_modelled`` when unsure.

    It looks for the name, as CuPy does (cupy/_core/core.pyx:1993-2001).
    """
    if ufunc in _MODELLED or cupy_names.has("cupyx.scipy.special", ufunc.__name__):
        return True
    if cupy_names.has("", ufunc.__name__):
        raise not_modelled(f"xp.{ufunc.__name__}")
    return False


def apply(ufunc: np.ufunc, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """NumPy's values of ``ufunc`` on device memory, announced as one kernel named after it.

    ``inputs`` are device arrays and scalars, outputs included when given by position. Returns memory, a
    tuple of memories, or what was given as ``out``. Raises ``TypeError`` for host arrays.
    """
    name = ufunc.__name__
    if len(inputs) > ufunc.nin:
        inputs, options = _outputs_by_keyword(ufunc, inputs, options)
    if ufunc in _COMPARISONS:
        inputs = tuple(x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in inputs)
    operands = [x._memory if isinstance(x, DeviceMemory) else to_memory(x, name) for x in inputs]
    keywords, given = _keywords(name, options) if options else ({}, None)
    try:
        result = silently(ufunc, *operands, **keywords)
    except REFUSALS:
        result = _without_looking(ufunc, operands, keywords)
    first = result[0] if type(result) is tuple else result
    if first.size:
        boundary.kernel(name)
    return result if given is None else given


def update(ufunc: np.ufunc, target: DeviceMemory, other: Any) -> None:
    """``ufunc(target, other, out=target)``, as an in-place operator calls it."""
    memory = target._memory
    operand = to_memory(other, ufunc.__name__)
    try:
        silently(ufunc, memory, operand, memory)
    except REFUSALS:
        _without_looking(ufunc, [memory, operand], {"out": (memory,)})
    if memory.size:
        boundary.kernel(ufunc.__name__)


def _without_looking(ufunc: np.ufunc, operands: list[Any], keywords: dict[str, Any]) -> Any:
    """What the device computes of values that NumPy has just refused; shapes and dtypes are refused again."""
    if ufunc is np.power and all(np.asarray(operand).dtype.kind in "iu" for operand in operands):
        return silently(_integral_power, *operands, **keywords)
    if depends_on_values(ufunc, operands, keywords):
        raise not_modelled(f"xp.{ufunc.__name__} of these values")
    return ufunc(*operands, **keywords)


def _integral_power(base: Any, exponent: Any, *, out: Any = (None,), **keywords: Any) -> Any:
    """CuPy's integer power: a negative exponent leaves 1 of 1, a sign of -1, else 0 (cupy/_core/_routines_math.pyx:1004)."""
    magnitude = np.power(base, np.maximum(exponent, 0), **keywords)
    inverse = np.where(np.equal(base, -1), 1 - 2 * (np.asarray(exponent) & 1), np.equal(base, 1))
    result = np.where(np.less(exponent, 0), inverse, magnitude).astype(np.asarray(magnitude).dtype)
    if out[0] is None:
        return result
    np.copyto(out[0], result, casting=keywords.get("casting", "same_kind"))
    return out[0]


def _outputs_by_keyword(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    if "out" in options:
        raise TypeError(f"{ufunc.__name__}: out is given both by position and by keyword")
    return inputs[: ufunc.nin], {**options, "out": inputs[ufunc.nin :]}


def _keywords(name: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The options as NumPy takes them, and the device array or arrays given as ``out``."""
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown and name == "matmul" and _OF_MATMUL.issuperset(unknown):
        raise not_modelled(f"xp.matmul({unknown[0]}=...)")
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
    """``ufunc.at``, ``outer``, and the few reductions CuPy has; any other raises ``NotImplementedError`` as there."""
    name = ufunc.__name__
    if method == "at":
        return ufunc_at(ufunc, *inputs)
    if method == "outer":
        return _outer(ufunc, *inputs, **options)
    reduction = _REDUCTIONS.get(method, {}).get(name)
    if reduction is None:
        raise NotImplementedError(f"{name}.{method}: CuPy has no such reduction either")
    options = {key: value for key, value in options.items() if value is not None}
    out = options.pop("out", None)
    if out is not None:
        out = out[0] if isinstance(out, tuple) else out
        options["out"] = _output(name, out)
    options.setdefault("axis", 0)
    array, *bounds = inputs
    operands = [to_memory(array, name), *(on_device(bound, f"{name}.{method}") for bound in bounds)]
    try:
        result = silently(reduction, *operands, **options)
    except REFUSALS as error:
        if depends_on_values(reduction, operands, options):
            raise not_modelled(f"xp.{name}.{method} of these values") from error
        raise
    boundary.kernel(f"{name}.{method}")
    return result if out is None else out


def _outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    """All pairs; host operands are put on the device first (cupy/_core/_kernel.pyx:1419-1430)."""
    left, right = (x._memory if isinstance(x, DeviceMemory) else upload(x) for x in (a, b))
    pairs = left.reshape(left.shape + (1,) * right.ndim)
    keywords, given = _keywords(ufunc.__name__, options) if options else ({}, None)
    result = silently(ufunc, pairs, right, **keywords)
    boundary.kernel(f"{ufunc.__name__}.outer")
    return result if given is None else given
