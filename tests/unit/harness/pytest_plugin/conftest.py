"""A probe that sees what a test tells it, for what no device does on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from harness.model.event import Event, EventType
from harness.model.outcome import Evidence
from harness.model.trace import Trace


@dataclass
class ScriptedRecording:
    probe: ScriptedProbe
    events: list[Event] = field(default_factory=list)
    open_regions: list[str] = field(default_factory=list)
    entered: Counter[str] = field(default_factory=Counter)
    closed: bool = False

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        self.entered[name] += 1
        self.open_regions.append(name)
        yield
        assert self.open_regions.pop() == name

    def trace(self) -> Trace:
        if not self.closed:
            raise RuntimeError("still open")
        assert not self.open_regions, "a region outlived its recording"
        return Trace(
            probe=self.probe.name,
            evidence=self.probe.evidence,
            observes=self.probe.observes,
            events=tuple(self.events),
            dropped=self.probe.dropped,
            doubts=self.probe.doubts,
            entered=dict(self.entered),
        )


@dataclass
class ScriptedProbe:
    name: str = "scripted"
    evidence: Evidence = Evidence.SIMULATED
    observes: frozenset[EventType] = frozenset(EventType)
    dropped: int = 0
    doubts: tuple[str, ...] = ()
    current: ScriptedRecording | None = None
    recordings: int = 0

    @contextmanager
    def record(self) -> Iterator[ScriptedRecording]:
        assert self.current is None, "recordings overlap"
        self.current = recording = ScriptedRecording(self)
        self.recordings += 1
        try:
            yield recording
        finally:
            self.current = None
            recording.closed = True

    def see(self, event: Event) -> None:
        """Happen now, in whatever regions are open; lost when nothing is recorded."""
        if self.current is not None:
            self.current.events.append(replace(event, regions=tuple(self.current.open_regions)))


@pytest.fixture
def probe() -> ScriptedProbe:
    return ScriptedProbe()
