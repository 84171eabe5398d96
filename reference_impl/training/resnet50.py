"""``python -m reference_impl.training.resnet50``: the ticket's timing of ResNet-50, and what it cannot show.

Source: examples/autograd/resnet.py of Apache SINGA at commit 7baf2c40 (SINGA-502). Four loops on one fixed batch of
drawn images: the ticket's, which waits 325 times per iteration, and one that never waits, each with the corrected op
and with the one from before the fix. One network trains through all of them; each begins with one iteration that is
not timed, where memory is found and kernels are compiled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from reference_impl.data.published import RESNET50_SOURCE, RESNET50_THROUGHPUT
from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.tensor import Tensor
from reference_impl.training.checkpoint import Identity, Row
from reference_impl.training.command import common_options, main, positive, write_record
from reference_impl.training.device import Device, counted_on_simulated, device_named, on_host
from reference_impl.training.epochs import train
from reference_impl.training.errors import DivergedError, InputError, UnavailableError
from reference_impl.training.model import Model, first_non_finite, layers_of
from reference_impl.training.progress import bar
from reference_impl.training.regions import unwatched
from reference_impl.workloads.resnet50 import inputs_of
from reference_impl.workloads.resnet50_loops import (
    CONTAINS,
    LEARNING_RATE,
    Clock,
    NoClock,
    WaitingClock,
    iteration,
    optimizer,
    stages,
)
from reference_impl.workloads.resnet50_network import RESNET50, Architecture, Network
from reference_impl.workloads.training_record import Record, resnet50_record, stage_times

__all__ = ["LOOPS", "Loop", "Resnet50Program", "Size", "command", "counted"]


class Size(NamedTuple):
    """Images of a batch, their side, and iterations of a loop."""

    batch: int
    side: int
    iterations: int


SIZES = {"cpu": Size(8, 64, 10), "simulated": Size(4, 64, 2), "cuda": Size(32, 224, 100)}
"""The ticket's on a GPU; elsewhere what takes a minute."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Whether it waits as the ticket's does, and whether its op is that from before the fix."""

    waits: bool
    pre_fix: bool

    @property
    def label(self) -> str:
        """For people."""
        loop = "the ticket's loop" if self.waits else "no waits"
        return f"{loop}, {'pre-fix' if self.pre_fix else 'corrected'} op"

    @property
    def op(self) -> type[SoftMaxCrossEntropy]:
        """What computes its loss."""
        return HostRoundTripSoftMaxCrossEntropy if self.pre_fix else SoftMaxCrossEntropy


LOOPS = tuple(Loop(waits, pre_fix) for waits in (True, False) for pre_fix in (False, True))


class Resnet50Program:
    """The program; an epoch is one loop."""

    def __init__(
        self,
        device: Device,
        size: Size,
        *,
        seed: int = 0,
        learning_rate: float = LEARNING_RATE,
        architecture: Architecture = RESNET50,
    ) -> None:
        if size.side % architecture.shrinkage:
            raise InputError(
                f"--image-size {size.side} is no multiple of {architecture.shrinkage}, by which the network shrinks"
            )
        self.size, self.epochs = size, len(LOOPS)
        arrays = inputs_of(seed, batch=size.batch, side=size.side, architecture=architecture)
        there = device.put_all(arrays)
        self._batch = there["images"], there["labels"]
        self.network = Network(there, side=size.side, architecture=architecture)
        self.model = Model(
            self.network, optimizer(learning_rate), np.random.RandomState(seed), device
        )
        self.identity = Identity(
            program="resnet50",
            seed=seed,
            settings={
                "device": device.name,
                "batch size": size.batch,
                "image size": size.side,
                "iterations": size.iterations,
                "learning rate": learning_rate,
            },
        )

    @property
    def data(self) -> str:
        """What it trains on, in words."""
        side = self.size.side
        return f"one batch of {self.size.batch} drawn images of {side}x{side}, normal noise"

    def epoch(self, number: int, *, careful: bool) -> Row:
        """Time one loop; the loss is read when it is over."""
        loop, wait = LOOPS[number], self.model.device.synchronize
        loss = self.step(loop, NoClock(), careful=careful)
        clock = WaitingClock(wait)
        with bar(loop.label, self.size.iterations) as advance:
            wait()
            start = time.perf_counter()
            for _ in range(self.size.iterations):
                loss = self.step(loop, clock if loop.waits else NoClock(), careful=careful)
                advance("")
            wait()
            total = time.perf_counter() - start
        seconds = {"total": total, **(clock.seconds if loop.waits else {})}
        per_iteration = {name: value / self.size.iterations for name, value in seconds.items()}
        return {"loss": float(on_host(loss.data)), **per_iteration}

    def step(self, loop: Loop, clock: Clock, *, careful: bool = False) -> Tensor:
        """One iteration; its loss, not read unless ``careful``."""
        _, loss, _ = iteration(
            self.network, loop.op, self.model.sgd, self._batch, clock=clock, region=unwatched
        )
        if careful and not math.isfinite(float(on_host(loss.data))):
            network = self.network
            layers = layers_of(network.stem, network.blocks, network.head)
            where = first_non_finite(layers, Tensor(self._batch[0], requires_grad=False))
            raise DivergedError(
                f"the loss is not finite in {loop.label}: {where}; lower --learning-rate"
            )
        return loss

    def tell(self, number: int, row: Row) -> None:
        """The ticket's last lines, or of them what a loop without waits knows."""
        loop, times = LOOPS[number], stages(row)
        click.echo(f"\n{loop.label}")
        click.echo(f"Throughput = {self.size.batch / row['total']} per second")
        click.echo(", ".join(f"{_TITLE.get(name, name)}={value}" for name, value in times.items()))

    def record(self, history: Sequence[Row], counts: Sequence[tuple[int, int] | None]) -> Record:
        """What was done, for a report; ``counts`` are waits and reads of an iteration of each loop."""
        timings = []
        for loop, row, count in zip(LOOPS, history, counts, strict=True):
            syncs, reads = count if count is not None else (None, None)
            timings.append(
                stage_times(
                    loop.label,
                    stages(row),
                    per_second=self.size.batch / row["total"],
                    syncs=syncs,
                    reads=reads,
                    published=loop.waits,
                )
            )
        return resnet50_record(timings, data=self.data, notes=_NOTES)


_TITLE = {"total": "Total"}
_NOTES = (
    CONTAINS,
    "waits and reads are those of one iteration on the simulated device; a read waits too",
)


def counted(*, architecture: Architecture = RESNET50) -> list[tuple[int, int] | None]:
    """Waits and reads of one iteration of each loop, on a simulated device; ``None`` each where there is none."""
    try:
        device = device_named("simulated")
    except UnavailableError:
        return [None for _ in LOOPS]
    # How often an iteration waits does not depend on the size of its batch.
    size = Size(2, architecture.shrinkage, 1)
    program = Resnet50Program(device, size, architecture=architecture)
    counts: list[tuple[int, int] | None] = []
    with bar("counting waits and reads", len(LOOPS)) as advance:
        for loop in LOOPS:
            clock = WaitingClock(device.synchronize) if loop.waits else NoClock()
            program.step(loop, NoClock())
            counts.append(counted_on_simulated(lambda: program.step(loop, clock)))  # noqa: B023 - called at once
            advance("")
    return counts


def _size(device: str, batch: int | None, side: int | None, iterations: int | None) -> Size:
    usual = SIZES[device.partition(":")[0]]
    return Size(batch or usual.batch, side or usual.side, iterations or usual.iterations)


@click.command()
@common_options
@click.option(
    "--batch-size", type=positive(int), help="32 on a GPU, as in the ticket; 8 on the CPU."
)
@click.option(
    "--image-size", type=positive(int), help="224 on a GPU, 64 on the CPU; a multiple of 32."
)
@click.option("--iterations", type=positive(int), help="Of each loop: 100 on a GPU, 10 on the CPU.")
@click.option("--learning-rate", type=positive(float), default=LEARNING_RATE, show_default=True)
def command(
    device: str,
    seed: int,
    checkpoint: Path | None,
    resume: bool,
    record: Path | None,
    batch_size: int | None,
    image_size: int | None,
    iterations: int | None,
    learning_rate: float,
) -> None:
    """Time ResNet-50 as the ticket does, and without its waits, before and after the fix."""
    place = device_named(device)
    size = _size(device, batch_size, image_size, iterations)
    program = Resnet50Program(place, size, seed=seed, learning_rate=learning_rate)
    click.echo(f"Data: {program.data}; {size.iterations} iterations of each loop on {place.name}")
    history = train(program, checkpoint=checkpoint, resume=resume)
    counts = counted()
    _tell_side_by_side(program, history, counts)
    write_record(record, program.record(history, counts), program.identity)


def _tell_side_by_side(
    program: Resnet50Program, history: Sequence[Row], counts: Sequence[tuple[int, int] | None]
) -> None:
    click.echo(f"\n{'per iteration':<32}{'waits':>7}{'reads':>7}{'seconds':>12}{'images/s':>12}")
    for loop, row, count in zip(LOOPS, history, counts, strict=True):
        waits, reads = map(str, count) if count is not None else ("?", "?")
        rate = program.size.batch / row["total"]
        click.echo(f"{loop.label:<32}{waits:>7}{reads:>7}{row['total']:>12.6f}{rate:>12.2f}")
    click.echo("waits and reads are counted on the simulated device; a read is a wait too")
    click.echo(f"published: {RESNET50_THROUGHPUT:.2f} images/s ({RESNET50_SOURCE})")


if __name__ == "__main__":
    main(command)
