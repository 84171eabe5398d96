"""A small workload for the session's tests; each test changes the one thing it is about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.devices.registry import choose_devices
from harness.session.catalogue import Selection
from harness.session.verify import Settings, verify_case

QUICK = Settings(repeats=2, benchmark=False)


def square_sum(inputs, region):
    """loss = sum of squares, gradient = 2 x."""
    x = inputs["x"]
    with region("forward"):
        loss = (x * x).sum()
    with region("backward"):
        gradient = x * 2
    return {"loss": loss, "gradient": gradient}


def square_sum_truth(inputs):
    x = np.asarray(inputs["x"], dtype=np.float64)
    return {"loss": np.asarray((x * x).sum()), "gradient": 2 * x}


@dataclass(frozen=True, kw_only=True)
class ToyCase:
    name: str = "toy"
    parameters: Mapping[str, str] = field(default_factory=lambda: {"shape": "64"})
    timed: bool = False
    throughput: Any = ("elements", 64.0, 512)
    budget: Any = field(
        default_factory=lambda: {
            "forward": {"d2h": 0, "syncs": 0, "because": "the loss stays on the device"}
        }
    )
    tolerances: Any = field(
        default_factory=lambda: {
            "loss": {"dtype": "float32", "reduction_length": 64, "scale": 64.0},
            "gradient": {"dtype": "float32"},
        }
    )
    gradients: Any = field(default_factory=lambda: {"x": "gradient"})
    loss: str | None = "loss"
    calls: Any = square_sum
    truth: Any = square_sum_truth
    made: Any = lambda seed: {"x": np.random.default_rng(seed).normal(size=64).astype(np.float32)}

    def inputs(self, seed):
        return self.made(seed)

    def run(self, inputs, region):
        return self.calls(inputs, region)

    def expected(self, inputs):
        return self.truth(inputs)


@dataclass(frozen=True, kw_only=True)
class Toy:
    case: ToyCase = ToyCase()
    name: str = "toys"
    summary: str = "a sum of squares"
    controls: Any = field(default_factory=dict)
    control_expects: Any = field(default_factory=dict)

    def cases(self):
        return (self.case,)


def verdict_of(workload=None, *, device="simulated", settings=QUICK, on_fault=None, **changes):
    """The verdict of a toy case with these changes."""
    workload = workload or Toy(case=ToyCase(**changes))
    (case,) = workload.cases()
    told = {"on_fault": on_fault} if on_fault else {}
    return verify_case(
        Selection(workload.name, workload, (case,)),
        case,
        devices=choose_devices(device),
        settings=settings,
        **told,
    )


def result_of(verdict, check):
    """The one result of that name."""
    (result,) = [result for result in verdict.checks if result.check == check]
    return result
