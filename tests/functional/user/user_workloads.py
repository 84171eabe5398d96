"""Workloads as a user of the harness writes them: good ones, and ones that break the contract."""

import sys
import time
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Double:
    """y = 2 x; the base every broken case differs from in one thing."""

    name: str = "small"
    parameters: dict = field(default_factory=lambda: {"shape": "64", "dtype": "float32"})
    timed: bool = True
    throughput: tuple = ("elements", 64.0, 512)
    budget: dict = field(
        default_factory=lambda: {
            "forward": {"d2h": 0, "h2d": 0, "syncs": 0, "because": "doubling needs no host"}
        }
    )
    tolerances: dict = field(
        default_factory=lambda: {"y": {"dtype": "float32", "reduction_length": 1}}
    )
    gradients: dict = field(default_factory=dict)
    loss: str | None = None

    def inputs(self, seed):
        return {"x": np.random.default_rng(seed).normal(size=64).astype(np.float32)}

    def run(self, inputs, region):
        with region("forward"):
            return {"y": self.double(inputs["x"])}

    def double(self, x):
        return x * 2

    def expected(self, inputs):
        return {"y": inputs["x"].astype(np.float64) * 2}


class Reads(Double):
    def double(self, x):
        return x * 2 if float(x[0]) > -1e9 else x


class ReadsOutside(Double):
    """What its budget says nothing about, and only a baseline does."""

    def run(self, inputs, region):
        outputs = super().run(inputs, region)
        float(outputs["y"][0])
        return outputs


class Raises(Double):
    def double(self, x):
        raise RuntimeError("cannot double\nthis")


class WrongShape(Double):
    def double(self, x):
        return (x * 2)[:-1]


class NotANumber(Double):
    def double(self, x):
        return x * np.float32("nan")


class OnTheHost(Double):
    def double(self, x):
        return np.asarray(x.get() * 2) if hasattr(x, "get") else x * 2


class NoRegion(Double):
    def run(self, inputs, region):
        return {"y": inputs["x"] * 2}


class BadBudget(Double):
    @property
    def budget(self):
        return {"forward": {"d2h": 0}}

    @budget.setter
    def budget(self, value):
        pass


class Overwrites(Double):
    def double(self, x):
        x *= 2
        return x.copy()


class Unmodelled(Double):
    def double(self, x):
        return np.fft.fft(x)


class Slower(Double):
    """The same numbers with ten times the work."""

    def double(self, x):
        for _ in range(20):
            y = x * 2
        return y


class LeavesInRun(Double):
    def double(self, x):
        sys.exit(0)


class LeavesInOracle(Double):
    def expected(self, inputs):
        sys.exit(0)


class Sleeps(Double):
    def double(self, x):
        time.sleep(60)


@dataclass(frozen=True)
class One:
    case: object
    name: str = "double"
    summary: str = "doubles its input"

    def cases(self):
        return (self.case,)


GOOD = One(Double())
ALSO_GOOD = One(Double(), name="also_double")
LEAVES_IN_RUN = One(LeavesInRun(), name="leaves_in_run")
LEAVES_IN_ORACLE = One(LeavesInOracle(), name="leaves_in_oracle")
SLEEPS = One(Sleeps(), name="sleeps")
READS = One(Reads(), name="reads")
READS_OUTSIDE = One(ReadsOutside())
RAISES = One(Raises(), name="raises")
WRONG_SHAPE = One(WrongShape(), name="wrong_shape")
NOT_A_NUMBER = One(NotANumber(), name="not_a_number")
ON_THE_HOST = One(OnTheHost(), name="on_the_host")
NO_REGION = One(NoRegion(), name="no_region")
BAD_BUDGET = One(BadBudget(), name="bad_budget")
OVERWRITES = One(Overwrites(), name="overwrites")
UNMODELLED = One(Unmodelled(), name="unmodelled")
NO_CASES = type("Empty", (), {"name": "empty", "summary": "", "cases": lambda self: ()})()
NOT_A_WORKLOAD = 3
