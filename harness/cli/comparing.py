"""What shows how far a comparison has come; how many processes it will take is known at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from harness.cli.progress import Lines, span
from harness.report.wording import shortened
from harness.session.against import Progress, Step

__all__ = ["Showing", "showing"]

_LONGEST_NAME = 60
"""Leaves room on a terminal for the bar and the time left."""


@dataclass(frozen=True, slots=True)
class Showing:
    """``progress`` of each step; ``stage`` of what is done meanwhile, and ``tick`` now and then."""

    progress: Progress
    stage: Callable[[str], None]
    tick: Callable[[], None]


@contextmanager
def showing(*, threads: bool) -> Iterator[Showing]:
    """A bar on a terminal, drawn only while nothing is timed; where it is piped, a line per case and every ten seconds.

    With ``threads`` the lines come by themselves from the first step on: processes are forked before that.
    """
    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with _bar(console) as show:
            yield show
        return
    lines, seen = Lines(), set[str]()
    with ExitStack() as until_the_end:

        def say(step: Step) -> None:
            if threads and not seen:
                until_the_end.enter_context(lines.ticking())
            about = f"[{step.number}/{step.cases}]" if step.process in (None, 1) else ""
            new = step.case not in seen
            seen.add(step.case)
            lines.begin(step.case, left_s=step.left_s, about=about, always=new)
            if step.process is not None:
                lines.stage(f"process {step.process}")

        yield Showing(say, lines.stage, lines.tick)


@contextmanager
def _bar(console: Console) -> Iterator[Showing]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Bar(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("starting", total=1.0, left="")

        def show(step: Step) -> None:
            passed_s = bar.tasks[0].elapsed or 0.0
            name = shortened(step.case, limit=_LONGEST_NAME)
            which = f", process {step.process}" if step.process is not None else ""
            bar.update(
                task,
                description=f"{name}{which}",
                completed=passed_s,
                total=max(passed_s + step.left_s, 1e-9),
                left=f"about {span(step.left_s)} left",
                refresh=True,
            )

        yield Showing(show, lambda what: None, lambda: None)
