"""The seam between the harness and whatever can observe a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from harness.model.event import EventType
from harness.model.outcome import Evidence
from harness.model.trace import Trace

__all__ = ["Probe", "Recording", "Witness"]


class Recording(Protocol):
    """One live observation; regions may nest and may be entered many times."""

    def region(self, name: str) -> AbstractContextManager[None]:
        """Tag every event launched inside with ``name``."""
        ...

    def trace(self) -> Trace:
        """The finished trace; raises ``RuntimeError`` while the recording is still open."""
        ...


class Probe(Protocol):
    """A live source of traces.

    A probe may only claim to observe what it is certain to see: ``observes`` decides whether a zero count
    is a pass or inconclusive.
    """

    @property
    def name(self) -> str:
        """Tool and version, as it is printed beside the evidence."""
        ...

    @property
    def evidence(self) -> Evidence:
        """How strong a trace of this probe is."""
        ...

    @property
    def observes(self) -> frozenset[EventType]:
        """The event types this probe can see."""
        ...

    def record(self) -> AbstractContextManager[Recording]:
        """Observe until the context closes; recordings of one process must not overlap in a thread."""
        ...


class Witness(Protocol):
    """A second, independent view of one call, which may refuse what it is there to find."""

    @property
    def name(self) -> str:
        """Tool and version, as it is printed beside the evidence."""
        ...

    def witness(
        self, run: Callable[[Callable[[str], AbstractContextManager[None]]], object]
    ) -> Trace:
        """Let ``run(region)`` happen under this view; refusals become events or doubts of the trace."""
        ...
