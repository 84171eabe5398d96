"""The array namespace of the simulated device: what ``import cupy as xp`` gives on a real one.

It has the names of CuPy 14.2 and one more, ``launch``, which stands for the kernels one would compile there.
A name that CuPy has and ``surface`` does not raises ``NotModelledError``, which ``hasattr`` takes for absence and
every open recording for a doubt. Everything else in here starts with an underscore, as in CuPy.
"""

from __future__ import annotations as _annotations

from typing import Any as _Any

from harness.probes.simulated import cupy_names as _cupy_names
from harness.probes.simulated import surface as _surface
from harness.probes.simulated.refusal import absent as _absent

globals().update(_surface.NAMES)


def __getattr__(name: str) -> _Any:
    instead = "run a host function as one launch(kernel, ...)" if name in _surface.COMPILED else ""
    raise _absent("", name, instead)


def __dir__() -> list[str]:
    return sorted({*_cupy_names.OWNERS[""], "launch"})
