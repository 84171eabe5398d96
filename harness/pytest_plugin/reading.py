"""What a test may read of a block, once it is closed and only where the numbers can be trusted."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType

from harness.model.event import Event, EventType, Kernel, Site, Sync, Transfer
from harness.model.outcome import Evidence, Outcome
from harness.model.trace import Trace, TrafficCounts, event_type
from harness.model.verdict import CheckResult
from harness.pytest_plugin.judgement import conclude, inconclusive, no_boundary
from harness.pytest_plugin.recording import Block, Recorder
from harness.pytest_plugin.settings import Inconclusive
from harness.pytest_plugin.watching import Watch
from harness.report.wording import site_text, working_folder
from harness.units import count_text

__all__ = ["RecordedTrace", "reading_doubt"]

_PLUGIN = str(Path(__file__).parent) + os.sep

_WORK = frozenset(EventType) - {EventType.ALLOCATION}
"""What shows that the device did something: memory alone may come from a pool, and does nothing."""


class RecordedTrace:
    """The trace of one block or of a region in it, to be read once the block is closed.

    Reading it earlier raises ``RuntimeError``. Reading what cannot be trusted (nothing ran on the device, no
    boundary to watch, a positive control that was not seen, records lost) ends the test as inconclusive, so
    that neither ``assert trace.counts().d2h == 0`` nor ``assert not trace.syncs`` can pass for want of a view.
    A test that swallows that end meets it again after its last line.
    """

    def __init__(
        self,
        block: Block,
        recorder: Recorder,
        watch: Watch,
        policy: Inconclusive,
        *,
        regions: tuple[str, ...] = (),
    ) -> None:
        self._block = block
        self._recorder = recorder
        self._watch = watch
        self._policy = policy
        self._regions = regions

    def counts(self) -> TrafficCounts:
        """Copies, bytes and waits."""
        return self._read().counts()

    def within(self, region: str) -> RecordedTrace:
        """The part that happened in a region; one that was never entered ends the test as inconclusive."""
        if not self.entered.get(region):
            self._refuse(_never_entered(region, self.entered))
        return RecordedTrace(
            self._block,
            self._recorder,
            self._watch,
            self._policy,
            regions=(*self._regions, region),
        )

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """Every copy, in launch order."""
        return self._read().transfers

    @property
    def syncs(self) -> tuple[Sync, ...]:
        """Every explicit host wait, in launch order."""
        return self._read().syncs

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Every kernel launch, in launch order."""
        return self._read(EventType.KERNEL).kernels

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that was seen, in launch order."""
        return self._read().events

    @property
    def evidence(self) -> Evidence:
        """How strong the evidence for the counts is."""
        return self._read().evidence

    @property
    def entered(self) -> Mapping[str, int]:
        """How often each region of the block was entered; known without a view of the device."""
        self._require_closed()
        return dict(self._block.entered)

    def _require_closed(self) -> None:
        if not self._block.closed:
            raise RuntimeError("this trace is still being recorded; read it after its `with` block")

    def _read(self, *needed: EventType) -> Trace:
        self._require_closed()
        trace = self._block.trace
        if trace is not None:
            for region in self._regions:
                trace = trace.within(region)
        doubt = reading_doubt(trace, self._watch, regions=self._regions, needed=needed)
        if doubt is not None:
            self._refuse(doubt)
        assert trace is not None, "a missing trace is always in doubt"
        return trace

    def _refuse(self, doubt: CheckResult) -> None:
        site = _reading_line()
        where = (
            () if site is None else (f"read at {site_text(site, relative_to=working_folder())}",)
        )
        told = replace(doubt, details=(*doubt.details, *where))
        self._recorder.refused.append(told)
        conclude(told, self._policy)


def reading_doubt(
    trace: Trace | None,
    watch: Watch,
    *,
    regions: tuple[str, ...] = (),
    needed: tuple[EventType, ...] = (),
) -> CheckResult | None:
    """Why what was seen must not be read as the truth; ``None`` when it may.

    The rules are those of ``check_traffic``. Counts are one object, so the probe must see copies and waits, and
    what is ``needed`` besides.
    """
    if watch.device.probe is None or trace is None:
        return no_boundary(watch)
    if watch.control is None or watch.control.outcome is not Outcome.PASSED:
        return inconclusive(
            watch.control.summary if watch.control else "no positive control was run"
        )
    required = (EventType.TRANSFER, EventType.SYNC, *needed)
    unseen = [kind.value for kind in required if kind not in trace.observes]
    if unseen:
        return inconclusive(f"{trace.probe} cannot see {' and '.join(unseen)} events")
    if trace.dropped:
        return inconclusive(
            f"{trace.probe} lost {count_text(trace.dropped, 'record')}, so counts are lower bounds"
        )
    if trace.doubts:
        return inconclusive(trace.doubts[0], details=trace.doubts[1:], next_step="")
    return _idle(trace, regions)


def _idle(trace: Trace, regions: tuple[str, ...]) -> CheckResult | None:
    idle = not any(event_type(event) in _WORK for event in trace.events)
    if not idle or EventType.KERNEL not in trace.observes:
        return None
    where = " and ".join(f"within {region!r}" for region in regions) or "in this block"
    return inconclusive(
        f"nothing ran on the device {where}: {trace.probe} saw no kernel, copy or wait",
        next_step="run the op under test there, on arrays of the `device` fixture",
    )


def _never_entered(region: str, entered: Mapping[str, int]) -> CheckResult:
    known = ", ".join(map(repr, entered)) or "none"
    close = difflib.get_close_matches(region, entered, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return inconclusive(
        f"region {region!r} was never entered in this block; entered were: {known}{hint}",
        next_step=f"enter `with device_trace.region({region!r}):` inside the block, or read another region",
    )


def _reading_line() -> Site | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PLUGIN):
        frame = frame.f_back
    if frame is None:
        return None
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
