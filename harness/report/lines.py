"""Traffic lines in words: a copy and the waits that the same line of code caused read as one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.event import Direction, MemoryKind, Site, SyncKind
from harness.model.traffic import TrafficLine
from harness.report.wording import visible
from harness.units import bytes_text

__all__ = ["JoinedLine", "joined_lines"]

_Place = tuple[Site | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedLine:
    """``count`` times a copy, a wait, or a copy with the wait that follows it on the same line of code."""

    count: int
    copy: TrafficLine | None
    wait: TrafficLine | None

    @property
    def site(self) -> Site | None:
        """The line of user code behind it."""
        line = self.copy or self.wait
        return line.site if line is not None else None

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions it happened in, outermost first."""
        line = self.copy or self.wait
        return line.regions if line is not None else ()

    @property
    def text(self) -> str:
        """``1,001 x 4 B device -> pageable, cudaMemcpyAsync + stream sync``."""
        times = f"{self.count:,} x " if self.count > 1 else ""
        return f"{times}{_action(self.copy, self.wait)}"


def joined_lines(lines: Iterable[TrafficLine]) -> tuple[JoinedLine, ...]:
    """Join each copy with a wait of the same line of code and regions, in order of first appearance.

    A wait is joined as often as it happened and no more; waits left over are lines of their own. Lines
    without a site are never joined, since nothing says that they belong together, and a host callback is nobody's
    wait for a copy. Equal lines count once.
    """
    distinct = tuple(dict.fromkeys(lines))
    left = {line: line.count for line in distinct if line.sync is not None}
    beside: dict[_Place, list[TrafficLine]] = {}
    for wait in left:
        if wait.sync is SyncKind.HOST_CALLBACK:
            continue
        beside.setdefault((wait.site, wait.regions), []).append(wait)
    partner = {}
    for line in distinct:
        if line.sync is None and line.site is not None:
            waits = beside.get((line.site, line.regions), [])
            enough = next((wait for wait in waits if left[wait] >= line.count), None)
            if enough is not None:
                left[enough] -= line.count
                partner[line] = enough
    joined = []
    for line in distinct:
        if line.sync is None:
            joined.append(JoinedLine(count=line.count, copy=line, wait=partner.get(line)))
        elif left[line]:
            joined.append(JoinedLine(count=left[line], copy=None, wait=line))
    return tuple(joined)


def _action(copy: TrafficLine | None, wait: TrafficLine | None) -> str:
    wait_words = _wait_words(wait.sync) if wait is not None and wait.sync is not None else ""
    if copy is None:
        api = f", {visible(wait.api)}" if wait is not None else ""
        return f"{wait_words}{api}"
    source, destination = _memories(copy)
    ending = f" + {wait_words}" if wait_words else ""
    size = bytes_text(copy.size_bytes)
    return f"{size} {source} -> {destination}, {visible(copy.api)}{ending}"


def _wait_words(kind: SyncKind) -> str:
    if kind is SyncKind.HOST_CALLBACK:
        return f"{kind.value}: the device waits for the host"
    return f"{kind.value} sync"


def _memories(copy: TrafficLine) -> tuple[str, str]:
    """Both ends of a copy; an end of unknown kind is called by the side it is on."""
    ends = {
        Direction.DEVICE_TO_HOST: ("device", "host"),
        Direction.HOST_TO_DEVICE: ("host", "device"),
        Direction.HOST_TO_HOST: ("host", "host"),
    }
    sides = ends.get(copy.direction, ("device", "device")) if copy.direction else ("?", "?")
    kinds = (copy.source, copy.destination)
    source, destination = (
        side if kind is None or kind is MemoryKind.UNKNOWN else kind.value
        for side, kind in zip(sides, kinds, strict=True)
    )
    return source, destination
