"""A device that refuses everything but what neither copies nor waits, and truth by plain loops."""

import json
import math
import operator
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture(scope="session")
def golden():
    return lambda name: json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.fixture
def device():
    return StrictDevice()


@pytest.fixture(scope="session")
def plain_cross_entropy():
    return _plain_cross_entropy


@pytest.fixture(scope="session")
def numeric_gradient():
    return _numeric_gradient


class StrictDevice:
    """A namespace with the few functions the ops may use. ``reads`` counts copies to the host, in bytes."""

    __name__ = "strict"
    functions = (
        "arange",
        "ascontiguousarray",
        "bitwise_and",
        "empty",
        "exp",
        "full",
        "log",
        "maximum",
        "multiply",
        "subtract",
        "where",
    )

    def __init__(self):
        self.reads = []
        self.calls = set()

    def array(self, host):
        return StrictArray(self, np.array(host))

    def fetch(self, array):
        assert type(array) is StrictArray, f"{array!r} is not on the device"
        return array.memory

    def __getattr__(self, name):
        if name not in self.functions:
            raise AttributeError(f"the strict device has no function {name}")
        self.calls.add(name)
        if name == "where":
            return self.where
        return lambda *arguments, **options: self.run(getattr(np, name), arguments, options)

    def where(self, condition, x, y):
        # CuPy's where() calls a method of its condition, so a Python bool will not do.
        assert isinstance(condition, StrictArray), f"where({condition!r}, ...)"
        return self.run(np.where, (condition, x, y), {})

    def run(self, function, arguments, options):
        for value in (*arguments, *options.values()):
            if isinstance(value, np.ndarray | list):
                raise TypeError(f"{type(value).__name__} given to {function!r} on a device")
        out = options.pop("out", None)
        if out is not None:
            options["out"] = out.memory
        with np.errstate(all="ignore"):
            result = function(*[_memory_of(a) for a in arguments], **options)
        return StrictArray(self, np.asarray(result)) if out is None else out


def _method(name):
    def call(array, *arguments, **options):
        if name == "take":
            _check_index(array.size, arguments[0])
        return array.device.run(getattr(np.ndarray, name), (array, *arguments), options)

    return call


def _operator(function, *, reflected=False):
    def call(array, *other):
        return array.device.run(function, (*other, array) if reflected else (array, *other), {})

    return call


def _in_place(function):
    def call(array, other):
        if isinstance(other, np.ndarray):
            raise TypeError("a host array met a device array")
        with np.errstate(all="ignore"):
            assert function(array.memory, _memory_of(other)) is array.memory
        return array

    return call


def _refuse(*arguments, **options):
    raise AssertionError("a value was looked at: on a device that copies and waits")


class StrictArray:
    def __init__(self, device, memory):
        self.device = device
        self.memory = memory

    shape = property(lambda self: self.memory.shape)
    dtype = property(lambda self: self.memory.dtype)
    ndim = property(lambda self: self.memory.ndim)
    size = property(lambda self: self.memory.size)
    T = property(lambda self: StrictArray(self.device, self.memory.T))

    def __array_namespace__(self, api_version=None):
        return self.device

    def __float__(self):
        self.device.reads.append(self.memory.nbytes)
        return float(self.memory)

    __bool__ = __int__ = __index__ = __complex__ = __iter__ = __len__ = __contains__ = _refuse
    __array__ = item = tolist = all = any = argmax = nonzero = __format__ = __reduce__ = _refuse
    __array_ufunc__ = None
    __hash__ = None

    def __getitem__(self, key):
        return StrictArray(self.device, self.memory[_index(self.memory, key)])

    def __setitem__(self, key, value):
        if isinstance(value, np.ndarray):
            raise TypeError("a host array met a device array")
        self.memory[_index(self.memory, key)] = _memory_of(value)


for _name in ("sum", "max", "min", "astype", "reshape", "view", "take", "copy"):
    setattr(StrictArray, _name, _method(_name))
for _name in ("add", "sub", "mul", "truediv", "matmul", "and", "or"):
    _function = getattr(operator, f"__{_name}__")
    setattr(StrictArray, f"__{_name}__", _operator(_function))
    setattr(StrictArray, f"__r{_name}__", _operator(_function, reflected=True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg"):
    setattr(StrictArray, f"__{_name}__", _operator(getattr(operator, f"__{_name}__")))
for _name in ("iadd", "isub", "imul", "itruediv"):
    setattr(StrictArray, f"__{_name}__", _in_place(getattr(operator, f"__{_name}__")))


def _memory_of(value):
    return value.memory if isinstance(value, StrictArray) else value


def _index(memory, key):
    if isinstance(key, slice):
        return key
    _check_index(memory.shape[0], key)
    return key.memory


def _check_index(extent, key):
    # CuPy wraps an index out of range without a word, so here it is an error.
    assert type(key) is StrictArray, f"index {key!r} is not on the device"
    assert key.dtype.kind in "iu", "a mask as an index copies and waits"
    assert ((key.memory >= 0) & (key.memory < extent)).all(), "index out of range"


def _plain_cross_entropy(
    x,
    target,
    *,
    ignore_index=None,
    label_smoothing=0.0,
    weight=None,
    reduction="mean",
    dy=None,
):
    """Loss and gradient in float64 with loops over rows and classes, straight from the definition.

    ``target`` is (N,) ids or (N, C) class weights. Returns the loss and d(sum(loss * dy)) / dx.
    """
    rows, classes = x.shape
    by_class = [1.0] * classes if weight is None else [float(w) for w in weight]
    losses, gradient, divisor = [], np.zeros((rows, classes)), 0.0
    for i in range(rows):
        given = [0.0] * classes
        if target.ndim == 1:
            label = int(target[i])
            if label == ignore_index:
                losses.append(0.0)
                continue
            given[label] = 1.0
            divisor += by_class[label]
        else:
            given = [float(v) for v in target[i]]
            divisor += 1.0
        t = [
            w * ((1.0 - label_smoothing) * v + label_smoothing / classes)
            for v, w in zip(given, by_class, strict=True)
        ]
        logits = [float(v) for v in x[i]]
        top = max(logits)
        exponentials = [math.exp(v - top) for v in logits]
        total = math.fsum(exponentials)
        losses.append(
            math.fsum(
                v * (math.log(total) - (z - top)) for v, z in zip(t, logits, strict=True) if v
            )
        )
        for c in range(classes):
            gradient[i, c] = exponentials[c] / total * math.fsum(t) - t[c]
    upstream = np.ones(rows) if dy is None else np.broadcast_to(np.asarray(dy, float), (rows,))
    if reduction == "none":
        return np.array(losses), gradient * upstream[:, None]
    scale = divisor if reduction == "mean" else 1.0
    return math.fsum(losses) / scale, gradient * (upstream[:1] / scale)


def _numeric_gradient(function, x, *, step=1e-5):
    """Central differences of a scalar ``function`` at float64 ``x``; error of the order of step**2."""
    gradient = np.empty(x.shape)
    for index in np.ndindex(*x.shape):
        above, below = x.copy(), x.copy()
        above[index] += step
        below[index] -= step
        gradient[index] = (float(function(above)) - float(function(below))) / (2 * step)
    return gradient
