"""Records of history, and processes that write them to a store until they are done or killed."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from builders import a_sample, a_speed

from harness.baseline.stores.base import Store
from harness.baseline.stores.opening import open_store
from harness.errors import ConflictError, HarnessError, UsageError
from harness.model.baseline import Baseline
from harness.model.environment import Environment
from harness.model.history import HistoryRecord
from harness.model.measurement import Sample, Speed

__all__ = [
    "a_baseline",
    "a_history_record",
    "append_until_killed",
    "append_until_step",
    "append_with_others",
    "append_with_space",
    "report_under",
    "save_until_step",
    "started",
]

_PRELOADED = [
    "store_writers",
    "harness.baseline.stores.sql",
    "harness.baseline.stores.sql_database",
    "psycopg",
]


def a_history_record(
    run_id: str = "run-1",
    key: str = "softmax/a",
    *,
    created: str = "2026-01-31T12:00:00+00:00",
    comparable: str = "c0ffee",
    commit: str | None = "0" * 40,
    speed: Speed | None = None,
    sample: Sample | None = None,
) -> HistoryRecord:
    return HistoryRecord(
        run_id=run_id,
        key=key,
        created=created,
        comparable=comparable,
        commit=commit,
        dirty=False,
        speed=speed or a_speed(commit=None, created=""),
        sample=sample,
    )


def a_baseline(name: str = "main", *, note: str = "first") -> Baseline:
    return Baseline(
        name=name,
        created="2026-01-31T12:00:00Z",
        environment=Environment(hard={"os.name": "Linux"}, soft={"note": note}),
        cases=(),
    )


def started(work: Callable[..., None], *arguments: Any) -> tuple[Any, Connection]:
    """A process that does ``work(pipe, *arguments)``, and the other end of its pipe.

    It is forked from a server that has imported everything and has no threads.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *arguments))
    process.start()
    theirs.close()
    return process, ours


def append_with_others(pipe: Connection, where: str, writer: int) -> None:
    """Wait for the word, then add runs of one's own and runs that others add too; send how many were new."""
    store = open_store(where)
    pipe.recv()
    new = 0
    for number in range(4):
        for run in (f"own-{writer}-{number}", f"shared-{number}"):
            new += store.append(
                [a_history_record(run, key, sample=a_sample()) for key in ("a", "b", "c")]
            )
    try:
        store.save(a_baseline("shared", note=str(writer)))
        saved = 1
    except UsageError:
        saved = 0
    store.save(a_baseline(f"own-{writer}"))
    store.save(a_baseline("replaced", note=str(writer) * 10_000), replace=True)
    _count_up(store)
    pipe.send((new, saved))


def _count_up(store: Store) -> None:
    """Replace a baseline by one that counts one more, as often as it takes."""
    while True:
        before = store.load("counted")
        counted = int(before.environment.soft["note"]) + 1
        with suppress(ConflictError):
            store.save(a_baseline("counted", note=str(counted)), instead_of=before)
            return


def append_until_killed(pipe: Connection, where: str, attempt: int) -> None:
    """Add run after run, saying each time that one is there."""
    store = open_store(where, say=sys.stderr.write)
    for number in range(10_000):
        run_id = f"run-{attempt}-{number}"
        store.append(
            [a_history_record(run_id, f"key-{key}", sample=a_sample()) for key in range(3)]
        )
        store.save(a_baseline("rolling", note=f"{attempt}-{number}"), replace=True)
        pipe.send(run_id)


def append_until_step(
    pipe: Connection, where: str, records: Sequence[HistoryRecord], steps: int
) -> None:
    """Add the records, and be killed before the step of that number."""
    _be_killed_before(steps, where)
    open_store(where).append(records)


def save_until_step(
    pipe: Connection, where: str, replaced: Baseline, new: Baseline, steps: int
) -> None:
    """Save two baselines, and be killed before the step of that number."""
    _be_killed_before(steps, where)
    open_store(where).save(replaced, replace=True)
    open_store(where).save(new)


def _be_killed_before(steps: int, where: str) -> None:
    """From here on count what this process does to the files there: an open, a change of names, half a write."""
    left, write = steps, os.write

    def step(before: Callable[[], object] = lambda: None) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            before()
            os.kill(os.getpid(), signal.SIGKILL)

    def half(descriptor: int, data: bytes) -> int:
        step(lambda: write(descriptor, bytes(data)[: len(data) // 2]))
        return write(descriptor, data)

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("open", "os.rename", "os.link", "os.remove", "os.mkdir") and where in str(
            arguments
        ):
            step()

    os.write = half
    sys.addaudithook(watch)


def append_with_space(pipe: Connection, where: str, size_bytes: int) -> None:
    """Add a record where no file may be larger than that; send what is said."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))
    try:
        open_store(where).append([a_history_record("next"), a_history_record("after")])
    except HarnessError as error:
        pipe.send(str(error))


def report_under(pipe: Connection, where: str, hindrance: str) -> None:
    """Send what a read and two writes give, or how they fail, where this process is hindered like that."""
    if hindrance == "full disk":
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (100, 100)
        )  # writes beyond fail as on a full disk
    else:
        _make_read_only(where)
    store = open_store(where, say=lambda line: None)
    acts: tuple[Callable[[], object], ...] = (
        lambda: len(store.history()),
        lambda: store.append([a_history_record("next", sample=a_sample())]),
        lambda: store.save(a_baseline("next", note="x" * 300_000)),
    )
    said: list[object] = []
    for act in acts:
        try:
            said.append(act())
        except HarnessError as error:
            said.append((type(error).__name__, int(error.exit_code), str(error)))
    pipe.send(said)


def _make_read_only(where: str) -> None:
    """Take the right to write from the folders of a store, and from root the power not to mind."""
    folder = Path(where.removeprefix("sqlite:///")).absolute()
    folder = folder.parent if folder.suffix else folder
    for path in (folder, *folder.rglob("*")) if folder.exists() else ():
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.geteuid() == 0:
        version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        assert ctypes.CDLL(None).capset(version, none) == 0
