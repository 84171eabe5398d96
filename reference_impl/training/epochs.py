"""The loop every program shares: epoch after epoch, a checkpoint behind each, and a stop where the loss is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import click

from reference_impl.training.checkpoint import (
    Checkpoint,
    Identity,
    Row,
    load_checkpoint,
    save_checkpoint,
)
from reference_impl.training.errors import DivergedError, InputError
from reference_impl.training.model import Model

__all__ = ["Program", "train"]


class Program(Protocol):
    """What one epoch of a program is."""

    @property
    def identity(self) -> Identity:
        """What its checkpoints are of."""
        ...

    @property
    def epochs(self) -> int:
        """How many there are."""
        ...

    @property
    def units(self) -> str:
        """What they are called, as in ``3 of 10 rounds``."""
        ...

    @property
    def model(self) -> Model:
        """What it trains."""
        ...

    def epoch(self, number: int, *, careful: bool) -> Row:
        """Train one epoch; its numbers, among them ``loss``, which is enough where it is not finite.

        ``careful``: look at the loss of every step, and raise ``DivergedError`` at the first that is not finite.
        """
        ...

    def tell(self, number: int, row: Row) -> None:
        """Print the lines of one finished epoch."""
        ...


def train(program: Program, *, checkpoint: Path | None, resume: bool) -> Sequence[Row]:
    """Run the epochs that are left, and return the rows of all.

    With a ``checkpoint`` each epoch ends by writing that file; ``resume`` begins with reading it. Raises
    ``InputError`` for files, ``DivergedError`` where a loss is no number.
    """
    last = _beginning(program, checkpoint, resume=resume)
    history = list(last.history)
    if len(history) >= program.epochs:
        click.echo(
            f"nothing is left to do: of {program.epochs} {program.units} {checkpoint} holds {len(history)}"
        )
    for number in range(len(history), program.epochs):
        row = _finite_epoch(program, number, last, checkpoint)
        history.append(row)
        last = program.model.checkpoint(program.identity, history)
        if checkpoint is not None:
            save_checkpoint(last, checkpoint)
        program.tell(number, row)
    return history


def _beginning(program: Program, path: Path | None, *, resume: bool) -> Checkpoint:
    if resume:
        if path is None:
            raise InputError("--resume needs --checkpoint FILE, the file to go on from")
        last = load_checkpoint(path, program.identity)
        program.model.restore(last, source=path)
        return last
    first = program.model.checkpoint(program.identity, ())
    if path is not None:
        if path.exists():
            raise InputError(
                f"{path} exists: add --resume to go on from it, or name another file for a new run"
            )
        save_checkpoint(first, path)  # a place that cannot be written is better known now
    return first


def _finite_epoch(program: Program, number: int, last: Checkpoint, path: Path | None) -> Row:
    try:
        row = program.epoch(number, careful=False)
        if math.isfinite(row["loss"]):
            return row
        # Losses that stay on the device are seen late: go over the epoch again, step by step.
        program.model.restore(last, source="the state before this epoch")
        program.epoch(number, careful=True)
    except DivergedError as error:
        done = f"{number} of {program.epochs} {program.units}"
        kept = f"; {path} holds the state after {done}" if path is not None else ""
        raise DivergedError(f"{error}{kept}") from error
    raise DivergedError(
        f"after {number} of {program.epochs} {program.units} the loss became {row['loss']}, but not when the same "
        "was done again: the program does not repeat itself"
    )
