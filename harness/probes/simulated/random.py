"""Random numbers on the device (``cupy.random``): the functions of one shared ``RandomState``, and the generators."""

from __future__ import annotations as _annotations

from typing import Any as _Any

import numpy as _np

from harness.probes.simulated import boundary as _boundary
from harness.probes.simulated import cupy_names as _cupy_names
from harness.probes.simulated.generator import (
    XORWOW,
    BitGenerator,
    Generator,
    MRG32k3a,
    Philox4x3210,
    default_rng,
)
from harness.probes.simulated.random_state import RandomState
from harness.probes.simulated.random_state import drawn as _drawn
from harness.probes.simulated.refusal import absent as _absent

__all__ = [
    "XORWOW",
    "BitGenerator",
    "Generator",
    "MRG32k3a",
    "Philox4x3210",
    "RandomState",
    "default_rng",
    "get_random_state",
    "multinomial",
    "random_integers",
    "random_sample",
    "seed",
    "set_random_state",
]

_NOT_SHARED = frozenset({"random_sample", "seed", "tomaxint"})
"""Methods of the state that the module has no function for, or defines itself."""

_shared = RandomState()


def get_random_state() -> RandomState:
    """The generator behind the module's functions."""
    return _shared


def set_random_state(rs: RandomState) -> None:
    """Use another generator behind the module's functions."""
    global _shared
    if not isinstance(rs, RandomState):
        raise TypeError(f"set_random_state() takes a RandomState, not {type(rs).__name__}")
    _shared = rs


def reset_states() -> None:
    """Use a fresh generator."""
    set_random_state(RandomState())


def seed(seed: int | None = None) -> None:
    """Start the module's generator again from a seed."""
    _shared.seed(seed)


def random_sample(size: _Any = None, dtype: _Any = float) -> _Any:
    """Uniform in [0, 1)."""
    return _shared.random_sample(size, dtype)


random = ranf = sample = random_sample


def bytes(length: int) -> _Any:
    """Random bytes on the host, NumPy's own."""
    return _np.random.bytes(length)


def random_integers(low: int, high: int | None = None, size: _Any = None) -> _Any:
    """Integers in [low, high]."""
    if high is None:
        low, high = 1, low
    return _shared.randint(low, high + 1, size)


def multinomial(n: int, pvals: _Any, size: _Any = None) -> _Any:
    """How often each outcome came up: the reads of ``choice`` with ``p`` (cupy/random/_sample.py:201)."""
    draws = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    outcomes = len(pvals)
    counts = _np.zeros((*draws, outcomes), _np.int64)
    _boundary.memset(counts.nbytes)
    if counts.size:
        total = n * int(_np.prod(draws, dtype=int))
        picked = _shared.choice(outcomes, total, p=pvals)._memory.reshape(-1, n)
        rows = counts.reshape(-1, outcomes)
        for row, found in zip(rows, picked, strict=True):
            row += _np.bincount(found, minlength=outcomes)
    return _drawn("multinomial", counts, _np.int64)


def _of_the_state(name: str) -> _Any:
    def function(*args: _Any, **kwargs: _Any) -> _Any:
        return getattr(_shared, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(RandomState, name).__doc__
    function.__wrapped__ = getattr(_shared, name)  # type: ignore[attr-defined]
    return function


globals().update(
    {
        name: _of_the_state(name)
        for name in sorted(vars(RandomState))
        if name[0] != "_" and name not in _NOT_SHARED
    }
)


def __getattr__(name: str) -> _Any:
    raise _absent("random", name)


def __dir__() -> list[str]:
    return sorted(_cupy_names.OWNERS["random"])
