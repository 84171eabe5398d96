"""Blocks and regions of one test, and the trace of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import _pytest

from harness.errors import UsageError
from harness.model.budget import WHOLE_RUN
from harness.model.trace import Trace
from harness.model.verdict import CheckResult
from harness.probes.base import Probe, Recording
from harness.pytest_plugin.threads import (
    Elsewhere,
    outlived,
    running,
    started_since,
    work_in_progress,
)

__all__ = ["Block", "Recorder"]

_PYTEST = Path(_pytest.__file__).parent
_EXPLAINING = tuple(str(_PYTEST / part) + os.sep for part in ("_io", "assertion"))
"""Where pytest makes the text of a failed assertion; its ``approx``, elsewhere, reads what the test asked for."""


class Block:
    """A stretch of a test that is recorded; it has a trace once it was closed."""

    def __init__(self, *, entered: Mapping[str, int], is_limited: bool) -> None:
        self.entered = Counter(entered)
        self.is_limited = is_limited
        self.closed = False
        self._segments: list[Trace] = []
        self._threads_before = running()
        self._threads_left: list[str] = []

    @property
    def segments(self) -> Sequence[Trace]:
        """What was seen between one start of the probe and the next; nothing on a device without a probe."""
        if not self._segments:
            return ()
        *others, last = self._segments
        told = [doubt for segment in self._segments for doubt in segment.doubts]
        doubts = (*last.doubts, *outlived(self._threads_left, told))
        return (*others, replace(last, doubts=doubts))

    @property
    def trace(self) -> Trace | None:
        """All that was seen; ``None`` on a device without a probe."""
        return _joined(self.segments, self.entered)

    def stop(self) -> None:
        """Look who is still running, just before the probe stops."""
        self._threads_left += started_since(self._threads_before)

    def add(self, segment: Trace) -> None:
        """Take what the probe saw until it stopped."""
        self._segments.append(segment)


class Recorder:
    """Records the blocks of one test.

    Blocks may nest and repeat although recordings of a probe may not overlap: a block that opens or closes
    inside another ends the current recording and starts the next one, and every block collects the
    segments it was open for.

    ``refused`` are the readings that were not allowed, and ``elsewhere`` is what other threads were busy with when
    the call of the test began.
    """

    def __init__(self, probe: Probe | None) -> None:
        self._probe = probe
        self._open: list[Block] = []
        self._regions: list[str] = []
        self._segment: _Segment | None = None
        self._bodies: list[Block] = []
        self._explicit: list[Block] = []
        self._calling = False
        self._records_body = False
        self.refused: list[CheckResult] = []
        self.elsewhere: Elsewhere = {}

    @property
    def used(self) -> bool:
        """Whether anything was recorded, or would have been on a device with a probe."""
        return bool(self._bodies or self._explicit)

    @property
    def whole_body(self) -> bool:
        """Whether ``judged`` is the whole body of the test, for want of a block inside it."""
        return bool(self._bodies) and not self._limited()

    def judged(self) -> Trace | None:
        """What a test's limits are held against: the blocks of its call taken together, else all of its body.

        ``None`` when nothing was seen.
        """
        return _together(self._limited() or self._bodies)

    def seen(self) -> Trace | None:
        """``judged`` or, where there is none, the blocks that fixtures opened."""
        return _together(self._limited() or self._bodies or self._explicit)

    def entered_outside(self, region: str) -> bool:
        """Whether a region was entered in the body, but only outside its blocks."""
        blocks = self._limited()
        if not blocks or any(block.entered[region] for block in blocks):
            return False
        return any(body.entered[region] for body in self._bodies)

    @property
    def recording(self) -> bool:
        """Whether the probe is watching now."""
        return self._segment is not None

    def begin_call(self, *, records_body: bool) -> None:
        """Start over: a plugin may repeat the call of a test without setting it up again.

        Limits apply to the blocks opened from now on: those inside ``body`` where that is recorded, else all.
        """
        self._explicit = [block for block in self._explicit if not block.is_limited]
        self._bodies = []
        self.refused.clear()
        self._calling = True
        self._records_body = records_body
        self.elsewhere = work_in_progress()

    def end_call(self) -> None:
        """Blocks opened from now on belong to the teardown of fixtures."""
        self._calling = False

    @contextmanager
    def body(self) -> Iterator[None]:
        """Record the body of the test; run more than once, its runs count together."""
        body = Block(entered=dict.fromkeys(self._regions, 1), is_limited=False)
        self._bodies.append(body)
        with self._recorded(body):
            yield

    @contextmanager
    def block(self) -> Iterator[Block]:
        """Record a block the test asked for."""
        innermost = self._open[-1] if self._open else None
        outermost = innermost is None or innermost in self._bodies
        in_body = any(body in self._open for body in self._bodies)
        is_limited = in_body or (self._calling and not self._records_body)
        block = Block(entered=dict.fromkeys(self._regions, 1), is_limited=is_limited)
        if outermost:
            self._explicit.append(block)
        with self._recorded(block):
            yield block

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Name a part of whatever is being recorded; ``UsageError`` when nothing is."""
        self._check_region(name)
        for block in self._open:
            block.entered[name] += 1
        self._regions.append(name)
        if self._segment is not None:
            self._segment.enter(name)
        try:
            yield
        finally:
            if self._segment is not None:
                self._segment.leave()
            self._regions.pop()

    def _limited(self) -> list[Block]:
        return [block for block in self._explicit if block.is_limited]

    def _check_region(self, name: str) -> None:
        if not name.strip():
            raise UsageError(f"device_trace.region({name!r}): a region is named by text")
        if name == WHOLE_RUN:
            raise UsageError(
                f"device_trace.region({name!r}): this name stands for the whole body; choose another"
            )
        if not self._open:
            raise UsageError(
                f"device_trace.region({name!r}) was entered while nothing was recorded; "
                "open `with device_trace():` around it, or mark the test with limit_transfers"
            )

    @contextmanager
    def _recorded(self, block: Block) -> Iterator[None]:
        self._cut()
        self._open.append(block)
        self._resume()
        try:
            yield
        finally:
            self._cut()
            self._open.remove(block)
            block.closed = True
            self._resume()

    def _cut(self) -> None:
        segment, self._segment = self._segment, None
        if segment is None:
            return
        for block in self._open:
            block.stop()
        trace = segment.end()
        for block in self._open:
            block.add(trace)

    def _resume(self) -> None:
        if self._probe is not None and self._open:
            self._segment = _Segment(self._probe, self._regions)


class _Segment:
    """One recording of the probe, with the regions that were open when it started opened again."""

    def __init__(self, probe: Probe, regions: Sequence[str]) -> None:
        self._closing = ExitStack()
        self._recording: Recording = self._closing.enter_context(probe.record())
        self._regions: list[ExitStack] = []
        for name in regions:
            self.enter(name)

    def enter(self, name: str) -> None:
        region = ExitStack()
        region.enter_context(self._recording.region(name))
        self._regions.append(region)

    def leave(self) -> None:
        self._regions.pop().close()

    def end(self) -> Trace:
        while self._regions:
            self.leave()
        self._closing.close()
        return self._recording.trace()


def _together(blocks: Sequence[Block]) -> Trace | None:
    entered: Counter[str] = Counter()
    for block in blocks:
        entered.update(block.entered)
    trace = _joined([segment for block in blocks for segment in block.segments], entered)
    return None if trace is None else _without_explanations(trace)


def _without_explanations(trace: Trace) -> Trace:
    """Leave out what pytest itself reads back to explain an assertion that has failed already."""
    mine = tuple(
        event
        for event in trace.events
        if event.site is None or not event.site.file.startswith(_EXPLAINING)
    )
    return replace(trace, events=mine)


def _joined(segments: Sequence[Trace], entered: Mapping[str, int]) -> Trace | None:
    """Segments in order as one trace; start times are dropped, since each segment counts from its own start."""
    if not segments:
        return None
    events = tuple(event for segment in segments for event in segment.events)
    if len(segments) > 1:
        events = tuple(replace(event, start_ns=None, device_start_ns=None) for event in events)
    return replace(
        segments[0],
        observes=frozenset.intersection(*(segment.observes for segment in segments)),
        events=events,
        dropped=sum(segment.dropped for segment in segments),
        doubts=tuple(dict.fromkeys(doubt for segment in segments for doubt in segment.doubts)),
        entered=dict(entered),
    )
