"""Becoming CUPTI's only subscriber, turning on what the probe needs, and leaving nothing behind."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from harness.errors import UnavailableError
from harness.probes.cupti.binding import status_name, subscription_refused, unavailable
from harness.probes.cupti.hazards import foreign_tools
from harness.probes.cupti.host import Host
from harness.probes.cupti.inbox import Inbox, deliver_to
from harness.probes.cupti.kinds import ENABLED, REQUIRED, ActivityKind
from harness.probes.cupti.migrations import WATCHED

__all__ = ["Subscription", "errors_of"]

_NAME = "ondevice-harness"

_FORCED = 1
"""``ActivityFlag.FLUSH_FORCED``: hand over unfinished records too; only when nothing runs any more."""


class _Params(ctypes.Structure):
    """``CUpti_SubscriberParams``; cupti-python offers the holder's name read-only and does not clear it."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("subscriber_name", ctypes.c_void_p),
        ("old_subscriber_name", ctypes.c_void_p),
        ("old_subscriber_size", ctypes.c_size_t),
        ("allow_multiple_subscribers", ctypes.c_uint8),
    )

    def clear_holder(self) -> None:
        """Empty the buffer, so that only what CUPTI writes there is read."""
        if self.old_subscriber_name:
            ctypes.memset(self.old_subscriber_name, 0, self.old_subscriber_size)

    def holder(self) -> str:
        """The subscriber CUPTI names in its refusal; empty when it names none."""
        if not self.old_subscriber_name:
            return ""
        raw = ctypes.string_at(self.old_subscriber_name, self.old_subscriber_size)
        return raw.split(b"\0", 1)[0].decode(errors="replace")


def errors_of(module: Any) -> tuple[type[Exception], ...]:
    """What CUPTI's functions raise; ``NotSupportedError`` and ``NotImplementedError`` are ``RuntimeError``."""
    return (RuntimeError, module.cuptiError)


class Subscription:
    """From ``open`` to ``close`` CUPTI calls back into ``inbox``.

    ``watched`` are the callback domains and numbers whose entry is to be seen.
    """

    def __init__(
        self, module: Any, host: Host, inbox: Inbox, *, watched: Iterable[tuple[int, int]]
    ) -> None:
        self._cupti = module
        self._host = host
        self._inbox = inbox
        # A reference: CUPTI keeps none of its own to what it calls back.
        self._callback = inbox.call
        self._errors = errors_of(module)
        self._wanted = tuple(watched)
        self._handle: int | None = None
        self._watched: list[tuple[int, int]] = []
        self._system_threads = True
        self.enabled: list[ActivityKind] = []

    def open(self, *, unified_memory: bool) -> None:
        """Subscribe and turn everything on; raises ``UnavailableError`` and undoes what it did."""
        self._subscribe()
        try:
            self._choose_thread_ids()
            self._step("register its buffers", partial(deliver_to, self._inbox, module=self._cupti))
            self._enable_kinds()
            if unified_memory:
                self._watch_migrations()
            self._enable_callbacks()
        except UnavailableError:
            self.close()
            raise

    def close(self) -> tuple[str, ...]:
        """Turn everything off, whatever fails on the way; returns what failed, one line each.

        CUPTI is never finalized: after that it delivers nothing to anybody for the rest of the process.
        """
        cupti, handle = self._cupti, self._handle
        failures = [*self._tried("flush", partial(cupti.activity_flush_all, _FORCED))]
        for key in self._watched:
            failures += self._tried(
                "stop a callback", partial(cupti.enable_callback, 0, handle, *key)
            )
        for kind in reversed(self.enabled):
            failures += self._tried(
                f"disable {kind.name}", partial(cupti.activity_disable, int(kind))
            )
        failures += self._tried("unsubscribe", partial(cupti.unsubscribe, handle))
        deliver_to(None, module=cupti)
        self._watched, self.enabled, self._handle = [], [], None
        return tuple(dict.fromkeys(failures))

    def thread(self) -> int:
        """This thread as CUPTI's records name it."""
        if self._system_threads:
            return threading.get_native_id()
        # CUPTI's default is pthread_self() in a field of 32 bits; Python's ident is pthread_self().
        return threading.get_ident() & 0xFFFFFFFF

    def _subscribe(self) -> None:
        cupti, plain = self._cupti, None
        try:
            if hasattr(cupti, "subscribe_v2"):
                params = cupti.SubscriberParams()
                params.struct_size = cupti.SUBSCRIBER_PARAMS_SIZE
                params.subscriber_name = _NAME
                plain = _Params.from_address(params.ptr)
                plain.clear_holder()
                self._handle = cupti.subscribe_v2(self._callback, None, params.ptr)
            else:
                # CUDA 12: without a name of ours, and without one of whoever is in the way.
                self._handle = cupti.subscribe(self._callback, None)
        except self._errors as error:
            if status_name(cupti, error) == "ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED":
                holder = plain.holder() if plain is not None else ""
                tools = foreign_tools(holder, self._host.environ, self._host.mapped_files())
                raise subscription_refused(tools) from error
            raise unavailable(cupti, "subscribe", error) from error

    def _choose_thread_ids(self) -> None:
        try:
            self._cupti.set_thread_id_type(int(self._cupti.ActivityThreadIdType.SYSTEM))
        except self._errors:
            self._system_threads = False

    def _enable_kinds(self) -> None:
        for kind in ENABLED:
            if kind.name not in self._cupti.ActivityKind.__members__:
                continue
            try:
                self._cupti.activity_enable(int(kind))
            except self._errors as error:
                if kind in REQUIRED:
                    raise unavailable(self._cupti, f"enable {kind.name}", error) from error
                continue
            self.enabled.append(kind)

    def _watch_migrations(self) -> None:
        cupti, kind = self._cupti, ActivityKind.UNIFIED_MEMORY_COUNTER
        configs = cupti.ActivityUnifiedMemoryCounterConfig(len(WATCHED))
        for index, counter in enumerate(WATCHED):
            config = configs[index]
            # Scope and device are ignored since CUDA 7, and must be valid all the same.
            config.scope = int(cupti.ActivityUnifiedMemoryCounterScope.PROCESS_SINGLE_DEVICE)
            config.device_id = 0
            config.kind = int(counter)
            config.enable = 1
        self._step(
            "watch managed memory",
            partial(cupti.activity_configure_unified_memory_counter, configs.ptr, len(WATCHED)),
        )
        self._step(f"enable {kind.name}", partial(cupti.activity_enable, int(kind)))
        self.enabled.append(kind)

    def _enable_callbacks(self) -> None:
        refused: Exception | None = None
        for domain, cbid in self._wanted:
            try:
                self._cupti.enable_callback(1, self._handle, domain, cbid)
            except self._errors as error:
                # One number CUPTI will not watch costs that call its line; all of them cost every line.
                refused = error
                continue
            self._watched.append((domain, cbid))
        if refused is not None and not self._watched:
            raise unavailable(self._cupti, "watch the entry into calls", refused) from refused

    def _step(self, doing: str, run: Callable[[], object]) -> None:
        try:
            run()
        except self._errors as error:
            raise unavailable(self._cupti, doing, error) from error

    def _tried(self, doing: str, run: Callable[[], object]) -> Iterator[str]:
        try:
            run()
        except self._errors as error:
            yield f"CUPTI failed to {doing} ({status_name(self._cupti, error)}); use a fresh process"
