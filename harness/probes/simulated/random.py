"""Random numbers on the device (``cupy.random``).

Values come from NumPy's generators with the given seed, so they differ from cuRAND's; counts do not depend on
them. Legacy distributions check their parameters on the device where CuPy's do, each check one read; the
``Generator`` of ``default_rng`` never reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.probes.simulated import boundary
from harness.probes.simulated.array import DeviceArray, wrap
from harness.probes.simulated.creation import array
from harness.probes.simulated.indexing import set_item
from harness.probes.simulated.refusal import NotModelledError
from harness.probes.simulated.storage import DeviceMemory

__all__ = ["Generator", "RandomState", "default_rng", "get_random_state", "seed"]

_LARGEST_UINT32 = 2**32 - 1


def _host(parameter: Any) -> Any:
    return parameter._memory if isinstance(parameter, DeviceMemory) else parameter


def _not_modelled(owner: str, name: str) -> AttributeError:
    if hasattr(getattr(np.random, owner), name) and not name.startswith("_"):
        return NotModelledError(f"random.{owner}.{name}")
    return AttributeError(f"the simulated {owner} has no attribute {name!r}")


def _finish(name: str, values: Any, dtype: npt.DTypeLike) -> DeviceArray:
    made = np.asarray(values).astype(dtype)
    if made.size:
        boundary.kernel(name)
    result: DeviceArray = wrap(made)
    return result


def _distribution(
    name: str, parameters: str, *, reads: int, integers: bool = False
) -> Callable[..., DeviceArray]:
    """A legacy distribution: CuPy puts its parameters on the device and checks some of them there."""
    names = parameters.split()

    def draw(self: RandomState, *args: Any, **kwargs: Any) -> DeviceArray:
        given = dict(zip((*names, "size", "dtype"), args, strict=False)) | kwargs
        dtype = given.pop("dtype", int if integers else float)
        unknown = sorted(given.keys() - {*names, "size"})
        if unknown:
            raise TypeError(f"random.{name}() has no argument {unknown[0]!r} on the device")
        on_device = {key: _host(array(given[key], copy=None)) for key in names if key in given}
        for _ in range(reads):
            boundary.read_back(1)
        drawn = getattr(self._state, name)(**on_device, size=given.get("size"))
        return _finish(name, drawn, dtype)

    draw.__name__ = name
    draw.__doc__ = f"``{name}`` of its parameters; {reads} read(s) to check them."
    return draw


class RandomState:
    """The legacy generator (``cupy.random.RandomState``)."""

    # parameters, and how many reads check them (cupy/random/_generator.py)
    beta = _distribution("beta", "a b", reads=0)
    binomial = _distribution("binomial", "n p", reads=0, integers=True)
    exponential = _distribution("exponential", "scale", reads=1)
    gamma = _distribution("gamma", "shape scale", reads=0)
    geometric = _distribution("geometric", "p", reads=0, integers=True)
    gumbel = _distribution("gumbel", "loc scale", reads=0)
    laplace = _distribution("laplace", "loc scale", reads=0)
    logistic = _distribution("logistic", "loc scale", reads=0)
    lognormal = _distribution("lognormal", "mean sigma", reads=0)
    logseries = _distribution("logseries", "p", reads=2, integers=True)
    normal = _distribution("normal", "loc scale", reads=0)
    poisson = _distribution("poisson", "lam", reads=0, integers=True)
    rayleigh = _distribution("rayleigh", "scale", reads=1)
    triangular = _distribution("triangular", "left mode right", reads=3)
    uniform = _distribution("uniform", "low high", reads=0)
    weibull = _distribution("weibull", "a", reads=1)
    zipf = _distribution("zipf", "a", reads=1, integers=True)

    def __init__(self, seed: int | None = None) -> None:
        self._state = np.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        raise _not_modelled("RandomState", name)

    def seed(self, seed: int | None = None) -> None:
        """Start again from a seed."""
        self._state.seed(seed)

    def rand(self, *size: int, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Uniform in [0, 1), shape by position."""
        return self.random_sample(size, dtype)

    def randn(self, *size: int, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Standard normal, shape by position."""
        return self.normal(size=size, dtype=dtype)

    def random_sample(self, size: Any = None, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Uniform in [0, 1)."""
        return _finish("random_sample", self._state.random_sample(size), dtype)

    def standard_normal(self, size: Any = None, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Standard normal."""
        return self.normal(size=size, dtype=dtype)

    def randint(
        self, low: Any, high: Any = None, size: Any = None, dtype: npt.DTypeLike = "l"
    ) -> DeviceArray:
        """Integers in [low, high): one read unless the range is a power of two.

        Rejected samples are redrawn in a loop that reads their number; here no sample is ever rejected, so
        it is read once (cupy/random/_generator.py:697-812).
        """
        if isinstance(low, DeviceMemory) or isinstance(high, DeviceMemory):
            raise NotModelledError("random.randint with bounds on the device")
        low, high = (0, low) if high is None else (low, high)
        values = self._state.randint(low, high, size, dtype=np.int64)
        self._read_rejected(int(high) - int(low), np.size(values))
        return _finish("randint", values, dtype)

    def _read_rejected(self, width: int, count: int) -> None:
        if count and width & (width - 1):
            boundary.read_back(4)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> DeviceArray:
        """Elements drawn with replacement; ``p`` is checked by two reads (:1142, :1144)."""
        if size is None:
            raise NotImplementedError("choice() takes a size on the device")
        if not replace:
            raise NotModelledError("random.choice(replace=False)", "use permutation(a)[:size]")
        count = int(a) if isinstance(a, int) else len(a)
        if p is None:
            picked = self._state.randint(0, count, size)
            self._read_rejected(count, np.size(picked))
        else:
            weights = np.asarray(_host(array(p)))
            boundary.read_back(1)
            boundary.read_back(weights.itemsize)
            picked = self._state.choice(count, size, p=weights.astype(np.float64))
        values = picked if isinstance(a, int) else _host(array(a, copy=None))[picked]
        return _finish("choice", values, values.dtype)

    def permutation(self, a: Any) -> DeviceArray:
        """A shuffled range, or a shuffled copy."""
        order = self._state.permutation(a if isinstance(a, int) else len(a))
        values = order if isinstance(a, int) else a._memory[order]
        return _finish("permutation", values, values.dtype)

    def shuffle(self, a: DeviceArray) -> None:
        """Shuffle in place along the first axis."""
        set_item(a._memory, slice(None), self.permutation(a))


class Generator:
    """The new generator (``cupy.random.Generator``); none of these read anything back."""

    def __getattr__(self, name: str) -> Any:
        raise _not_modelled("Generator", name)

    def __init__(self, seed: int | None = None) -> None:
        self._generator = np.random.default_rng(seed)

    def random(self, size: Any = None, dtype: npt.DTypeLike = np.float64) -> DeviceArray:
        """Uniform in [0, 1)."""
        return _finish("random", self._generator.random(size), dtype)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> DeviceArray:
        """Uniform in [low, high), between host numbers."""
        return _finish("uniform", self._generator.uniform(low, high, size), np.float64)

    def standard_normal(self, size: Any = None, dtype: npt.DTypeLike = np.float64) -> DeviceArray:
        """Standard normal."""
        return _finish("standard_normal", self._generator.standard_normal(size), dtype)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: npt.DTypeLike = np.int64,
        endpoint: bool = False,
    ) -> DeviceArray:
        """Integers in [low, high), between host integers."""
        drawn = self._generator.integers(low, high, size, np.int64, endpoint)
        return _finish("integers", drawn, dtype)


def default_rng(seed: int | Generator | None = None) -> Generator:
    """A ``Generator`` from a seed."""
    return seed if isinstance(seed, Generator) else Generator(seed)


_shared = RandomState()


def get_random_state() -> RandomState:
    """The generator behind the module's functions."""
    return _shared


def seed(seed: int | None = None) -> None:
    """Start the module's generator again from a seed."""
    _shared.seed(seed)


for _name in dir(RandomState):
    if not _name.startswith("_") and _name != "seed":
        globals()[_name] = getattr(_shared, _name)
random = ranf = sample = _shared.random_sample


def __getattr__(name: str) -> Any:
    if hasattr(np.random, name):
        raise NotModelledError(f"random.{name}")
    raise AttributeError(f"the simulated random module has no attribute {name!r}")
