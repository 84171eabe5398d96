"""The legacy generator, ``cupy.random.RandomState`` (cupy/random/_generator.py).

Values come from NumPy's generator with the given seed, so they differ from cuRAND's; counts do not depend on
them. A distribution puts its parameters on the device; where CuPy checks one there, that is one read each.
Parameters that CuPy does not check and NumPy refuses give values nobody knows, so they are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.probes.simulated import boundary
from harness.probes.simulated.array import DeviceArray, wrap
from harness.probes.simulated.creation import array
from harness.probes.simulated.host_knowledge import REFUSALS
from harness.probes.simulated.indexing import set_item
from harness.probes.simulated.operation import named_parameters
from harness.probes.simulated.refusal import absent, not_modelled
from harness.probes.simulated.storage import DeviceMemory, is_scalar

__all__ = ["DISTRIBUTIONS", "RandomState", "drawn", "parameter"]

DISTRIBUTIONS = """
beta                  a b                              float
binomial              n p                              int
chisquare             df                               float
dirichlet             alpha                            float
exponential           scale=1                          float  scale<0
f                     dfnum dfden                      float
gamma                 shape scale=1                    float
geometric             p                                int
gumbel                loc=0 scale=1                    float
hypergeometric        ngood nbad nsample               int
laplace               loc=0 scale=1                    float
logistic              loc=0 scale=1                    float
lognormal             mean=0 sigma=1                   float
logseries             p                                int    p<=0 p>=1
negative_binomial     n p                              int    n<=0 p<0 p>1
noncentral_chisquare  df nonc                          float  df<=0 nonc<0
noncentral_f          dfnum dfden nonc                 float  dfnum<=0 dfden<=0 nonc<0
normal                loc=0 scale=1                    float
pareto                a                                float
poisson               lam=1                            int
power                 a                                float  a<0
rayleigh              scale=1                          float  scale<0
standard_gamma        shape                            float
standard_t            df                               float
triangular            left mode right                  float  left>mode mode>right left==right
uniform               low=0 high=1                     float
vonmises              mu kappa                         float
wald                  mean scale                       float
weibull               a                                float  a<0
zipf                  a                                int    a<=1
"""
"""Name, parameters, kind of the values, and what is checked on the device in this order, each check one read."""

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": np.less_equal,
    ">=": np.greater_equal,
    "==": np.equal,
    "<": np.less,
    ">": np.greater,
}


def parameter(value: Any) -> Any:
    """A parameter as NumPy takes it, once it is on the device: a host list or array costs one copy."""
    made = array(value, copy=None)
    return made._memory if isinstance(made, DeviceMemory) else made


def drawn(name: str, values: Any, dtype: npt.DTypeLike) -> DeviceArray:
    """Values as a device array, by one kernel."""
    with np.errstate(all="ignore"):
        made = np.asarray(values).astype(dtype)
    if made.size:
        boundary.kernel(name)
    result: DeviceArray = wrap(made)
    return result


def _check(condition: str, parameters: Mapping[str, Any]) -> None:
    """One check on the device: a read of the answer, ``ValueError`` when it is yes."""
    sign = next(sign for sign in _COMPARISONS if sign in condition)
    left, right = condition.split(sign)
    limit = parameters[right] if right in parameters else float(right)
    boundary.read_back(1)
    if np.any(_COMPARISONS[sign](parameters[left], limit)):
        raise ValueError(f"{left} {sign} {right}")


def _distribution(name: str, text: str, kind: str, checks: list[str]) -> Callable[..., DeviceArray]:
    names = [word.partition("=")[0] for word in text.split()]
    defaults = dict(word.split("=") for word in text.split() if "=" in word)
    order = (*names, "size", "dtype")

    def draw(self: RandomState, *args: Any, **kwargs: Any) -> DeviceArray:
        if len(args) > len(order) or not kwargs.keys() <= set(order[len(args) :]):
            raise TypeError(f"random.{name}() takes {', '.join(order)}, each once")
        given = dict(zip(order, args, strict=False)) | kwargs
        dtype = given.pop("dtype", float if kind == "float" else int)
        size = given.pop("size", None)
        missing = [each for each in names if each not in given and each not in defaults]
        if missing:
            raise TypeError(f"random.{name}() lacks {missing[0]!r}")
        on_device = {
            each: parameter(given.get(each, float(defaults.get(each, 0)))) for each in names
        }
        for check in checks:
            _check(check, on_device)
        try:
            values = getattr(self._state, name)(**on_device, size=size)
        except REFUSALS as error:
            raise not_modelled(f"xp.random.{name} of these parameters") from error
        return drawn(name, values, dtype)

    draw.__name__ = name
    draw.__doc__ = f"``{name}`` of its parameters; {len(checks)} read(s) to check them."
    draw.__signature__ = named_parameters("self", *order)  # type: ignore[attr-defined]
    return draw


class RandomState:
    """The legacy generator; draws of ``randint`` are rejected, and counted by a read, unless the range is 2**n."""

    def __init__(self, seed: int | None = None, method: Any = None) -> None:
        self._state = np.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        raise absent("random.RandomState", name)

    def seed(self, seed: int | None = None) -> None:
        """Start again from a seed."""
        self._state.seed(seed)

    def rand(self, *size: int, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Uniform in [0, 1), shape by position."""
        return self.random_sample(size, dtype)

    def randn(self, *size: int, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Standard normal, shape by position."""
        return self.standard_normal(size, dtype)

    def random_sample(self, size: Any = None, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Uniform in [0, 1)."""
        return drawn("random_sample", self._state.random_sample(size), dtype)

    def standard_normal(self, size: Any = None, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Standard normal."""
        return drawn("standard_normal", self._state.standard_normal(size), dtype)

    def standard_cauchy(self, size: Any = None, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Standard Cauchy."""
        return drawn("standard_cauchy", self._state.standard_cauchy(size), dtype)

    def standard_exponential(self, size: Any = None, dtype: npt.DTypeLike = float) -> DeviceArray:
        """Standard exponential."""
        return drawn("standard_exponential", self._state.standard_exponential(size), dtype)

    def tomaxint(self, size: Any = None) -> DeviceArray:
        """Integers in [0, 2**63)."""
        return drawn("tomaxint", self._state.tomaxint(size), np.int64)

    def randint(
        self, low: Any, high: Any = None, size: Any = None, dtype: npt.DTypeLike = int
    ) -> DeviceArray:
        """Integers in [low, high): one read unless the range is a power of two.

        Rejected samples are redrawn in a loop that reads their number; here no sample is ever rejected, so
        it is read once (cupy/random/_generator.py:697-812). Bounds in an array are always read for.
        """
        if is_scalar(low):
            # A device array as the other bound is read by int(), as in CuPy.
            low, high = (0, int(low)) if high is None else (int(low), int(high))
            values = self._state.randint(low, high, size, dtype=np.int64)
            self._read_rejected(high - low, np.size(values))
            return drawn("randint", values, dtype)
        bounds = parameter(low)
        bounds, top = (np.zeros_like(bounds), bounds) if high is None else (bounds, parameter(high))
        shape = np.broadcast_shapes(bounds.shape, np.shape(top)) if size is None else size
        if np.prod(shape, dtype=int):
            boundary.read_back(4)
        try:
            values = self._state.randint(bounds, top, shape, dtype=np.int64)
        except ValueError as error:
            raise not_modelled("xp.random.randint of these bounds") from error
        return drawn("randint", values, dtype)

    def _read_rejected(self, width: int, count: int) -> None:
        if count and width & (width - 1):
            boundary.read_back(4)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> DeviceArray:
        """Elements drawn; with ``p``, which is checked by two reads, or without replacement (:1113-1188)."""
        count, elements = (a, None) if isinstance(a, int) else (None, parameter(a))
        count = len(elements) if elements is not None else int(a)
        weights = None if p is None else self._weights(p, count)
        if size is None:
            raise NotImplementedError("choice() takes a size on the device")
        if not replace:
            return self._without_replacement(elements, count, size, weights)
        if weights is not None:
            picked = self._state.choice(count, size, p=weights / weights.sum())
        else:
            picked = self._state.randint(0, count, size)
            self._read_rejected(count, np.size(picked))
        values = picked if elements is None else elements[picked]
        return drawn("choice", values, values.dtype)

    def _weights(self, p: Any, count: int) -> Any:
        made = array(p)
        weights = made._memory if isinstance(made, DeviceMemory) else made
        if weights.shape != (count,):
            raise ValueError(f"p has shape {weights.shape} for {count} elements")
        boundary.read_back(1)
        if (weights < 0).any():
            raise ValueError("probabilities are not negative")
        boundary.read_back(weights.itemsize)
        if not np.allclose(weights.sum(), 1):
            raise ValueError("probabilities sum to 1")
        return weights.astype(np.float64)

    def _without_replacement(
        self, elements: Any, count: int, size: Any, weights: Any
    ) -> DeviceArray:
        if weights is not None:
            raise NotImplementedError("choice() without replacement takes no p on the device")
        wanted = int(np.prod(size, dtype=int))
        if count < wanted:
            raise ValueError(f"{wanted} of {count} elements cannot be drawn without replacement")
        order = self._state.permutation(count)[:wanted].reshape(size)
        values = order if elements is None else elements[order]
        return drawn("choice", values, values.dtype)

    def permutation(self, a: Any) -> DeviceArray:
        """A shuffled range, or a shuffled copy."""
        order = self._state.permutation(a if isinstance(a, int) else len(a))
        values = order if isinstance(a, int) else a._memory[order]
        return drawn("permutation", values, values.dtype)

    def shuffle(self, a: Any) -> None:
        """Shuffle in place along the first axis."""
        if not isinstance(a, DeviceArray) or not a.ndim:
            raise TypeError("shuffle() takes a device array with an axis")
        set_item(a._memory, slice(None), self.permutation(a))


for _row in DISTRIBUTIONS.strip().splitlines():
    _name, *_words = _row.split()
    _kind = next(position for position, word in enumerate(_words) if word in ("float", "int"))
    _parameters, _checks = " ".join(_words[:_kind]), _words[_kind + 1 :]
    setattr(RandomState, _name, _distribution(_name, _parameters, _words[_kind], _checks))
