"""One section in this process: ``python -m tests.gpu.section NAME --folder FOLDER``.

Findings go to ``findings.jsonl`` in the folder as they are made. Exit status: 0 done, 3 no GPU here.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from pathlib import Path

import click

from harness.errors import ExitCode, UnavailableError

from .bench import Bench, GpuBench
from .findings import Notebook
from .plan import section_named
from .surroundings import describe

__all__ = ["FINDINGS_FILE", "PREFLIGHT", "main"]

FINDINGS_FILE = "findings.jsonl"

PREFLIGHT = "environment"
"""What runs before all sections: it asks whether there is a GPU, and writes down what it is."""

_STACKS_BEFORE_END_S = 3.0
"""The stacks of a section that hangs are written this long before it is killed."""


@click.command()
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--limit", type=float, required=True, help="Seconds until this process is killed.")
@click.option("--dry-run", is_flag=True)
def main(name: str, folder: Path, limit: float, dry_run: bool) -> None:
    """Run one section."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(max(0.1, limit - _STACKS_BEFORE_END_S))
    try:
        bench = _bench(dry_run=dry_run)
    except UnavailableError as error:
        click.echo(f"{error}", err=True)
        sys.exit(int(ExitCode.UNAVAILABLE))
    note = Notebook(folder / FINDINGS_FILE)
    if name == PREFLIGHT:
        describe(bench, note.about(PREFLIGHT), folder)
    else:
        try:
            section_named(name).run(bench, note, folder)
        except UnavailableError as error:
            note.about(name).not_tried("the rest of it", f"{error}")
    sys.stdout.flush()
    sys.stderr.flush()
    if threading.active_count() > 1:
        # A thread that hangs in the driver would keep Python from ending.
        os._exit(0)


def _bench(*, dry_run: bool) -> Bench:
    if not dry_run:
        return GpuBench()
    from .dry_bench import DryBench  # needs the extra "test", which a run on a GPU does not

    return DryBench()


if __name__ == "__main__":
    main()
