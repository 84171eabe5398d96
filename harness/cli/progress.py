"""What shows how far a command has come: a bar on a terminal, lines where output is piped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from harness.report.wording import shortened
from harness.session.record import Progress as Report

__all__ = ["Display", "Lines", "shown", "span"]

_SAY_EVERY_S = 10.0
"""Often enough to see that it lives, and at most 360 lines an hour in a CI log."""

_LONGEST_NAME = 120
"""What a line of a log shows without being scrolled."""


class Lines:
    """Lines on standard error: what begins, and every ten seconds what still goes on.

    The time left is told as it was when a line began, less what has passed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._name, self._stage = "", "starting"
        self._began = self._said = clock()
        self._left_s: float | None = None
        self._stop = threading.Event()

    def begin(
        self, name: str, *, left_s: float | None = None, about: str = "", always: bool = True
    ) -> None:
        """Something else begins, which ``about`` puts before its name; it is said at once, or unless ``always`` when
        it is time."""
        now = self._clock()
        before = f"{about} " if about else ""
        self._name = f"{before}{shortened(name, limit=_LONGEST_NAME)}"
        self._began, self._left_s, self._stage = now, left_s, ""
        if always or now - self._said >= _SAY_EVERY_S:
            self._say(now)

    def stage(self, what: str) -> None:
        """What is done about it now."""
        self._stage = what

    def tick(self) -> None:
        """Say what goes on, if nothing was said for long."""
        now = self._clock()
        if now - self._said >= _SAY_EVERY_S:
            self._say(now)

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Tick by itself, in a thread, which a process that forks must not have."""
        thread = threading.Thread(target=self._tick_on, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _tick_on(self) -> None:
        while not self._stop.wait(1.0):
            self.tick()

    def _say(self, now: float) -> None:
        self._said = now
        passed_s = now - self._began
        parts = [self._name] if self._name else []
        if self._stage:
            parts.append(shortened(self._stage, limit=_LONGEST_NAME))
        if passed_s >= 1.0:
            parts.append(f"for {span(passed_s)}")
        if self._left_s is not None and self._left_s - passed_s >= 1.0:
            parts.append(f"about {span(self._left_s - passed_s)} left")
        click.echo(", ".join(parts), err=True)


def span(seconds: float) -> str:
    """A time to wait, to the minute above two: ``90 s``, ``24 min``, ``2 h 5 min``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


@dataclass(frozen=True, slots=True)
class Display:
    """``report`` each case and each ``stage`` of it, and ``tick`` now and then, so that time is seen to pass."""

    report: Report
    tick: Callable[[], None]
    stage: Callable[[str], None]


@contextmanager
def shown(console: Console, *, threads: bool) -> Iterator[Display]:
    """A display for as long as the context is open.

    Without ``threads`` it moves only when it is told or ticked: a process that forks must not have any.
    """
    if not console.is_terminal:
        lines = Lines()

        def begin(case: str, number: int, total: int) -> None:
            lines.begin(case, about=f"[{number + 1}/{total}]")

        display = Display(begin, lines.tick, lines.stage)
        if not threads:
            yield display
            return
        with lines.ticking():
            yield display
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
    )
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        auto_refresh=threads,
        redirect_stdout=threads,  # what another process prints goes past it anyway
        redirect_stderr=threads,
    ) as bar:
        task = bar.add_task("starting", total=1)

        def show(case: str, number: int, total: int) -> None:
            name = shortened(case, limit=_LONGEST_NAME)
            bar.update(task, description=name, completed=number, total=total, refresh=True)

        yield Display(show, bar.refresh, lambda what: None)
