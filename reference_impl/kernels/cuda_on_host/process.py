"""Runs kernels in a program of ``build``: buffers and launches go in, buffers and a verdict come out.

A request is a row of little-endian numbers, uint64 unless said otherwise, and of byte strings with their length in
front: the number of buffers; for each its misalignment and its bytes; the number of launches; for each the kernel's name,
grid, block, cluster, shared bytes, order and seed (uint32 each), the one cluster to run or -1 (int64), the parameter's
bytes, the number of pointers in it, and for each where it stands, which buffer it is to point to, and how far in front of
that. The answer is what stopped a launch, empty if nothing did, and the bytes of every buffer.
"""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HostBuffer",
    "HostDevice",
    "HostLaunch",
    "LaunchCrashedError",
    "LaunchStoppedError",
    "Order",
]

_TIME_LIMIT_S = 120
"""A kernel that waits for what never comes is stopped by the scheduler; one that loops for ever, by this."""


_SANITIZER_OPTIONS = {
    # Leak detection looks at the process with ptrace, which containers forbid; there is nothing to leak into.
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


class LaunchCrashedError(RuntimeError):
    """The program ended in the middle of a launch. The message is what it, or its sanitizer, said last."""


class LaunchStoppedError(RuntimeError):
    """The threads of a launch could not go on. The message says where they wait."""


class Order(IntEnum):
    """Whose turn it is between two barriers: the first thread's, the last one's, or anyone's."""

    FORWARD = 0
    REVERSE = 1
    RANDOM = 2


@dataclass(frozen=True, slots=True, eq=False)
class HostBuffer:
    """Device memory that starts as ``array`` does. ``misalignment``: bytes past an address that 16 divides.

    ``distance``: how far in front of the memory a kernel's pointer points, in bytes. A block that works on a row far
    from the first then finds that row here, and the rows before it need no memory.
    """

    array: NDArray[Any]
    misalignment: int = 0
    distance: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLaunch:
    """One launch. ``parameter``: one element of a structured dtype, in which ``pointers`` names the fields to fill."""

    kernel: str
    grid: int
    block: int
    parameter: NDArray[Any]
    pointers: Mapping[str, HostBuffer]
    cluster: int = 1
    shared_bytes: int = 0
    order: Order = Order.FORWARD
    seed: int = 1
    only_cluster: int | None = None


@dataclass(frozen=True, slots=True)
class HostDevice:
    """A program that ``build`` made."""

    program: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, launches: Sequence[HostLaunch]) -> dict[HostBuffer, NDArray[Any]]:
        """What every buffer holds after ``launches``, one after another, in a process of their own.

        Raises ``LaunchStoppedError`` when threads cannot go on and ``LaunchCrashedError`` when the process ends early, as it does at the
        first finding of a sanitizer.
        """
        buffers = list({id(b): b for each in launches for b in each.pointers.values()}.values())
        answer = self._ask(_request(buffers, launches))
        (length,) = struct.unpack_from("<Q", answer)
        if length:
            raise LaunchStoppedError(answer[8 : 8 + length].decode())
        contents = {}
        start = 8
        for buffer in buffers:
            stop = start + buffer.array.nbytes
            flat = np.frombuffer(answer[start:stop], dtype=buffer.array.dtype)
            contents[buffer] = flat.reshape(buffer.array.shape)
            start = stop
        return contents

    def facts(self) -> dict[str, int]:
        """The values of the ``facts`` that the program was built with."""
        done = subprocess.run([self.program, "facts"], capture_output=True, text=True, check=True)
        return {
            name: int(value)
            for name, value in (line.rsplit(" ", 1) for line in done.stdout.splitlines())
        }

    def _ask(self, request: bytes) -> bytes:
        done = subprocess.run(
            [self.program],
            input=request,
            capture_output=True,
            timeout=_TIME_LIMIT_S,
            env={**_SANITIZER_OPTIONS, **self.environment},
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise LaunchCrashedError(f"exit status {done.returncode}\n{said[:4000]}")
        return done.stdout


def _request(buffers: Sequence[HostBuffer], launches: Sequence[HostLaunch]) -> bytes:
    parts = [struct.pack("<Q", len(buffers))]
    for buffer in buffers:
        parts += [struct.pack("<Q", buffer.misalignment), _sized(buffer.array.tobytes())]
    parts.append(struct.pack("<Q", len(launches)))
    numbers = {id(buffer): i for i, buffer in enumerate(buffers)}
    for each in launches:
        geometry = (each.grid, each.block, each.cluster, each.shared_bytes, each.order, each.seed)
        only = -1 if each.only_cluster is None else each.only_cluster
        parts += [_sized(each.kernel.encode()), struct.pack("<6Iq", *geometry, only)]
        parts += [_sized(each.parameter.tobytes()), struct.pack("<Q", len(each.pointers))]
        for name, buffer in each.pointers.items():
            where = _offset(each.parameter.dtype, name)
            parts.append(struct.pack("<QQq", where, numbers[id(buffer)], buffer.distance))
    return b"".join(parts)


def _sized(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + content


def _offset(dtype: np.dtype[Any], name: str) -> int:
    if dtype.fields is None:
        raise TypeError(f"the parameter has no fields, so none is called {name}")
    return dtype.fields[name][1]
