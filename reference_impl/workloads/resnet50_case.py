"""One iteration of the ticket's resnet.py under test, without waits or with the ticket's 325."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from reference_impl.autograd import Operation
from reference_impl.backend import Array, is_host, namespace
from reference_impl.ops import SoftMaxCrossEntropy
from reference_impl.oracle import resnet50 as oracle
from reference_impl.workloads.resnet50_loops import (
    CONTAINS,
    Clock,
    NoClock,
    WaitingClock,
    iteration,
    optimizer,
    stages,
    timed,
)
from reference_impl.workloads.resnet50_network import RESNET50, Architecture, Network, first_arrays
from reference_impl.workloads.training_record import Record, resnet50_record, stage_times

__all__ = ["WAITS", "OperationFactory", "Resnet50Case", "inputs_of"]

Arrays = Mapping[str, Any]
Region = Callable[[str], AbstractContextManager[None]]
OperationFactory = Callable[..., Operation]

WAITS = 3 + 2 * 161
"""Of one iteration of the ticket's loop: around forward, behind the loss, around the update of each parameter."""

_STEP = 1e-9
"""Of the central difference along the magnitudes of all parameters: larger steps cross kinks of rectifiers, smaller ones lose digits."""

_ERRORS: Mapping[str, tuple[Mapping[str, tuple[float, float]], str]] = {
    "float32": (
        {"logits": (0.0, 5e-4), "loss": (1e-4, 0.0)},
        "1e-4 of the largest logit, which is about 5, and of the loss",
    ),
    "float64": (
        {"logits": (0.0, 1e-11), "loss": (1e-12, 0.0), "slope": (1e-2, 0.1)},
        "logits 7e-13 and loss 6e-15 seen in 5 seeds; slope 3e-6, and 4e-3 where a kink lay within the step",
    ),
}
"""Relative and absolute, by output."""

_NOTHING: Mapping[str, object] = {"d2h": 0, "h2d": 0, "blocking_copies": 0}


@dataclass(frozen=True, kw_only=True)
class Resnet50Case:
    """One iteration on a batch that is on the device; ``waits`` as often as the ticket's program does."""

    op: OperationFactory
    dtype: str = "float32"
    waits: bool = False
    batch: int = 4
    side: int = 64
    architecture: Architecture = RESNET50
    timed: bool = False

    @property
    def name(self) -> str:
        """The dtype, and whose loop it is."""
        return f"{self.dtype}-ticket_loop" if self.waits else self.dtype

    @property
    def parameter_tensors(self) -> int:
        """A kernel, a scale and a bias for each convolution; a weight and a bias at the end."""
        return 3 * len(list(self.architecture.convolutions())) + 2

    @property
    def parameters(self) -> Mapping[str, str]:
        """What is trained, on what, and how it is timed."""
        return {
            "network": f"ResNet-50, {self.parameter_tensors} parameter tensors",
            "shape": f"{self.batch}x3x{self.side}x{self.side}",
            "dtype": self.dtype,
            "labels": "int32 ids",
            "data": "drawn: normal noise",
            "iterations": "1",
            "loop": f"the ticket's, {WAITS} waits" if self.waits else "no waits",
        }

    @property
    def throughput(self) -> tuple[str, float, int]:
        """Images; an iteration must read the batch, and read and write each parameter and its velocity."""
        trained = sum(int(np.prod(shape)) for _, _, shape in self.architecture.convolutions())
        images = self.batch * 3 * self.side**2
        return "images", float(self.batch), 4 * (images + 4 * trained)

    @property
    def budget(self) -> Mapping[str, Mapping[str, object]]:
        """No copy anywhere; waits where the ticket's program puts them, and nowhere else."""
        before_and_after = "the ticket's program waits for the device before and after, to time it"
        tensors = self.parameter_tensors
        waits = {"forward": 2, "loss": 1, "backward": 2 * tensors}
        waits["update"] = waits["backward"]
        because = {
            "forward": "images and parameters are on the device",
            "loss": "the loss is a number on the device (SINGA-502)",
            "backward": "gradients start from a loss that is on the device",
            "update": "parameters and velocities are updated where they are",
        }
        regions = {
            region: {
                **_NOTHING,
                "syncs": waits[region] if self.waits else 0,
                "because": f"{why}; {before_and_after}" if self.waits else why,
            }
            for region, why in because.items()
        }
        total = (
            f"3 waits and 2 for each of {tensors} parameters; the program never reads its loss"
            if self.waits
            else "the program never reads its loss, and its batch is on the device from the start"
        )
        syncs = 3 + 2 * tensors if self.waits else 0
        return {**regions, "run": {**_NOTHING, "syncs": syncs, "because": total}}

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """float32 to 1e-4; float64 is the sharp one, and has the gradients."""
        bounds, because = _ERRORS[self.dtype]
        return {
            name: {
                "relative": relative,
                "absolute": absolute,
                "because": because,
                "dtype": self.dtype,
            }
            for name, (relative, absolute) in bounds.items()
        }

    @property
    def gradients(self) -> Mapping[str, str]:
        """None by name: in float64 ``slope`` holds all of them against the oracle's loss at once."""
        return {}

    @property
    def loss(self) -> str | None:
        """None, as there are no gradients by name."""
        return None

    def inputs(self, seed: int) -> Arrays:
        """Parameters, running statistics, ``images`` (N, 3, side, side) and ``labels`` (N,)."""
        return inputs_of(
            seed,
            batch=self.batch,
            side=self.side,
            architecture=self.architecture,
            dtype=self.dtype,
        )

    def run(self, inputs: Arrays, region: Region) -> Arrays:
        """Train once; ``logits``, ``loss``, in float64 the ``slope`` of the loss along the parameters' magnitudes."""
        network = Network(inputs, side=self.side, architecture=self.architecture)
        clock: Clock = WaitingClock(_wait_for(inputs["images"])) if self.waits else NoClock()
        logits, loss, gradients = iteration(
            network,
            self.op,
            optimizer(),
            (inputs["images"], inputs["labels"]),
            clock=clock,
            region=region,
        )
        outputs = {"logits": logits.data, "loss": loss.data}
        if "slope" in self.tolerances:
            slope = namespace(logits.data).zeros((), dtype=np.float64)
            for name, gradient in gradients.items():
                slope = slope + (gradient * abs(inputs[name])).sum()
            outputs["slope"] = slope
        return outputs

    def expected(self, inputs: Arrays) -> Arrays:
        """Logits and loss in float64, and the slope by a central difference of that loss."""
        batch = inputs["images"], inputs["labels"]
        weights = {name: values for name, values in inputs.items() if name not in _BATCH}
        truth = oracle.forward(*batch, weights)
        outputs = {"logits": truth.logits, "loss": np.array(truth.loss)}
        if "slope" in self.tolerances:
            above, below = (
                oracle.forward(*batch, _moved(weights, sign * _STEP)).loss for sign in (1, -1)
            )
            outputs["slope"] = np.array((above - below) / (2 * _STEP))
        return outputs

    @property
    def training(self) -> Callable[[Arrays], Record] | None:
        """Both loops timed on host arrays, beside the ticket's figures; of one case, for it is the same in all."""
        return self._both_loops if self.timed else None

    def _both_loops(self, inputs: Arrays) -> Record:
        network = Network(inputs, side=self.side, architecture=self.architecture)
        batch, wait = (inputs["images"], inputs["labels"]), _wait_for(inputs["images"])
        step = partial(iteration, network, self.op, optimizer(), batch, region=_unwatched)
        step(clock=NoClock())
        ticket, free = WaitingClock(wait), NoClock()
        totals = {True: 0.0, False: 0.0}
        for _ in range(TIMED_ITERATIONS):  # by turns, so that both meet the same machine
            for clock in (ticket, free):
                _, seconds = timed(lambda _: step(clock=clock), 1, clock=clock, wait=wait)  # noqa: B023 - called at once
                totals[clock is ticket] += seconds["total"]
        timings = [
            self._loop({"total": totals[True], **ticket.seconds}, waits=ticket.waits),
            self._loop({"total": totals[False]}, waits=0),
        ]
        data = f"one batch of {self.batch} drawn images of {self.side}x{self.side}, normal noise"
        note = "waits are the loop's own; on the host there is nothing to wait for"
        return resnet50_record(timings, data=data, notes=[CONTAINS, note])

    def _loop(self, seconds: Mapping[str, float], *, waits: int) -> Record:
        per_iteration = {name: value / TIMED_ITERATIONS for name, value in seconds.items()}
        return stage_times(
            "the ticket's loop" if waits else "no waits",
            stages(per_iteration),
            per_second=self.batch / per_iteration["total"],
            syncs=waits // TIMED_ITERATIONS,
            reads=None,
            published=waits > 0 and self.op is SoftMaxCrossEntropy,
        )


TIMED_ITERATIONS = 3
"""For a report, beside the checks; the program itself takes more."""

_BATCH = ("images", "labels")


def inputs_of(
    seed: int,
    *,
    batch: int,
    side: int,
    architecture: Architecture = RESNET50,
    dtype: str = "float32",
) -> dict[str, Any]:
    """First weights, then images from a normal distribution and labels, as the ticket draws them."""
    random = np.random.RandomState(seed)
    arrays = first_arrays(random, dtype, architecture)
    images = random.normal(size=(batch, 3, side, side)).astype(dtype)
    labels = random.randint(0, architecture.classes, batch).astype(np.int32)
    return {**arrays, "images": images, "labels": labels}


def _moved(weights: Arrays, step: float) -> Arrays:
    """Every parameter one ``step`` times its magnitude further; running statistics stay."""
    return {
        name: values
        if name.endswith((".mean", ".variance"))
        else values.astype(np.float64) + step * np.abs(values.astype(np.float64))
        for name, values in weights.items()
    }


def _unwatched(region: str) -> AbstractContextManager[None]:
    return nullcontext()


def _wait_for(array: Array) -> Callable[[], object]:
    if is_host(array):
        return lambda: None
    wait: Callable[[], object] = namespace(array).cuda.Stream.null.synchronize
    return wait
