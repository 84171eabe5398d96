"""Between host and device by name: ``asnumpy``, ``get_array_module``, ``from_dlpack``, texts and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.probes.simulated.array import DeviceArray, wrap
from harness.probes.simulated.foreign import adopt, is_foreign
from harness.probes.simulated.refusal import absent, not_modelled
from harness.probes.simulated.streams import Stream

__all__ = ["FUNCTIONS", "Testing", "asnumpy"]


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
            module: ModuleType = arg.__array_namespace__()
            return module
    return np


def from_dlpack(array: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A device array sharing the memory of another; other exporters point at memory not simulated here."""
    if device is not None:
        raise NotImplementedError("from_dlpack() takes no device, here or in CuPy")
    if not isinstance(array, DeviceArray):
        raise not_modelled(f"xp.from_dlpack of {type(array).__module__}.{type(array).__qualname__}")
    return array.copy() if copy else array.view()


def _text(name: str) -> Callable[..., str]:
    function = getattr(np, name)

    def text(x: Any, *args: Any, **kwargs: Any) -> str:
        found: str = function(asnumpy(x), *args, **kwargs)
        return found

    text.__name__ = name
    text.__doc__ = f"``numpy.{name}`` of a host copy: one copy and one wait."
    return text


class Testing:
    """``cupy.testing``, as far as it compares arrays: one copy and one wait per device array."""

    def __getattr__(self, name: str) -> Any:
        compare = getattr(np.testing, name) if name in _COMPARISONS else None
        if compare is None:
            raise absent("testing", name)

        def compared(actual: Any, desired: Any, *args: Any, **kwargs: Any) -> None:
            compare(asnumpy(actual), asnumpy(desired), *args, **kwargs)

        return compared


_COMPARISONS = frozenset(
    {
        "assert_allclose",
        "assert_array_almost_equal",
        "assert_array_almost_equal_nulp",
        "assert_array_equal",
        "assert_array_less",
        "assert_array_max_ulp",
    }
)

FUNCTIONS: Mapping[str, Any] = {
    "asnumpy": asnumpy,
    "format_float_positional": _text("format_float_positional"),
    "format_float_scientific": _text("format_float_scientific"),
    "from_dlpack": from_dlpack,
    "get_array_module": get_array_module,
    "testing": Testing(),
}
"""By name."""
