"""``harness trace``: what happened in a call, for a viewer of traces."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from harness.cli.forms import STANDARD_OUTPUT, check_places, deliver
from harness.cli.options import debug_option
from harness.errors import UsageError
from harness.interchange.trace_events import encode_trace, is_trace, traced
from harness.model.verdict import Verdict
from harness.report.json import read_run
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["trace_command"]

_VIEWER = "https://ui.perfetto.dev"

_HEAD_BYTES = 100
"""Enough of a file to know whose it is."""


@click.command("trace")
@click.argument("file", metavar="RUN.json|report.html", type=click.Path(path_type=Path))
@click.option(
    "--case",
    "patterns",
    metavar="PATTERN",
    multiple=True,
    help="Only these cases: WORKLOAD/CASE or CASE, with * and ?; can be given again. [default: all]",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    required=True,
    help="The trace; `-`: standard output. An earlier trace of the harness is replaced, nothing else is.",
)
@debug_option
def trace_command(*, file: Path, patterns: tuple[str, ...], output: str) -> int:
    """Write the timelines of a run as Chrome trace events, which ui.perfetto.dev opens.

    One process per case and implementation, known defects included, with a thread for the host and one per stream. On
    a simulated device each event has a microsecond in the order of launch, and the process says so.
    """
    _check_output(output, file)
    run = read_run(file)
    chosen = [verdict for verdict in _matching(run.verdicts, patterns, file) if traced(verdict)]
    if not chosen:
        raise UsageError(_nothing(file, patterns))
    deliver(encode_trace(run, chosen), output)
    timelines = [timeline for verdict in chosen for _, timeline in traced(verdict)]
    told = "standard output" if output == STANDARD_OUTPUT else output
    events = count_text(sum(len(timeline.events) for timeline in timelines), "event")
    click.echo(
        f"wrote {told} ({count_text(len(timelines), 'timeline')}, {events}); open it in {_VIEWER}",
        err=output == STANDARD_OUTPUT,
    )
    return 0


def _check_output(output: str, file: Path) -> None:
    """Before anything is read: whether the trace may go there."""
    check_places({"--output": output})
    path = Path(output)
    if output == STANDARD_OUTPUT or not path.is_file():
        return
    if os.path.realpath(path) == os.path.realpath(file):
        raise UsageError(
            f"--output {output} is the run to read and stays as it is; name another file"
        )
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise UsageError(f"{output} cannot be read: {error.strerror}; name another file") from None
    if head and not is_trace(head):
        raise UsageError(
            f"{output} exists and is no trace of the harness; remove it or name another file"
        )


def _matching(
    verdicts: Sequence[Verdict], patterns: Iterable[str], file: Path
) -> Sequence[Verdict]:
    """The verdicts that a pattern names, in their order; all without a pattern; ``UsageError`` for one that names none."""
    wanted: set[str] = set()
    for pattern in patterns:
        found = {verdict.key for verdict in verdicts if _names(pattern, verdict)}
        if not found:
            known = [name for verdict in verdicts for name in (verdict.case, verdict.key)]
            close = difflib.get_close_matches(pattern, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "see the cases in its report"
            raise UsageError(f"no case of {file} is named {shortened(pattern)!r}; {hint}")
        wanted |= found
    return [verdict for verdict in verdicts if verdict.key in wanted] if wanted else verdicts


def _names(pattern: str, verdict: Verdict) -> bool:
    return any(fnmatchcase(name, pattern) for name in (verdict.key, verdict.case, verdict.workload))


def _nothing(file: Path, patterns: Sequence[str]) -> str:
    which = "these cases" if patterns else "any case"
    return (
        f"{file} has no timeline of {which}: nobody watched them, or an older harness wrote it; "
        "record one with: harness run --device auto"
    )
