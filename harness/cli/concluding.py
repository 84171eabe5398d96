"""How a command that ran cases ends: what is waived, and since when; then files, the terminal, and the CI service."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from harness.baseline.stores.base import Store
from harness.checks.waivers import apply_waivers
from harness.cli.forms import Forms
from harness.cli.history import add_run, with_past
from harness.cli.output import keeping
from harness.model.baseline import Baseline
from harness.model.verdict import Run
from harness.model.waiver import Waiver
from harness.report.ci import publish
from harness.report.files import HTML_FILE, JSON_FILE, write_report
from harness.report.selfcheck_file import with_self_checks
from harness.report.text import print_summary
from harness.report.wording import visible

__all__ = ["Known", "conclude", "tell", "with_waivers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was known before a run: what is accepted of it, its past, and the baseline it was held against."""

    waivers: Sequence[Waiver]
    history: Store | None
    baseline: Baseline | None = None


def conclude(
    run: Run,
    known: Known,
    *,
    asked: Sequence[str],
    reports: Path,
    forms: Forms,
    quiet: bool,
    more: Sequence[str] = (),
    adds: bool = False,
) -> int:
    """Write the report and every form of a run, tell people and the CI service, and return the exit status.

    ``asked`` is what was named on the command line, ``more`` are lines below the summary. ``adds`` the run to the
    history. Raises ``OutputError`` for what cannot be written, with everything told all the same.
    """
    console = forms.console
    covered = with_waivers(run, known.waivers, asked=asked)
    tidying = covered.notes[len(run.notes) :]
    run = with_self_checks(with_past(covered, known.history, known.baseline), reports)

    def show() -> None:
        print_summary(run, console, quiet=quiet)
        if quiet:  # a waiver that can go is left in for good where nobody is told
            tell([f"note  {visible(note)}" for note in tidying], console)
        elif more:
            tell(["", *more], console)
        publish(run, os.environ, forms.stream)

    with keeping(run.outcome, show=show):
        written = write_report(run, reports)
        forms.write(run)
        if adds and known.history is not None:
            add_run(run, written / JSON_FILE, known.history)
    tell([f"report  {written / HTML_FILE}"], console)
    return int(run.exit_code)


def with_waivers(run: Run, waivers: Sequence[Waiver], *, asked: Sequence[str]) -> Run:
    """The run with its waivers applied, as of the day it was made; ``asked`` is what was named on the command line."""
    whole = not any("/" in name for name in asked)
    return apply_waivers(run, waivers, datetime.fromisoformat(run.created).date(), whole=whole)


def tell(lines: Sequence[str], console: Console) -> None:
    """Print lines as they are: nothing in them is markup, and none is broken."""
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
