"""The process that runs one side, or both in turns: each loads cases from its own import path and times them.

Started by ``harness.session.against.process`` with the number of a socket per side. Whatever the code under test
prints goes where its standard output goes, never into the conversation.
"""

from __future__ import annotations

import faulthandler
import os
import platform
import random
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.devices.base import Device
from harness.devices.registry import choose_devices
from harness.errors import OutputError, UnavailableError, UsageError, WorkloadError
from harness.model.workload import Case
from harness.session.against import protocol
from harness.session.against.content import (
    digests,
    file_digests,
    made_inputs,
    read_arrays,
    work_of,
    write_arrays,
)
from harness.session.against.protocol import Trouble
from harness.session.against.roots import Relocation, loaded_files
from harness.session.against.worlds import World, Worlds
from harness.session.catalogue import BUILT_IN, load_workload
from harness.session.declared import Declared, declared_by
from harness.session.foreign import CannotTellError, foreign
from harness.session.numbers import check_inputs, check_values, expected_outputs
from harness.session.observe import HostArrays, Observation, same_bits, to_device, unwatched
from harness.timers.base import Timer

__all__ = ["main", "serve"]

_FREE_FROM = 10
"""From so many calls on, one more before them costs a tenth at most: it brings caches and clock frequency back from
the other side's work and from waiting."""


def main() -> None:
    """Serve the sockets whose numbers are the arguments until one is closed, then end at once.

    Threads and exit handlers of the code under test cannot keep the process alive.
    """
    faulthandler.register(signal.SIGUSR1)  # where it hangs, in its log
    connections = [socket.socket(fileno=int(number)) for number in sys.argv[3:]]
    for connection in connections:
        connection.set_inheritable(False)
    serve(*map(protocol.Channel, connections))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def serve(*channels: protocol.Channel) -> None:
    """Answer requests one by one until the other end of a channel hangs up; each channel is a side of its own."""
    worlds, shelf = Worlds(), _Shelf()
    sides = {channel.fileno(): (channel, _Side(shelf)) for channel in channels}
    try:
        while True:
            for number in select.select(list(sides), (), ())[0]:
                channel, side = sides[number]
                channel.send(_answer(side, worlds, channel.request()))
    except (EOFError, ConnectionError):
        return


def _answer(side: _Side, worlds: Worlds, request: protocol.Request) -> protocol.Reply:
    try:
        return side.do(request, worlds)
    except _RefusedError as refusal:
        return protocol.Refused(refusal.trouble, str(refusal))
    except (CannotTellError, MemoryError) as error:
        return protocol.Refused(Trouble.CANNOT_TELL, str(error))
    except WorkloadError as error:
        return protocol.Refused(Trouble.BROKEN, str(error))
    except OutputError as error:
        return protocol.Refused(Trouble.OUTPUT, str(error))
    except UnavailableError as error:
        return protocol.Refused(Trouble.UNAVAILABLE, str(error))
    except UsageError as error:
        return protocol.Refused(Trouble.USAGE, str(error))


class _RefusedError(Exception):
    """A request that cannot be met, for a reason with a name."""

    def __init__(self, trouble: Trouble, text: str) -> None:
        super().__init__(text)
        self.trouble = trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """The case that is open, with its arrays where it runs."""

    case: Case
    declared: Declared
    inputs: HostArrays
    arrays: dict[str, Any]
    call: Callable[[], object]


class _Shelf:
    """Input arrays that the sides of a process have in common where they are equal: one place, no one's advantage."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._arrays: dict[str, Any] = {}

    def arrays(self, found: dict[str, str], inputs: HostArrays, device: Device) -> dict[str, Any]:
        """The inputs, of these digests, on the device: those that lie there already, if they are the same."""
        if found != self._digests or not self._arrays:
            self._digests, self._arrays = found, dict(to_device(inputs, device))
        return self._arrays

    def forget(self) -> None:
        """Let them go with the case."""
        self._digests, self._arrays = {}, {}


class _Side:
    """One side's state: its world, its device and the case that is open."""

    def __init__(self, shelf: _Shelf) -> None:
        self._shelf = shelf
        self._world: World | None = None
        self._device: Device | None = None
        self._timer: Timer | None = None
        self._loaded: _Loaded | None = None
        self._layout: object = None
        self._repository = self._tree = Path()

    def do(self, request: protocol.Request, worlds: Worlds) -> protocol.Reply:
        """Carry out one request, in this side's world."""
        if isinstance(request, protocol.Enter):
            self._world = World(Path(request.tree), Path(request.folder))
        assert self._world is not None, "Enter comes first"
        worlds.enter(self._world)
        match request:
            case protocol.Enter():
                return self._enter(request)
            case protocol.Open():
                return self._open(request)
            case protocol.Expect(path):
                return self._expect(path)
            case protocol.Verify(expected):
                return self._verify(expected)
            case protocol.Time(calls):
                return self._time(calls)
            case protocol.Move(seed):
                return self._move(random.Random(seed))
            case protocol.Close():
                self._loaded = self._layout = None
                self._shelf.forget()
                return protocol.Done()

    @property
    def _device_here(self) -> Device:
        assert self._device is not None, "Enter comes first"
        return self._device

    @property
    def _case_here(self) -> _Loaded:
        assert self._loaded is not None, "Open comes first"
        return self._loaded

    def _enter(self, request: protocol.Enter) -> protocol.Entered:
        self._repository, self._tree = Path(request.repository), Path(request.tree)
        sys.path[:] = _other_than(self._repository) if request.path is None else request.path
        sys.path.extend(request.more)
        devices = choose_devices(request.device)
        if devices.timing is None:
            raise UsageError(
                f"time on device {request.device!r} says nothing about code; compare on cpu or cuda:N"
            )
        self._device, self._timer = devices.timing, devices.timing.timer()
        return protocol.Entered(
            device=self._device.name,
            timer=self._timer.name,
            resolution_ns=self._timer.resolution_ns,
            notes=list(devices.notes),
            identity=self._device.identity,
            platform=f"{platform.python_implementation()} {platform.python_version()}, NumPy {np.__version__}",
        )

    def _open(self, request: protocol.Open) -> protocol.Opened:
        self._loaded = self._layout = None
        case, cases = _found(request)
        self._refuse_strays(request)
        declared = declared_by(case)
        inputs = made_inputs(case, request.seed)
        found = digests(inputs)
        arrays = self._shelf.arrays(found, inputs, self._device_here)
        self._loaded = _Loaded(
            case=case,
            declared=declared,
            inputs=inputs,
            arrays=arrays,
            call=lambda: case.run(arrays, unwatched),
        )
        return protocol.Opened(declared.parameters, work_of(declared), found, cases)

    def _refuse_strays(self, request: protocol.Open) -> None:
        """A side that runs the other side's code, or an installed copy, would find no change for ever."""
        name = BUILT_IN.get(request.target, request.target).partition(":")[0]
        file = Path(getattr(sys.modules[name], "__file__", None) or "a file unknown").resolve()
        if not (request.anywhere or file.is_relative_to(self._tree)):
            raise _RefusedError(Trouble.STRAY, f"{name} was imported from {file}")
        self._refuse_mixture()

    def _refuse_mixture(self) -> None:
        if self._tree == self._repository:
            return
        mixed = loaded_files(self._repository)
        for name, file in mixed.items():
            if not file.is_relative_to(self._tree):
                raise _RefusedError(Trouble.STRAY, f"{name} was imported from {file}")

    def _expect(self, path: str) -> protocol.Done:
        loaded = self._case_here
        write_arrays(Path(path), expected_outputs(loaded.case, loaded.inputs))
        return protocol.Done()

    def _verify(self, expected: str) -> protocol.Verified:
        loaded, device = self._case_here, self._device_here
        truth = read_arrays(Path(expected))
        seen = _called_once(loaded, device)
        self._refuse_mixture()  # code may import more when it runs
        results = [
            check_values(loaded.declared, seen, truth, device=device),
            check_inputs(seen, loaded.inputs, device),
        ]
        compiled = loaded_files(self._repository, compiled=True).values()
        code = file_digests(loaded_files(self._tree))
        return protocol.Verified(results, [str(path) for path in compiled], code)

    def _move(self, chance: random.Random) -> protocol.Done:
        """A new layout, and the inputs in it too: where they lie is worth as much as where results land.

        Everything old goes first, since holes between two layouts would take large buffers in.
        """
        loaded = self._case_here
        self._layout = None
        loaded.arrays.clear()
        self._layout = self._device_here.change_layout(chance)
        loaded.arrays.update(to_device(loaded.inputs, self._device_here))
        return protocol.Done()

    def _time(self, calls: int) -> protocol.Timed:
        loaded, timer = self._case_here, self._timer
        assert timer is not None, "Enter comes first"
        with foreign(f"timing {loaded.declared.name} on {self._device_here.name}"):
            if calls >= _FREE_FROM or not self._device_here.is_host:
                timer.measure(loaded.call, 1)
            return protocol.Timed(timer.measure(loaded.call, calls))


def _other_than(repository: Path) -> list[str]:
    """This interpreter's import path without the working tree, which an environment variable may name."""
    elsewhere = Relocation(repository, repository)
    return [entry for entry in sys.path if elsewhere.of(Path(entry or os.curdir).resolve()) is None]


def _found(request: protocol.Open) -> tuple[Case, list[str]]:
    """The case asked for and the names of all; refused as missing where the module has neither."""
    try:
        workload = load_workload(request.target)
    except UsageError as error:
        cause = error.__cause__
        module = BUILT_IN.get(request.target, request.target).partition(":")[0]
        if isinstance(cause, ModuleNotFoundError) and not _is_part(cause.name, module):
            raise WorkloadError(str(error)) from error
        raise _RefusedError(Trouble.MISSING, str(error)) from error
    with foreign(f"{workload.name}.cases()"):
        cases = {case.name: case for case in workload.cases()}
    if request.case not in cases:
        text = (
            f"workload {request.target!r} has no case {request.case!r}; it has {', '.join(cases)}"
        )
        raise _RefusedError(Trouble.MISSING, text)
    return cases[request.case], list(cases)


def _is_part(name: str | None, module: str) -> bool:
    """Whether ``name`` is ``module`` or a package it lies in."""
    return name is not None and f"{module}.".startswith(f"{name}.")


def _called_once(loaded: _Loaded, device: Device) -> Observation:
    """One call on arrays of its own, watched by nobody."""
    arrays: Mapping[str, Any] = to_device(loaded.inputs, device)
    name = loaded.declared.name
    with foreign(f"{name} on {device.name}"):
        outputs = loaded.case.run(dict(arrays), unwatched)
        if not isinstance(outputs, Mapping):
            raise WorkloadError(
                f"{name}: run() returned {type(outputs).__name__}; return a mapping of names to arrays"
            )
        host = {
            str(key): device.to_host(value) if device.owns(value) else np.asarray(value)
            for key, value in outputs.items()
        }
    changed = [
        key
        for key, original in loaded.inputs.items()
        if not same_bits(device.to_host(arrays[key]), original)
    ]
    return Observation(
        calls=1, results=(host,), strays=(), overwritten=tuple(changed), cold=None, warm=()
    )


if __name__ == "__main__":
    main()
