"""The ticket's timing of ResNet-50, and what it cannot show.

Source: examples/autograd/resnet.py of Apache SINGA at commit 7baf2c40 (SINGA-502). Four loops on one fixed batch of
drawn images: the ticket's, which waits 325 times per iteration, and one that never waits, each with the corrected op
and with the one from before the fix. They take turns, and one network trains through all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from reference_impl.backend import Array
from reference_impl.tensor import Tensor
from reference_impl.training.checkpoint import Identity, Row
from reference_impl.training.command import common_options, positive, write_record
from reference_impl.training.device import Device, counted_on_simulated, device_named, on_host
from reference_impl.training.epochs import train
from reference_impl.training.errors import DivergedError, InputError, UnavailableError
from reference_impl.training.model import Layer, Model, first_non_finite, layers_of
from reference_impl.training.progress import bar
from reference_impl.training.regions import unwatched
from reference_impl.training.resnet50_times import (
    LOOPS,
    Count,
    Loop,
    LoopTimes,
    blocks_of,
    in_turn,
    lines,
    record_of,
    row_of,
    times_of,
)
from reference_impl.workloads.resnet50_case import inputs_of
from reference_impl.workloads.resnet50_loops import (
    LEARNING_RATE,
    Clock,
    NoClock,
    WaitingClock,
    iteration,
    optimizer,
    timed,
)
from reference_impl.workloads.resnet50_network import RESNET50, Architecture, Bottleneck, Network

__all__ = ["Resnet50Program", "Size", "command", "counted"]


class Size(NamedTuple):
    """Images of a batch, their side, and iterations of each loop."""

    batch: int
    side: int
    iterations: int


SIZES = {"cpu": Size(8, 64, 10), "simulated": Size(4, 64, 2), "cuda": Size(32, 224, 100)}
"""The ticket's on a GPU; elsewhere what takes a minute or two."""

Look = Callable[[Tensor], object]


class Resnet50Program:
    """The program; an epoch is one round, in which each loop has a block of its iterations."""

    units = "rounds"

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
        self.size, self.blocks = size, blocks_of(size.iterations)
        self.epochs = len(self.blocks)
        arrays = inputs_of(seed, batch=size.batch, side=size.side, architecture=architecture)
        there = device.put_all(arrays)
        self._batch = there["images"], there["labels"]
        self._warm = False
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
                "rounds": self.epochs,
                "learning rate": learning_rate,
            },
        )

    @property
    def data(self) -> str:
        """What it trains on, in words."""
        side = self.size.side
        return f"one batch of {self.size.batch} drawn images of {side}x{side}, normal noise"

    @property
    def notes(self) -> list[str]:
        """What its times cannot show."""
        name = self.model.device.name
        if name.startswith("cuda"):
            return []
        return [
            f"on {name} a wait costs next to nothing: these times do not show what the fix is worth on a GPU"
        ]

    def epoch(self, number: int, *, careful: bool) -> Row:
        """Time a block of each loop; the loss is read behind each block, or ``careful`` in each iteration."""
        self._warm_up()
        row: Row = {"loss": math.nan}
        title = f"round {number + 1} of {self.epochs}"
        with bar(f"{title} again, to find what lost it" if careful else title, len(LOOPS)) as done:
            for loop in in_turn(number):
                row |= self._block(number, loop, careful=careful)
                if not math.isfinite(row["loss"]):
                    break
                done(loop.label)
        return row

    def _block(self, number: int, loop: Loop, *, careful: bool) -> Row:
        first, wait = sum(self.blocks[:number]), self.model.device.synchronize
        clock: Clock = WaitingClock(wait) if loop.waits else NoClock()

        def step(i: int) -> Array:
            look = self._finite(f"at iteration {first + i}", loop) if careful else _past
            return self.step(loop, clock, look)

        loss, seconds = timed(step, self.blocks[number], clock=clock, wait=wait)
        return {"loss": float(on_host(loss)), **row_of(loop, seconds)}

    def _warm_up(self) -> None:
        """Once in a process, an iteration of each loop: memory is found and kernels are compiled, and all is as before."""
        if self._warm:
            return
        before = self.model.checkpoint(self.identity, ())
        for loop in LOOPS:
            self.step(loop, NoClock(), self._finite("in the warm-up", loop))
        self.model.restore(before, source="the state before the warm-up")
        self._warm = True

    def step(self, loop: Loop, clock: Clock, look: Look) -> Array:
        """One iteration; ``look`` is shown its loss before any parameter is updated by it."""
        _, loss, _ = iteration(
            self.network,
            loop.op,
            self.model.sgd,
            self._batch,
            clock=clock,
            region=unwatched,
            look=look,
        )
        return loss.data  # of the tensor hang all activations

    def _finite(self, place: str, loop: Loop) -> Look:
        def look(loss: Tensor) -> None:
            value = float(on_host(loss.data))
            if not math.isfinite(value):
                x = Tensor(self._batch[0], requires_grad=False)
                where = first_non_finite(_layers(self.network), x)
                raise DivergedError(
                    f"the loss is {value} {place} of {loop.label}: {where}; lower --learning-rate"
                )

        return look

    def tell(self, number: int, row: Row) -> None:
        """Nothing yet: the ticket's lines are of all rounds."""

    def times(self, history: Sequence[Row]) -> list[LoopTimes]:
        """What each loop took."""
        return times_of(history, batch=self.size.batch, iterations=self.blocks)


def _past(loss: Tensor) -> None:
    """The loss stays where it is."""


def _layers(network: Network) -> list[Layer]:
    blocks = [
        Layer(
            f"{block.name!r} ({type(block).__name__})",
            block,
            tuple(block.parameters.values()),
            ways=(layers_of(block.branch), layers_of(block.shortcut)),
        )
        for block in network.blocks.parts()
        if isinstance(block, Bottleneck)
    ]
    return [*layers_of(network.stem), *blocks, *layers_of(network.head)]


def counted(*, architecture: Architecture = RESNET50) -> list[Count]:
    """Waits and reads of one iteration of each loop, on a simulated device; ``None`` each where there is none."""
    try:
        device = device_named("simulated")
    except UnavailableError:
        return [None for _ in LOOPS]
    # How often an iteration waits does not depend on the size of its batch.
    size = Size(2, architecture.shrinkage, 1)
    program = Resnet50Program(device, size, architecture=architecture)
    counts: list[Count] = []
    with bar("counting waits and reads", len(LOOPS)) as done:
        for loop in LOOPS:
            clock = WaitingClock(device.synchronize) if loop.waits else NoClock()
            program.step(loop, NoClock(), _past)
            counts.append(counted_on_simulated(lambda: program.step(loop, clock, _past)))  # noqa: B023 - called at once
            done("")
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
    click.echo(f"Data: {program.data}")
    click.echo(
        f"Iterations of each loop: {size.iterations}, rounds: {program.epochs}, device: {place.name}"
    )
    history = train(program, checkpoint=checkpoint, resume=resume)
    counts, times = counted(), program.times(history)
    for line in lines(times, counts, notes=program.notes):
        click.echo(line)
    whole = record_of(times, counts, data=program.data, notes=program.notes)
    write_record(record, whole, program.identity)
