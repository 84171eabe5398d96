"""The ticket's mlp.py under test: 1001 steps of training that read the loss eleven times and nothing else.

Source: examples/autograd/mlp.py of Apache SINGA at commit 7baf2c40 (SINGA-502), seeded as its successor
examples/mlp/native.py is: 400 points either side of the line ``5x + 1``, a 2 -> 3 -> 2 network, the whole
batch in every step, plain gradient descent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reference_impl.autograd import Operation, backward, training
from reference_impl.backend import namespace
from reference_impl.nn import Module
from reference_impl.ops import (
    HostRoundTripSoftMaxCrossEntropy,
    SoftMaxCrossEntropy,
    add_bias,
    matmul,
    relu,
)
from reference_impl.optim import SGD
from reference_impl.oracle import mlp as oracle
from reference_impl.tensor import Tensor
from reference_impl.workloads import frozen_mlp as yardstick
from reference_impl.workloads.mnist_cnn_metrics import on_host
from reference_impl.workloads.training_record import Record, mlp_record

__all__ = [
    "CONTROL",
    "DATA",
    "EVERY",
    "LEARNING_RATE",
    "PRE_FIX",
    "STEPS",
    "WORKLOAD",
    "MlpCase",
    "MlpWorkload",
    "Network",
    "printed",
]

Arrays = Mapping[str, Any]
Region = Callable[[str], AbstractContextManager[None]]
OperationFactory = Callable[..., Operation]

POINTS = 400
STEPS = 1001
EVERY = 100
READS = len(range(0, STEPS, EVERY))
LEARNING_RATE = 0.05
PARAMETERS = ("w0", "b0", "w1", "b1")
DATA = "400 points either side of the line 5x + 1, drawn from the seed"


class Network(Module):
    """Two layers with a rectifier between them; its parameters are copies of those given."""

    def __init__(self, parameters: Arrays) -> None:
        self.w0, self.b0, self.w1, self.b1 = (
            Tensor(parameters[name].copy(), stores_grad=True, name=name) for name in PARAMETERS
        )

    def __call__(self, x: Tensor) -> Tensor:
        """Logits (N, 2) of points (N, 2)."""
        hidden = relu(add_bias(matmul(x, self.w0), self.b0))
        return add_bias(matmul(hidden, self.w1), self.b1)


@dataclass(frozen=True, kw_only=True)
class MlpCase:
    """The program in one dtype, with the op its loss is computed by; ``lazy`` reads all losses at once, at the end."""

    dtype: str
    op: OperationFactory
    timed: bool = False
    lazy: bool = False

    @property
    def name(self) -> str:
        """The dtype, and what it is lazy with."""
        return f"{self.dtype}-lazy_metrics" if self.lazy else self.dtype

    @property
    def parameters(self) -> Mapping[str, str]:
        """What the program trains, and for how long."""
        return {
            "network": "2-3-2, ReLU",
            "shape": f"{POINTS}x2",
            "dtype": self.dtype,
            "labels": "int32 one-hot rows",
            "steps": str(STEPS),
            "learning rate": str(LEARNING_RATE),
        }

    @property
    def throughput(self) -> tuple[str, float, int]:
        """Steps; each must at least read its points and labels."""
        bytes_per_step = POINTS * 2 * (np.dtype(self.dtype).itemsize + np.dtype(np.int32).itemsize)
        return "steps", float(STEPS), STEPS * bytes_per_step

    @property
    def flops(self) -> float:
        """Operations of all steps: a multiply-add is two, every other operation on one number is one.

        Per point: the two products forward (12 multiply-adds), theirs backward (18, as points need no gradient), and 31
        more: biases and their gradients (2 of 5 additions), the rectifier (3, and 3 backward), softmax cross-entropy (5
        for each of two logits, 5 for the row). A step updates 17 parameters by a product and a subtraction.
        """
        return float(STEPS * (POINTS * (2 * (12 + 18) + 31) + 2 * 17))

    @property
    def budget(self) -> Mapping[str, Mapping[str, object]]:
        """Eleven reads of one number, because the program prints eleven losses, or one of all; nothing else."""
        nothing: Mapping[str, object] = {"d2h": 0, "h2d": 0, "syncs": 0, "blocking_copies": 0}
        reads: Mapping[str, object] = {
            "d2h": 1 if self.lazy else READS,
            "d2h_bytes": READS * np.dtype(self.dtype).itemsize,
            "h2d": 0,
            "syncs": 1 if self.lazy else READS,
        }
        printed_losses = f"the program prints the loss of every {EVERY}th of its {STEPS} steps, and reads it then"
        if self.lazy:
            printed_losses = (
                f"the {READS} losses are kept on the device, and read together at the end"
            )
        kept = {**nothing, "because": "losses are kept where they are"}
        metrics = {"metrics": kept, "epoch": reads} if self.lazy else {"metrics": reads}
        return {
            "forward": {**nothing, "because": "points and parameters are on the device"},
            "loss": {**nothing, "because": "the loss is a number on the device (SINGA-502)"},
            "backward": {**nothing, "because": "gradients start from a loss that is on the device"},
            "update": {**nothing, "because": "parameters are updated where they are"},
            **{region: {"because": printed_losses, **limits} for region, limits in metrics.items()},
            "run": {**reads, "because": printed_losses},
        }

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """Ten times the largest errors of plain NumPy against the oracle over seeds 0 to 99."""
        if self.dtype == "float64":
            because = "2e-15 seen in 100 seeds: a thousand steps, each of which corrects the rounding of the last"
            bound = {"relative": 1e-12, "absolute": 1e-13, "because": because, "dtype": "float64"}
            return dict.fromkeys(("losses", *PARAMETERS), bound)
        # In some seeds a point passes the kink of the rectifier one step earlier in float32 than in float64.
        losses = {
            "relative": 8e-5,
            "absolute": 0.0,
            "because": "8e-6 seen in 100 seeds (4e-7 in seed 0), whose points pass the rectifier's kink",
            "dtype": "float32",
        }
        parameters = {
            "relative": 0.0,
            "absolute": 8e-4,
            "because": "8e-5 seen in 100 seeds (1e-6 in seed 0), whose points pass the rectifier's kink",
            "dtype": "float32",
        }
        return {"losses": losses, **dict.fromkeys(PARAMETERS, parameters)}

    @property
    def gradients(self) -> Mapping[str, str]:
        """None: the outputs are parameters, not gradients."""
        return {}

    @property
    def loss(self) -> str | None:
        """None, as there are no gradients."""
        return None

    def inputs(self, seed: int) -> Arrays:
        """``data``, ``target`` and the first parameters, drawn in the order of the published run."""
        random = np.random.RandomState(seed)
        x = random.uniform(-1, 1, POINTS)
        line = 5 * x + 1
        y = line + 2 * random.randn(POINTS)
        below = (line > y).astype(np.int64)
        values = {
            "data": np.stack([x, y], axis=1),
            "w0": random.normal(0, 0.1, (2, 3)),
            "w1": random.normal(0, 0.1, (3, 2)),
            "b0": np.zeros((1, 3)),
            "b1": np.zeros((1, 2)),
        }
        inputs = {name: value.astype(self.dtype) for name, value in values.items()}
        return {**inputs, "target": np.eye(2, dtype=np.int32)[below]}

    def run(self, inputs: Arrays, region: Region) -> Arrays:
        """Train; ``losses`` (11,) and the last parameters stay on the device, and the losses are read."""
        network, optimizer = Network(inputs), SGD(LEARNING_RATE)
        x = Tensor(inputs["data"], requires_grad=False)
        losses = namespace(x.data).empty(READS, dtype=x.dtype)
        with training():
            for step in range(STEPS):
                with region("forward"):
                    logits = network(x)
                with region("loss"):
                    (loss,) = self.op(inputs["target"])(logits)
                if step % EVERY == 0:
                    with region("metrics"):
                        losses[step // EVERY] = loss.data
                        if not self.lazy:
                            float(loss.data)  # what the program prints, read when it reads it
                with region("backward"):
                    for parameter, gradient in backward(loss):
                        with region("update"):
                            optimizer.update(parameter, gradient)
        if self.lazy:
            with region("epoch"):
                on_host(losses)
        return {"losses": losses, **{name: p.data for name, p in network.parameters.items()}}

    @property
    def training(self) -> Callable[[Arrays], Record] | None:
        """The eleven losses over those of 300 seeds, from host arrays; once, for all cases draw the same curve."""
        return self._trained if self.timed else None

    def _trained(self, inputs: Arrays) -> Record:
        losses = self.run(inputs, lambda region: nullcontext())["losses"]
        return mlp_record([float(loss) for loss in losses], every=EVERY, data=DATA)

    def expected(self, inputs: Arrays) -> Arrays:
        """The same training in float64."""
        truth = oracle.train(
            inputs["data"],
            inputs["target"],
            {name: inputs[name] for name in PARAMETERS},
            steps=STEPS,
            every=EVERY,
            learning_rate=LEARNING_RATE,
        )
        return {"losses": truth.losses, **truth.parameters}

    def peer(self, inputs: Arrays, region: Region) -> Arrays:
        """The same training by frozen plain NumPy, on host arrays."""
        losses, parameters = yardstick.train(
            inputs["data"],
            inputs["target"],
            {name: inputs[name] for name in PARAMETERS},
            steps=STEPS,
            every=EVERY,
            learning_rate=LEARNING_RATE,
        )
        return {"losses": losses, **parameters}


@dataclass(frozen=True, kw_only=True)
class MlpWorkload:
    """The program in float32 and float64, and with lazy metrics, with one op for its loss.

    ``op``: what makes the loss operation, called with the labels. ``names``: the cases it has. ``controls``, and the
    ``control_expects`` of a control: see the harness's ``Workload``.
    """

    op: OperationFactory = SoftMaxCrossEntropy
    names: tuple[str, ...] = ("float32", "float64", "float32-lazy_metrics")
    name: str = "mlp"
    summary: str = (
        "the ticket's mlp.py: 1001 training steps that read the loss eleven times (SINGA-502)"
    )
    controls: Mapping[str, MlpWorkload] = field(default_factory=dict)
    control_expects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def cases(self) -> tuple[MlpCase, ...]:
        """Those named; float32, which the ticket ran, is timed."""
        cases = (
            MlpCase(dtype="float32", op=self.op, timed=True),
            MlpCase(dtype="float64", op=self.op),
            MlpCase(dtype="float32", op=self.op, lazy=True),
        )
        return tuple(case for case in cases if case.name in self.names)


def printed(losses: Iterable[np.floating[Any]]) -> list[str]:
    """The lines the ticket's program prints for its losses: as many digits as their dtype needs."""
    return [f"training loss =  {loss!s}" for loss in losses]


CONTROL = "pre-fix op (SINGA-502)"
"""The label of the op that must be caught in every run."""

PRE_FIX = MlpWorkload(
    op=HostRoundTripSoftMaxCrossEntropy,
    names=("float32", "float32-lazy_metrics"),
    control_expects={
        "forward": {"d2h": 0, "syncs": 0},
        "loss": {"d2h": STEPS, "d2h_bytes": 4 * STEPS, "h2d": 0, "syncs": STEPS},
        "backward": {"d2h": 0, "syncs": 0},
    },
)
"""The program before the fix: one more read in every step, of 4 bytes, within the loss, whoever reads the metrics."""

WORKLOAD = MlpWorkload(controls={CONTROL: PRE_FIX})
