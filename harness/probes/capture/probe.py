"""The capture witness: the op is captured into a CUDA graph, which refuses what would need the host.

A second opinion beside CUPTI, and a stricter one: what is captured can be launched again without the host.
It sees one stream of one thread, and each node once however often the graph will run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from harness.errors import UnavailableError
from harness.model.event import Event, EventType, Site
from harness.model.outcome import Evidence
from harness.model.trace import Trace
from harness.probes.capture.binding import load_cupy, load_runtime
from harness.probes.capture.graph import GraphReader
from harness.probes.capture.lines import line_by_line
from harness.probes.capture.refusal import Refusal, refusal_of

__all__ = ["CaptureProbe", "CaptureRecording"]

_OBSERVES = frozenset({EventType.TRANSFER, EventType.SYNC, EventType.MEMSET, EventType.KERNEL})

_Region = Callable[[str], AbstractContextManager[None]]


class CaptureRecording:
    """One capture; each node belongs to the regions open when it was added, and to the line that added it."""

    def __init__(self, reader: GraphReader, *, stream: int, probe: str) -> None:
        self._reader = reader
        self._stream = stream
        self._probe = probe
        self._regions: tuple[str, ...] = ()
        self._entered: Counter[str] = Counter()
        self._known: frozenset[int] = frozenset()
        self._events: list[Event] = []
        self._refused: list[Event] = []
        self._doubts: list[str] = []
        self._is_open = True
        self._was_refused = False

    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        """Tag every node added inside with ``name``; raises ``RuntimeError`` once the recording is closed."""
        if not self._is_open:
            raise RuntimeError(f"region {name!r} was entered after its recording had closed")
        self.look(None)
        outside = self._regions
        self._regions = (*outside, name)
        self._entered[name] += 1
        try:
            yield
        except BaseException as error:
            self.refuse(error)
            raise
        finally:
            self.look(None)
            self._regions = outside

    def look(self, site: Site | None) -> None:
        """Take in the nodes added since the last look, as added by the line at ``site``.

        They are read at once, since a call that spoils the capture takes its graph away. Never raises: it is
        called from within the op's own lines.
        """
        try:
            graph = self._reader.graph_of(self._stream) if self._is_open else None
            if graph is None or self._reader.count(graph) == len(self._known):
                return
            nodes = self._reader.nodes(graph)
            new = [node for handle, node in nodes.items() if handle not in self._known]
            self._known = frozenset(nodes)
            for node in new:
                self._take(node, site)
        except Exception as error:  # noqa: BLE001 - raised here it would become the op's own
            self.doubt(f"a graph node could not be read ({error}); update cuda-bindings")

    def refuse(self, error: BaseException) -> bool:
        """Note what ``error`` says of the op; whether it, or one before it, was a refusal. The first counts."""
        refusal = None if self._was_refused else refusal_of(error)
        if refusal is not None:
            self._was_refused = True
            self._note(refusal)
        return self._was_refused

    def close(self) -> None:
        """The capture has ended; nothing is added any more."""
        self._is_open = False

    def trace(self) -> Trace:
        """What was captured and what was refused; ``RuntimeError`` while still open."""
        if self._is_open:
            raise RuntimeError(
                "the recording is still open: leave its with block before asking for the trace"
            )
        return Trace(
            probe=self._probe,
            evidence=Evidence.WITNESSED,
            observes=_OBSERVES,
            events=(*self._events, *self._refused),
            entered=dict(self._entered),
            doubts=tuple(self._doubts),
        )

    def doubt(self, text: str) -> None:
        """Keep the capture from proving anything; said once however often it comes up."""
        if text not in self._doubts:
            self._doubts.append(text)

    def _take(self, node: Any, site: Site | None) -> None:
        for found in self._reader.read(node):
            if found.kind is not None:
                self._events.append(found.kind(regions=self._regions, site=site, **found.details))
            if found.doubt:
                self.doubt(found.doubt)

    def _note(self, refusal: Refusal) -> None:
        if refusal.kind is None:
            self.doubt(refusal.doubt)
            return
        event = refusal.kind(regions=self._regions, site=refusal.site, **refusal.details)
        self._refused.append(event)
        self.doubt(
            "capture ends at the first call it refuses; what the op does after it was not seen"
        )


class CaptureProbe:
    """Watches one op by capturing it on a CuPy stream.

    Run the op once before, so that its kernels are compiled and CuPy's pools are filled: what is captured must
    not have to do that. The stream is a blocking one, so that work on the legacy default stream, which capture
    would not see, is refused. Raises ``UnavailableError`` when CuPy, a device or cuda-bindings is missing.

    ``cupy`` and ``runtime`` stand in for the modules ``cupy`` and ``cuda.bindings.runtime``.
    """

    def __init__(self, *, cupy: Any = None, runtime: Any = None) -> None:
        self._cupy = load_cupy() if cupy is None else cupy
        self._reader = GraphReader(load_runtime() if runtime is None else runtime)

    @property
    def name(self) -> str:
        """``"capture (cupy 14.2.0)"``."""
        return f"capture (cupy {self._cupy.__version__})"

    @property
    def evidence(self) -> Evidence:
        """Witnessed: CUDA itself refuses what would need the host."""
        return Evidence.WITNESSED

    @property
    def observes(self) -> frozenset[EventType]:
        """Copies, waits, fills and kernels of the captured stream."""
        return _OBSERVES

    def record(self) -> AbstractContextManager[CaptureRecording]:
        """Capture until the context closes; what capture refuses passes through as the exception it is.

        The trace stands all the same, with the refused call as an event.
        """
        return self._record()

    def witness(self, run: Callable[[_Region], object]) -> Trace:
        """Capture ``run``, which is given ``region``, and return the trace, refused or not.

        Any exception that is no refusal passes through.
        """
        recording: CaptureRecording | None = None
        try:
            with self.record() as recording:
                run(recording.region)
        except Exception as error:
            if recording is None or not recording.refuse(error):
                raise
        return recording.trace()

    @contextmanager
    def _record(self) -> Iterator[CaptureRecording]:
        stream = self._capturing()
        recording = CaptureRecording(self._reader, stream=int(stream.ptr), probe=self.name)
        with stream:
            try:
                with line_by_line(recording.look):
                    yield recording
            except BaseException as error:
                recording.refuse(error)
                raise
            finally:
                recording.look(None)
                _end(stream, recording)

    def _capturing(self) -> Any:
        try:
            stream = self._cupy.cuda.Stream(non_blocking=False)
            with stream:
                stream.begin_capture()
        except RuntimeError as error:
            raise UnavailableError(
                f"CuPy could not begin a stream capture ({error}); end any other capture in this process, "
                "or rely on the CUPTI probe"
            ) from error
        return stream


def _end(stream: Any, recording: CaptureRecording) -> None:
    """End the capture; that it was spoilt is found out here at the latest."""
    try:
        stream.end_capture()
    except RuntimeError as error:
        if not recording.refuse(error):
            recording.doubt(
                f"the captured graph could not be made ({error}); rely on the CUPTI probe"
            )
    finally:
        recording.close()
