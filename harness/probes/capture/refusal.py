"""What a refusal during stream capture says about the op: a copy, a wait, or something capture cannot judge.

CUDA and CuPy refuse during capture what would need the host. Which of the two spoke, and what was refused, is
told by the exception: CuPy's own wording (``cupy/cuda/memory.pyx``), or the name or text of CUDA's status.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.model.event import Direction, Event, MemoryKind, Site, Sync, SyncKind, Transfer
from harness.probes.cupti.site import raising_site

__all__ = ["UNJUDGED", "Refusal", "refusal_of"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused: an event, or a doubt where the refusal proves nothing; and the user's line."""

    kind: type[Event] | None
    details: Mapping[str, Any]
    doubt: str
    site: Site | None


_WAIT = (Sync, {"api": "host wait, refused under capture", "kind": SyncKind.STREAM})

_CUPY_WORDING = (
    (
        re.compile(r"is capturing, so D2H transfers"),
        (
            Transfer,
            {
                "api": "cudaMemcpyAsync, refused under capture",
                "direction": Direction.DEVICE_TO_HOST,
                "size_bytes": 0,
                "source": MemoryKind.DEVICE,
                "destination": MemoryKind.UNKNOWN,
                "blocking": True,
            },
        ),
    ),
    (
        re.compile(r"is capturing, so H2D transfers"),
        (
            Transfer,
            {
                "api": "cudaMemcpyAsync, refused under capture",
                "direction": Direction.HOST_TO_DEVICE,
                "size_bytes": 0,
                "source": MemoryKind.UNKNOWN,
                "destination": MemoryKind.DEVICE,
                "blocking": False,
            },
        ),
    ),
    (re.compile(r"is capturing, so synchronous API calls"), _WAIT),
)
"""Sizes are 0: CuPy refuses before it looks at them."""

_LIBRARY = re.compile(r"calling (\S+) API during stream capture")
"""What CuPy says instead of calling cuBLAS, cuDNN, cuRAND, cuSOLVER or cuSPARSE."""

_TEXTS: Mapping[str, str] = {
    "unsupported": "operation not permitted when stream is capturing",
    "invalidated": "operation failed due to a previous error during capture",
    "merge": "operation would result in a merge of separate capture sequences",
    "unmatched": "capture was not ended in the same stream as it began",
    "unjoined": "capturing stream has unjoined work",
    "isolation": "dependency created on uncaptured work in another stream",
    "implicit": "operation would make the legacy stream depend on a capturing blocking stream",
    "capturedevent": "operation not permitted on an event last recorded in a capturing stream",
    "wrongthread": "attempt to terminate a thread-local capture sequence from another thread",
}
"""CUDA's statuses 900 to 908 and the texts it gives for them; PyTorch shows the text without the name."""

_NAME = re.compile(
    r"cudaError(?:StreamCapture)?(\w+)|CUDA_ERROR_(?:STREAM_CAPTURE_)?(\w+)", re.IGNORECASE
)

UNJUDGED: Mapping[str, str] = {
    "invalidated": "an earlier call ended the capture without an exception of its own, such as a poll of the "
    "stream, or one that the op caught",
    "merge": "work of two captures was joined; capture nothing else meanwhile",
    "unmatched": "the capture was ended on another stream; let the op begin and end captures in pairs",
    "unjoined": "work forked to another stream was not joined; have the op's stream wait for an event of it",
    "isolation": "a stream depends on work from before the capture; record its events inside the op",
    "implicit": "the op uses the legacy default stream; launch on the current stream, or compile with "
    "per-thread default streams",
    "capturedevent": "the op waits for or polls an event of the capture, and which cannot be told",
    "wrongthread": "another thread touched the capture; run the op in one thread",
}
"""Statuses that spoil a capture without proving a copy or a wait, each with its cause or fix."""


def refusal_of(error: BaseException) -> Refusal | None:
    """What ``error``, or the exception it was made from, refuses; ``None`` for an exception of another kind."""
    for link in _chain(error):
        site = raising_site(link.__traceback__)
        text = f"{link}"
        if isinstance(link, NotImplementedError) and (named := _LIBRARY.search(text)):
            return _doubt(
                f"CuPy does not capture {named.group(1)}, so capture cannot witness this op; "
                "check it with the CUPTI probe",
                site,
            )
        if not isinstance(link, RuntimeError):
            continue
        for wording, (kind, details) in _CUPY_WORDING:
            if wording.search(text):
                return Refusal(kind, details, "", site)
        status = _status(text)
        if status == "unsupported":
            kind, details = _WAIT
            return Refusal(kind, details, "", site)
        if status is not None:
            return _doubt(f"the capture was refused ({_TEXTS[status]}): {UNJUDGED[status]}", site)
    return None


def _status(text: str) -> str | None:
    """Which of CUDA's statuses of capture the text names or quotes."""
    for found in _NAME.finditer(text):
        name = (found.group(1) or found.group(2)).lower().replace("_", "")
        if name in _TEXTS:
            return name
    return next((name for name, wording in _TEXTS.items() if wording in text), None)


def _doubt(text: str, site: Site | None) -> Refusal:
    return Refusal(None, {}, f"{text} (at {site})" if site else text, site)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and those it was made from, innermost last."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
