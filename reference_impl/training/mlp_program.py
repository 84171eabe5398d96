"""The ticket's two-layer network: 1001 full-batch steps, whose every hundredth prints its loss.

Source: examples/autograd/mlp.py of Apache SINGA at commit 7baf2c40 (SINGA-502); seed 0 gives the losses that its
successor was published with. A checkpoint is kept each time a loss is read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from reference_impl.autograd import training
from reference_impl.ops import (
    HostRoundTripSoftMaxCrossEntropy,
    SoftMaxCrossEntropy,
    add_bias,
    matmul,
    relu,
)
from reference_impl.optim import SGD
from reference_impl.tensor import Tensor
from reference_impl.training.checkpoint import Identity, Row
from reference_impl.training.command import common_options, positive, write_record
from reference_impl.training.device import Device, device_named, on_host
from reference_impl.training.epochs import train
from reference_impl.training.errors import DivergedError
from reference_impl.training.model import Layer, Model, first_non_finite
from reference_impl.workloads.mlp import (
    DATA,
    EVERY,
    LEARNING_RATE,
    STEPS,
    WORKLOAD,
    Network,
    printed,
)
from reference_impl.workloads.training_record import Record, mlp_record

__all__ = ["MlpProgram", "command"]


class MlpProgram:
    """The program; an epoch is the steps from one printed loss to the next, of which the first is step 0 alone."""

    units = "printed losses"

    def __init__(
        self,
        device: Device,
        *,
        seed: int = 0,
        learning_rate: float = LEARNING_RATE,
        pre_fix: bool = False,
    ) -> None:
        inputs = WORKLOAD.cases()[0].inputs(seed)
        there = device.put_all(inputs)
        self._x, self._t = Tensor(there["data"], requires_grad=False), there["target"]
        self._op = HostRoundTripSoftMaxCrossEntropy if pre_fix else SoftMaxCrossEntropy
        self._usual = learning_rate == LEARNING_RATE
        self.network = Network(there)
        self.model = Model(self.network, SGD(learning_rate), np.random.RandomState(seed), device)
        self.identity = Identity(
            program="mlp",
            seed=seed,
            settings={"device": device.name, "learning rate": learning_rate, "pre-fix op": pre_fix},
        )
        self.epochs = len(range(0, STEPS, EVERY))
        self.shapes = inputs["data"].shape, inputs["target"].shape

    def epoch(self, number: int, *, careful: bool) -> Row:
        """The steps up to ``100 * number``; the loss of the last is read."""
        loss = math.nan
        for step in range(max(0, EVERY * (number - 1) + 1), EVERY * number + 1):
            with training():
                (loss_tensor,) = self._op(self._t)(self.network(self._x))
            if careful or step == EVERY * number:
                value = on_host(loss_tensor.data)
                loss = float(value)
                if careful and not math.isfinite(loss):
                    where = first_non_finite(self._layers(), self._x)
                    raise DivergedError(
                        f"the loss is {loss} at step {step}: {where}; lower --learning-rate"
                    )
            self.model.sgd.step(loss_tensor)
        return {"loss": loss}

    def tell(self, number: int, row: Row) -> None:
        """The ticket's line."""
        (line,) = printed([np.float32(row["loss"])])
        click.echo(line)

    def record(self, history: Sequence[Row]) -> Record:
        """What was done, for a report."""
        losses = [row["loss"] for row in history]
        return mlp_record(losses, every=EVERY, data=DATA, usual=self._usual)

    def _layers(self) -> list[Layer]:
        w0, b0, w1, b1 = self.network.parameters.values()
        return [
            Layer("'linear0' (matmul with w0)", lambda x: matmul(x, w0), (w0,)),
            Layer("'linear0' (add b0)", lambda x: add_bias(x, b0), (b0,)),
            Layer("ReLU", relu),
            Layer("'linear1' (matmul with w1)", lambda x: matmul(x, w1), (w1,)),
            Layer("'linear1' (add b1)", lambda x: add_bias(x, b1), (b1,)),
        ]


@click.command()
@common_options
@click.option("--learning-rate", type=positive(float), default=LEARNING_RATE, show_default=True)
@click.option("--pre-fix", is_flag=True, help="Compute the loss as before the fix of SINGA-502.")
def command(
    device: str,
    seed: int,
    checkpoint: Path | None,
    resume: bool,
    record: Path | None,
    learning_rate: float,
    pre_fix: bool,
) -> None:
    """Train the ticket's two-layer network: 1001 steps on the whole batch, eleven losses."""
    program = MlpProgram(
        device_named(device), seed=seed, learning_rate=learning_rate, pre_fix=pre_fix
    )
    data, target = program.shapes
    click.echo(f"train_data_shape: {data}")
    click.echo(f"train_label_shape: {target}")
    history = train(program, checkpoint=checkpoint, resume=resume)
    write_record(record, program.record(history), program.identity)
