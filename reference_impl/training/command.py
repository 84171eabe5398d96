"""What the three commands share: their options, how they end, and the record they leave."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click
import numpy as np

from reference_impl.data.idx import IdxError
from reference_impl.training.checkpoint import Identity
from reference_impl.training.entry import INTERRUPTED, INTERRUPTED_STATUS
from reference_impl.training.errors import InputError, TrainingError
from reference_impl.training.whole_file import check_replaceable, replace_file

__all__ = ["RECORD_FORMAT", "common_options", "main", "positive", "write_record"]

RECORD_FORMAT = "ondevice-harness training record"

_Command = TypeVar("_Command", bound=Callable[..., object])


def positive(of: type[int] | type[float]) -> click.IntRange | click.FloatRange:
    """A number above 0."""
    return click.IntRange(min=1) if of is int else _FinitePositive(min=0.0, min_open=True)


class _FinitePositive(click.FloatRange):
    """A range that NaN and infinity are not in, though no comparison says so."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


def common_options(command: _Command) -> _Command:
    """``--device``, ``--seed``, ``--checkpoint``, ``--resume`` and ``--record``."""
    file = click.Path(dir_okay=False, path_type=Path)
    for option in (
        click.option(
            "--record",
            type=file,
            callback=_free_for_record,
            help="Write what was done to this file, as JSON.",
        ),
        click.option("--resume", is_flag=True, help="Go on from the --checkpoint file."),
        click.option(
            "--checkpoint",
            type=file,
            is_eager=True,  # known when --record is looked at
            help="Keep the last state here.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0, 2**20),
            default=0,
            show_default=True,
            help="Of all draws.",
        ),
        click.option(
            "--device",
            default="cpu",
            show_default=True,
            help="cpu, simulated, or cuda:0 and so on.",
        ),
    ):
        command = option(command)
    return command


def main(command: click.Command) -> NoReturn:
    """Run a command and end the process: 0 done, 1 diverged, 2 usage or file, 3 no such device, 130 interrupted."""
    try:
        # A loss that is lost is told by name, not by warnings of NumPy, which no other device has.
        with np.errstate(all="ignore"):
            command.main(standalone_mode=False)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except IdxError as error:
        _end(str(error), InputError.exit_status)
    except TrainingError as error:
        _end(str(error), error.exit_status)
    except MemoryError as error:
        smaller = "batch_size" in {parameter.name for parameter in command.params}
        step = "; use a smaller --batch-size" if smaller else ""
        _end(f"out of memory ({str(error) or 'no more was said'}){step}", 3)
    except OSError as error:
        _end(f"the output could not be written: {error.strerror or error}", InputError.exit_status)
    except (KeyboardInterrupt, click.Abort):
        click.echo(INTERRUPTED, err=True)
        sys.exit(INTERRUPTED_STATUS)
    sys.exit(0)


def write_record(path: Path | None, record: Mapping[str, Any], identity: Identity) -> None:
    """The record as JSON, its settings the first note, there whole or not at all.

    Raises ``InputError`` where it cannot be written, or where something else lies by now.
    """
    if path is None:
        return
    _check_record(path)
    notes = [identity.text, *record.get("notes", ())]
    whole = {"format": RECORD_FORMAT, "schema_version": 1, **record, "notes": notes}
    text = json.dumps(whole, indent=1) + "\n"
    try:
        replace_file(path, lambda file: file.write(text.encode()))
    except OSError as error:
        raise InputError(
            f"record {path} could not be written: {error.strerror or error}; where --checkpoint was given, "
            "--resume writes it without training anew"
        ) from error


def _check_record(path: Path) -> None:
    check_replaceable(path, json.dumps(RECORD_FORMAT).encode(), what="record")


def _free_for_record(
    context: click.Context, _parameter: click.Parameter, path: Path | None
) -> Path | None:
    if path is None:
        return None
    checkpoint = context.params.get("checkpoint")
    if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(path):
        raise InputError(f"--record and --checkpoint are both {path}; give each a file of its own")
    _check_record(path)
    return path


def _end(message: str, status: int) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(status)
