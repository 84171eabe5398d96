"""Custom kernels: a host function over device memory, run as one launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.probes.simulated import boundary
from harness.probes.simulated.storage import DeviceMemory, to_memory

__all__ = ["launch"]


def launch(
    kernel: Callable[..., object], *arguments: Any, name: str | None = None, **keywords: Any
) -> None:
    """Run ``kernel`` over the memory of its device arguments; one kernel launch named after it.

    Device arrays reach the function as NumPy views of their memory, which it may read and write; scalars and
    other host values as they are. ``name`` overrides the kernel's name. Raises ``TypeError`` for a host
    array among the arguments and for a function that returns something: a kernel writes its results.
    """
    called = str(name or getattr(kernel, "__name__", type(kernel).__name__))
    views = [_argument(argument, called) for argument in arguments]
    named = {key: _argument(value, called) for key, value in keywords.items()}
    boundary.kernel(called)
    with np.errstate(all="ignore"):
        result = kernel(*views, **named)
    if result is not None:
        raise TypeError(
            f"kernel {called} returned {type(result).__name__}: a kernel returns nothing, "
            "it writes its results into device arrays"
        )


def _argument(value: Any, called: str) -> Any:
    if isinstance(value, (DeviceMemory, np.ndarray)):
        return to_memory(value, f"kernel {called}")
    return value
