"""What shows how far a command has come: a bar on a terminal, lines where output is piped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from harness.report.layout import fitted
from harness.report.wording import shortened, visible
from harness.session.record import Progress as Report

__all__ = ["Display", "Lines", "Pace", "shown", "span"]

_SAY_EVERY_S = 10.0
"""Often enough to see that it lives, and at most 360 lines an hour in a CI log."""

_LONGEST_NAME = 120
"""What a line of a log shows without being scrolled."""

_BESIDE_THE_BAR = 38
"""Columns of the count, the time that passed and the time left, with what separates them."""

_BARS = {100: 20, 0: 6}
"""The width of the bar by the columns of a terminal from which it has that: on a narrow one the case needs them."""

_SHORTEST_CASE = 20
"""What of a case and what is done about it is told on the narrowest terminal."""

_DRAW_EVERY_S = 0.5
"""Often enough that the seconds are seen to move, and a twentieth of the disturbance of drawing at every tick."""


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


class Pace:
    """How long the rest of some cases will take, by those that are done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = self._began = clock()
        self._done = self._total = 0

    def begin(self, number: int, total: int) -> None:
        """Another case begins, after ``number`` of ``total`` that are done."""
        self._began, self._done, self._total = self._clock(), number, total

    @property
    def left_s(self) -> float | None:
        """Seconds left, counted from where the present case began; ``None`` before one is done, or when overdue."""
        if not self._done:
            return None
        each = (self._began - self._started) / self._done
        left = each * (self._total - self._done) - (self._clock() - self._began)
        return left if left >= 1.0 else None


@dataclass(frozen=True, slots=True)
class Display:
    """``report`` each case and each ``stage`` of it, and ``tick`` now and then, so that time is seen to pass."""

    report: Report
    tick: Callable[[], None]
    stage: Callable[[str], None]


@contextmanager
def shown(console: Console, *, threads: bool) -> Iterator[Display]:
    """A display for as long as the context is open: a bar on a terminal, lines on standard error elsewhere.

    Without ``threads`` it moves only when it is told or ticked: a process that forks must not have any.
    """
    with (_bar if console.is_terminal else _lines)(console, threads=threads) as display:
        yield display


@contextmanager
def _lines(console: Console, *, threads: bool) -> Iterator[Display]:
    lines, pace = Lines(), Pace()

    def begin(case: str, number: int, total: int) -> None:
        pace.begin(number, total)
        lines.begin(case, about=f"[{number + 1}/{total}]", left_s=pace.left_s)

    with lines.ticking() if threads else nullcontext():
        yield Display(begin, lines.tick, lines.stage)


@contextmanager
def _bar(console: Console, *, threads: bool) -> Iterator[Display]:
    bar_width = next(width for least, width in _BARS.items() if console.width >= least)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=bar_width),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(
        *columns,
        console=console,
        transient=True,
        auto_refresh=threads,
        refresh_per_second=1 / _DRAW_EVERY_S,
        redirect_stdout=threads,  # what another process prints goes past it anyway
        redirect_stderr=threads,
    ) as bar:
        drawing = _Drawing(bar, max(_SHORTEST_CASE, console.width - _BESIDE_THE_BAR - bar_width))
        yield Display(drawing.begin, drawing.tick, drawing.stage)


class _Drawing:
    """What a bar says: the case, what is done about it, and the time left; drawn no oftener than it can be read."""

    def __init__(self, bar: Progress, room: int) -> None:
        self._bar, self._pace, self._room = bar, Pace(), room
        self._task = bar.add_task("starting", total=1, left="")
        self._case, self._drawn = "", time.monotonic()

    def begin(self, case: str, number: int, total: int) -> None:
        self._pace.begin(number, total)
        self._case = case
        self._bar.update(self._task, completed=number, total=total)
        self.stage("")
        self._draw()

    def stage(self, what: str) -> None:
        doing = ", ".join(text for text in (self._case, what) if text)
        self._bar.update(self._task, description=fitted(visible(doing), self._room).rstrip())

    def tick(self) -> None:
        if time.monotonic() - self._drawn >= _DRAW_EVERY_S:
            self._draw()

    def _draw(self) -> None:
        self._drawn, left = time.monotonic(), self._pace.left_s
        text = f"about {span(left)} left" if left is not None else ""
        self._bar.update(self._task, left=text, refresh=True)
