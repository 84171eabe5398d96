"""``harness trace``: what happened in a call, for a viewer of traces."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import click

from harness.cli.debugging import debug_option
from harness.cli.forms import STANDARD_OUTPUT, check_places, deliver
from harness.cli.sources import run_file
from harness.errors import UsageError
from harness.interchange.trace_events import encode_trace, is_trace, traced
from harness.model.outcome import Outcome
from harness.model.verdict import Verdict
from harness.report.json import read_run
from harness.report.recognition import Form
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["trace_command"]

_VIEWER = "https://ui.perfetto.dev"

_CRASH = "run"
"""The check that holds what the code under test raised, or the signal it died of."""

_MOST_NAMED = 10
"""Cases in a message of one line."""

_TRACE = Form("trace of the harness", is_trace)


@click.command("trace")
@click.argument("source", metavar="RUN", type=click.Path(path_type=Path))
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
def trace_command(*, source: Path, patterns: tuple[str, ...], output: str) -> int:
    """Write the timelines of a run as Chrome trace events, which ui.perfetto.dev opens.

    RUN is a run.json, a page made from it, or the folder of a run.
    One process per case and implementation, known defects included, with a thread for the host and one per stream. On
    a simulated device each event has a microsecond in the order of launch, and the process says so.
    """
    file = run_file(source)
    _check_output(output, file)
    run = read_run(file)
    asked = _matching(run.verdicts, patterns, file)
    chosen = [verdict for verdict in asked if traced(verdict)]
    if not chosen:
        raise UsageError(_nothing(file, asked, some=bool(patterns)))
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
    if output != STANDARD_OUTPUT and os.path.realpath(output) == os.path.realpath(file):
        raise UsageError(
            f"--output {output} is the run to read and stays as it is; name another file"
        )
    check_places({"--output": output}, {"--output": _TRACE})


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
            hint = f"did you mean {close[0]!r}?" if close else _cases_text(verdicts)
            raise UsageError(f"no case of {file} is named {shortened(pattern)!r}; {hint}")
        wanted |= found
    return [verdict for verdict in verdicts if verdict.key in wanted] if wanted else verdicts


def _names(pattern: str, verdict: Verdict) -> bool:
    return any(fnmatchcase(name, pattern) for name in (verdict.key, verdict.case, verdict.workload))


def _cases_text(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "it has no case"
    named = ", ".join(shortened(verdict.key) for verdict in verdicts[:_MOST_NAMED])
    more = len(verdicts) - _MOST_NAMED
    return f"it has {named}{f' and {more:,} more' if more > 0 else ''}"


def _nothing(file: Path, asked: Sequence[Verdict], *, some: bool) -> str:
    """Why there is nothing to write: the code raised or died before it was watched, or nobody watched."""
    which = "these cases" if some else "any case"
    again = shlex.join(["harness", "run", *_to_run(asked, some=some), "--device", "auto"])
    broken = [
        verdict
        for verdict in asked
        if any(
            check.check == _CRASH and check.outcome is not Outcome.PASSED
            for check in verdict.checks
        )
    ]
    if asked and len(broken) == len(asked):
        why, step = "their code raised or died before it could be watched", "mend that, then"
    else:
        why, step = "nobody watched them, or an older harness wrote it", "record one with:"
    return f"{file} has no timeline of {which}: {why}; {step} {again}"


def _to_run(asked: Sequence[Verdict], *, some: bool) -> list[str]:
    names = [verdict.key if some else verdict.workload for verdict in asked]
    return list(dict.fromkeys(names))[:_MOST_NAMED]
