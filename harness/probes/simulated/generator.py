"""The new generator, ``cupy.random.Generator`` (cupy/random/_generator_api.pyx): it never reads anything back.

A parameter that is an array on the device goes to the kernel by its address, shape and strides, which are copied
to the device: one small copy per such parameter, and a number counts as one too (:48, :1057).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.model.event import MemoryKind
from harness.probes.simulated import boundary
from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.host_knowledge import REFUSALS
from harness.probes.simulated.operation import named_parameters
from harness.probes.simulated.random_state import drawn
from harness.probes.simulated.refusal import absent, not_modelled
from harness.probes.simulated.storage import DeviceMemory
from harness.probes.simulated.transfer import upload

__all__ = ["XORWOW", "BitGenerator", "Generator", "MRG32k3a", "Philox4x3210", "default_rng"]

_INT64_BYTES = 8

DISTRIBUTIONS = """
beta            a b                 float
binomial        n p                 int
geometric       p                   int
hypergeometric  ngood nbad nsample  int
logseries       p                   int
poisson         lam=1               int
"""
"""Name, parameters and kind of the values of those that take their parameters as arrays."""


class BitGenerator:
    """Where the bits come from; NumPy's default generator here, whatever the class."""

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        self.lock = None
        self.numbers = np.random.default_rng(seed)


class XORWOW(BitGenerator):
    """CuPy's default."""


class MRG32k3a(BitGenerator):
    """One of CuPy's."""


class Philox4x3210(BitGenerator):
    """One of CuPy's."""


class Generator:
    """Draws from a ``BitGenerator``."""

    def __init__(self, bit_generator: BitGenerator) -> None:
        if not isinstance(bit_generator, BitGenerator):
            raise TypeError("Generator() takes a BitGenerator, default_rng() a seed")
        self.bit_generator = bit_generator
        self._generator = bit_generator.numbers

    def __getattr__(self, name: str) -> Any:
        raise absent("random.Generator", name)

    def random(
        self, size: Any = None, dtype: npt.DTypeLike = np.float64, out: DeviceArray | None = None
    ) -> DeviceArray:
        """Uniform in [0, 1)."""
        values = self._generator.random(_size(size, out))
        return _finish("random", values, dtype, out)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: npt.DTypeLike = np.float64
    ) -> DeviceArray:
        """Uniform in [low, high)."""
        bounds = [_memory(bound, "uniform", sequences=True) for bound in (low, high)]
        if size is None:
            size = np.broadcast_shapes(*map(np.shape, bounds))
        uniform = self._generator.random(size)
        return drawn("uniform", bounds[0] + (bounds[1] - bounds[0]) * uniform, dtype)

    def standard_normal(
        self, size: Any = None, dtype: npt.DTypeLike = np.float64, out: DeviceArray | None = None
    ) -> DeviceArray:
        """Standard normal."""
        values = self._generator.standard_normal(_size(size, out))
        return _finish("standard_normal", values, dtype, out)

    def standard_exponential(
        self,
        size: Any = None,
        dtype: npt.DTypeLike = np.float64,
        method: str = "inv",
        out: DeviceArray | None = None,
    ) -> DeviceArray:
        """Standard exponential."""
        if method == "zig":
            raise NotImplementedError("the ziggurat method is not supported, here or in CuPy")
        values = self._generator.standard_exponential(_size(size, out))
        return _finish("standard_exponential", values, dtype, out)

    def standard_gamma(
        self,
        shape: Any,
        size: Any = None,
        dtype: npt.DTypeLike = np.float64,
        out: DeviceArray | None = None,
    ) -> DeviceArray:
        """Standard gamma: its shape costs one small copy."""
        shapes = _memory(shape, "standard_gamma")
        size = _size(np.shape(shapes) if size is None and out is None else size, out)
        _describe(shapes, size)
        values = _valid("standard_gamma", lambda: self._generator.standard_gamma(shapes, size))
        return _finish("standard_gamma", values, dtype, out)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> DeviceArray:
        """Gamma: its shape costs one small copy."""
        if size is None:
            size = np.broadcast_shapes(np.shape(_bare(shape)), np.shape(_bare(scale)))
        made = self.standard_gamma(shape, size)
        made *= scale
        return made

    def chisquare(self, df: Any, size: Any = None) -> DeviceArray:
        """Chi-square: half its degrees of freedom are a shape, which costs one small copy."""
        degrees = _memory(df, "chisquare")
        size = np.shape(degrees) if size is None else size
        made = self.standard_gamma(_as_device(degrees / 2), size)
        made *= 2
        return made

    def exponential(self, scale: Any = 1.0, size: Any = None) -> DeviceArray:
        """Exponential."""
        scales = _memory(scale, "exponential")
        made = self.standard_exponential(np.shape(scales) if size is None else size)
        made *= _as_device(scales)
        return made

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: npt.DTypeLike = np.int64,
        endpoint: bool = False,
    ) -> DeviceArray:
        """Integers in [low, high); a bound on the device is read by ``int()``."""
        bounds = (0, int(low)) if high is None else (int(low), int(high))
        values = self._generator.integers(*bounds, size, np.int64, endpoint)
        return drawn("integers", values, dtype)


def default_rng(seed: Any = None) -> Generator:
    """A ``Generator`` from a seed, a ``BitGenerator`` or another ``Generator``, which is returned."""
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else XORWOW(seed))


def _bare(value: Any) -> Any:
    return value._memory if isinstance(value, DeviceMemory) else value


def _as_device(memory: Any) -> Any:
    array = DeviceArray.__new__(DeviceArray)
    array._memory = np.asarray(memory)
    return array


def _memory(value: Any, name: str, *, sequences: bool = False) -> Any:
    """A parameter as NumPy takes it; a number fills a 0-d array, other host values are refused by most."""
    if isinstance(value, DeviceMemory):
        return value._memory
    if type(value) in (float, int):
        boundary.kernel("fill")
        return np.asarray(value)
    if sequences:
        return upload(value)
    raise TypeError(f"{name}() takes device arrays and numbers")


def _describe(memory: Any, size: Any) -> None:
    """Address, axes, lengths and strides of one parameter, broadcast to the size drawn."""
    axes = len(np.zeros(size, np.int8).shape) if not isinstance(size, tuple) else len(size)
    if np.prod(size, dtype=int):
        boundary.host_to_device((2 + 2 * axes) * _INT64_BYTES, source=MemoryKind.PINNED)


def _size(size: Any, out: DeviceArray | None) -> Any:
    if size is None:
        return () if out is None else out.shape
    return size if isinstance(size, tuple) else (size,)


def _finish(name: str, values: Any, dtype: npt.DTypeLike, out: DeviceArray | None) -> DeviceArray:
    made = drawn(name, values, dtype)
    if out is None:
        return made
    if out.dtype != made.dtype:
        raise TypeError(f"out has dtype {out.dtype}, not {made.dtype}")
    if out.shape != made.shape:
        raise ValueError(f"out has shape {out.shape}, not {made.shape}")
    out._memory[...] = made._memory
    return out


def _valid(name: str, draw: Callable[[], Any]) -> Any:
    try:
        return draw()
    except REFUSALS as error:
        raise not_modelled(f"xp.random.Generator.{name} of these parameters") from error


def _distribution(name: str, text: str, kind: str) -> Callable[..., DeviceArray]:
    names = [word.partition("=")[0] for word in text.split()]
    defaults = dict(word.split("=") for word in text.split() if "=" in word)
    order = (*names, "size", "dtype") if name == "beta" else (*names, "size")

    def draw(self: Generator, *args: Any, **kwargs: Any) -> DeviceArray:
        if len(args) > len(order) or not kwargs.keys() <= set(order[len(args) :]):
            raise TypeError(f"{name}() takes {', '.join(order)}, each once")
        given = dict(zip(order, args, strict=False)) | kwargs
        missing = [each for each in names if each not in given and each not in defaults]
        if missing:
            raise TypeError(f"{name}() lacks {missing[0]!r}")
        parameters = [
            _memory(given.get(each, float(defaults.get(each, 0))), name) for each in names
        ]
        size = given.get("size")
        if size is None:
            size = np.broadcast_shapes(*map(np.shape, parameters))
        for memory in parameters:
            _describe(memory, _size(size, None))
        values = _valid(name, lambda: getattr(self._generator, name)(*parameters, size=size))
        return drawn(name, values, given.get("dtype", np.float64 if kind == "float" else np.int64))

    draw.__name__ = name
    draw.__doc__ = f"``{name}`` of its parameters, each one small copy."
    draw.__signature__ = named_parameters("self", *order)  # type: ignore[attr-defined]
    return draw


for _row in DISTRIBUTIONS.strip().splitlines():
    _name, *_parameters, _kind = _row.split()
    setattr(Generator, _name, _distribution(_name, " ".join(_parameters), _kind))
