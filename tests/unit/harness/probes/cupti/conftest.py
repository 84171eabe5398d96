"""A CUPTI that runs a script: real enums, real record objects, real callback data, and no driver.

``FakeCupti`` stands in for the module ``cupti.cupti``. It is also the device: ``copy_to_host`` and its like make
the calls CuPy makes, each seen on entry, recorded and delivered as CUPTI does it, and with CUPTI's bad habits:
records die when the callback that brings them returns, and buffers may come late or not at all.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

import pytest

from harness.probes.cupti import CuptiProbe, Host

INSTALL = 'needs cupti-python: python -m pip install "cupti-python~=13.4"'

RUNTIME, DRIVER = 2, 1


@pytest.fixture(scope="session")
def cupti() -> Any:
    """The real module; it imports without a driver."""
    module = pytest.importorskip("cupti.cupti", reason=INSTALL)
    if not hasattr(module, "subscribe_v2"):
        pytest.skip("cupti-python 12 destroys records it did not make with an error; " + INSTALL)
    return module


@pytest.fixture
def fake(cupti) -> FakeCupti:
    return FakeCupti(cupti)


@pytest.fixture
def fake_12(cupti) -> FakeCupti:
    """As cupti-python 12.8 is: no ``subscribe_v2``, other names of the enums of calls, no host nodes."""
    return FakeCupti12(cupti)


@pytest.fixture
def host(fake) -> Callable[..., Host]:
    """A machine on which everything is in order, but for what the test says."""

    def make(**changes: Any) -> Host:
        fine = {
            "environ": {},
            "mapped_files": lambda: frozenset({"/opt/cuda/lib64/libcupti.so.13"}),
            "driver_version": lambda: 13040,
            "package_version": lambda name: "13.4.0",
            "synchronize": fake.synchronize,
            "monotonic": lambda: fake.seconds,
            "sleep": fake.sleep,
        }
        return Host(**{**fine, **changes})

    return make


@pytest.fixture
def probe(fake, host) -> CuptiProbe:
    return CuptiProbe(module=fake, host=host())


@pytest.fixture
def make(cupti) -> Callable[..., Any]:
    """A real record object: ``make("ActivityMemcpy7", bytes=4)``."""
    return lambda of, /, **fields: filled(getattr(cupti, of)(), fields)


def filled(record: Any, fields: dict[str, Any]) -> Any:
    for name, value in fields.items():
        setattr(record, name, value)
    return record


class FakeCupti:
    """The device under CUPTI's eyes.

    ``late`` flushes deliver nothing; ``lose`` drops records of these kinds and says so unless ``silently``;
    ``refuse`` maps a kind, or a function's name, to the exception its call raises.
    """

    def __init__(self, real: Any) -> None:
        self._real = real
        self._time_ns = 1_000_000
        self._lock = threading.RLock()
        self._numbers = 100
        self._completed: Callable[[list[Any]], None] | None = None
        self._callback: Callable[..., None] | None = None
        self._watched: set[tuple[int, int]] = set()
        self._pending: list[Any] = []
        self._dropped = 0
        self._system_threads = False
        self.seconds = 0.0
        self.late = 0
        self.lose: frozenset[int] = frozenset()
        self.silently = False
        self.refuse: dict[Any, Exception] = {}
        self.holder = ""
        self.enabled: set[int] = set()
        self.ever_enabled: list[int] = []
        self.ever_watched: set[tuple[int, int]] = set()
        self.log: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    # --- the module's functions -------------------------------------------------------------------------

    def subscribe_v2(self, callback: Any, userdata: Any, params: int) -> int:
        self._check("subscribe_v2")
        given = self._real.SubscriberParams.from_ptr(params)
        assert given.struct_size == self._real.SUBSCRIBER_PARAMS_SIZE
        assert given.subscriber_name
        if self.holder:
            # CUPTI writes the holder's name into the caller's buffer.
            where = ctypes.c_uint64.from_address(params + 16).value
            ctypes.memmove(where, self.holder.encode() + b"\0", len(self.holder) + 1)
            raise self._real.cuptiError(39)
        return self.subscribe(callback, userdata)

    def subscribe(self, callback: Any, userdata: Any) -> int:
        self._check("subscribe")
        assert self._callback is None, "a second subscriber"
        self._callback = callback
        return 77

    def unsubscribe(self, subscriber: int) -> None:
        self._check("unsubscribe")
        assert subscriber == 77
        self._callback = None

    def set_thread_id_type(self, kind: int) -> None:
        self._check("set_thread_id_type")
        self._system_threads = kind == 1

    def activity_register_callbacks(self, requested: Any, completed: Any) -> None:
        self._check("activity_register_callbacks")
        size, most = requested()
        assert size >= 8 * 1024 * 1024
        assert most == 0
        self._completed = completed

    def activity_enable(self, kind: int) -> None:
        self._check("activity_enable")
        self._check(kind)
        self.enabled.add(kind)
        self.ever_enabled.append(kind)

    def activity_disable(self, kind: int) -> None:
        self._check("activity_disable")
        self.enabled.remove(kind)

    def activity_configure_unified_memory_counter(self, config: int, count: int) -> None:
        self._check("activity_configure_unified_memory_counter")
        plain = self._real.ActivityUnifiedMemoryCounterConfig.from_ptr(config, count)
        assert [plain[n].enable for n in range(count)] == [1] * count

    def enable_callback(self, enable: int, subscriber: int, domain: int, cbid: int) -> None:
        self._check("enable_callback")
        assert subscriber == 77
        (self._watched.add if enable else self._watched.discard)((domain, cbid))
        if enable:
            self.ever_watched.add((domain, cbid))

    def activity_flush_all(self, flag: int) -> None:
        self._check("activity_flush_all")
        if flag == 0 and self.late:
            self.late -= 1
            return
        with self._lock:
            records, self._pending = self._pending, []
        if records and self._completed is not None:
            self._completed(records)
        for record in records:
            size = ctypes.sizeof(ctypes.c_uint64) * 5
            ctypes.memset(record.ptr, 0xEE, size)

    def activity_get_num_dropped_records(self, context: int, stream: int, dropped: int) -> None:
        self._check("activity_get_num_dropped_records")
        ctypes.c_size_t.from_address(dropped).value = self._dropped
        self._dropped = 0

    def get_timestamp(self) -> int:
        self._check("get_timestamp")
        return self.tick()

    def get_callback_name(self, domain: int, cbid: int) -> str:
        self._check("get_callback_name")
        return f"cuFutureMemcpyThing{cbid}" if cbid > 5000 else ""

    def _check(self, key: Any) -> None:
        if isinstance(key, str):
            self.log.append(key)
        if key in self.refuse:
            raise self.refuse[key]

    # --- time and the device ----------------------------------------------------------------------------

    def tick(self, step_ns: int = 10) -> int:
        with self._lock:
            self._time_ns += step_ns
            return self._time_ns

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def number(self) -> int:
        with self._lock:
            self._numbers += 1
            return self._numbers

    def thread(self) -> int:
        """As CUPTI names it: gettid() when asked to, else what fits of pthread_self()."""
        native = self._system_threads
        return threading.get_native_id() if native else threading.get_ident() & 0xFFFFFFFF

    def cbid(self, domain: int, name: str) -> int:
        enum = (
            self._real.Runtime_api_trace_cbid
            if domain == RUNTIME
            else self._real.Driver_api_trace_cbid
        )
        return int(enum.__members__[name])

    def record(self, of: str, /, **fields: Any) -> None:
        """One record of the class ``of``, kept if its kind is on and not lost."""
        record = filled(getattr(self._real, of)(), fields)
        if fields["kind"] not in self.enabled:
            return
        if fields["kind"] in self.lose:
            self._dropped += not self.silently
            return
        with self._lock:
            self._pending.append(record)

    @contextmanager
    def api(self, domain: int, name: str, *, returned: int = 0, cbid: int = 0) -> Iterator[int]:
        """One call: seen on entry, recorded on exit; yields its correlation id."""
        cbid = cbid or self.cbid(domain, name)
        number = self.number()
        start = self.tick()
        self._call_back(0, domain, cbid, number)
        yield number
        self._call_back(1, domain, cbid, number)
        self.record(
            "ActivityAPI",
            kind=5 if domain == RUNTIME else 4,
            cbid=cbid,
            start=start,
            end=self.tick(),
            thread_id=self.thread(),
            correlation_id=number,
            return_value=returned,
        )

    def _call_back(self, site: int, domain: int, cbid: int, number: int) -> None:
        if (domain, cbid) in self._watched:
            given = {"callback_site": site, "correlation_id": number}
            self._callback(None, domain, cbid, filled(self._real.CallbackData(), given))

    @contextmanager
    def call(self, runtime: str, driver: str) -> Iterator[tuple[int, int]]:
        """A runtime call with its driver call inside; yields both correlation ids, the driver's first."""
        with self.api(RUNTIME, runtime) as outer, self.api(DRIVER, driver) as inner:
            yield inner, outer

    def memcpy(self, driver: int, runtime: int, **fields: Any) -> None:
        start = self.tick()
        self.record(
            "ActivityMemcpy7",
            **{
                "kind": 1,
                "correlation_id": driver,
                "runtime_correlation_id": runtime,
                "copy_count": 1,
                "start": start,
                "end": self.tick(),
                "stream_id": 7,
                **fields,
            },
        )

    # --- what CuPy does ---------------------------------------------------------------------------------

    def copy_to_host(self, size_bytes: int = 12) -> None:
        """``a.get()``: an asynchronous copy into pageable memory and a wait."""
        self.pageable_copy(size_bytes)
        self.wait()

    def pageable_copy(self, size_bytes: int = 12) -> None:
        with self.call("cudaMemcpyAsync_v3020", "cuMemcpyDtoHAsync_v2") as numbers:
            self.memcpy(*numbers, bytes=size_bytes, copy_kind=2, src_kind=3, dst_kind=1, flags_=1)

    def copy_to_device(self, size_bytes: int = 16) -> None:
        """``cupy.asarray(list)``: staged in pinned memory, and a poll of the event of an older copy."""
        with self.api(RUNTIME, "cudaEventQuery_v3020") as number:
            self.synchronization(1, number)
        with self.call("cudaMemcpyAsync_v3020", "cuMemcpyHtoDAsync_v2") as numbers:
            self.memcpy(*numbers, bytes=size_bytes, copy_kind=1, src_kind=2, dst_kind=3, flags_=1)

    def wait(self) -> None:
        with self.call("cudaStreamSynchronize_v3020", "cuStreamSynchronize") as (number, _):
            self.synchronization(3, number)

    def host_callback(self) -> None:
        """``stream.launch_host_func(f, x)``: the host goes on, so that there is no record of a wait."""
        with self.call("cudaLaunchHostFunc_v10000", "cuLaunchHostFunc"):
            pass

    def synchronize(self) -> None:
        self._check("synchronize")
        with self.api(DRIVER, "cuCtxSynchronize") as number:
            self.synchronization(4, number)

    def synchronization(self, type: int, number: int, stream: int = 7) -> None:
        start = self.tick()
        self.record(
            "ActivitySynchronization2",
            kind=38,
            type=type,
            start=start,
            end=self.tick(),
            correlation_id=number,
            stream_id=stream,
        )

    def launch(self, name: str = "cupy_add") -> None:
        with self.api(DRIVER, "cuLaunchKernel") as number:
            start = self.tick()
            self.record(
                "ActivityKernel13",
                kind=10,
                name=name,
                correlation_id=number,
                start=start,
                end=self.tick(),
                stream_id=7,
            )


class FakeCupti12(FakeCupti):
    """CUPTI through the surface of cupti-python 12.8."""

    def __init__(self, real: Any) -> None:
        super().__init__(real)
        kinds = real.ActivityKind.__members__.items()
        self.ActivityKind = IntEnum("ActivityKind", [k for k in kinds if k[0] != "GRAPH_HOST_NODE"])
        self.driver_api_trace_cbid = real.Driver_api_trace_cbid
        self.runtime_api_trace_cbid = real.Runtime_api_trace_cbid

    def __getattribute__(self, name: str) -> Any:
        if name in {
            "subscribe_v2",
            "SubscriberParams",
            "Driver_api_trace_cbid",
            "Runtime_api_trace_cbid",
        }:
            raise AttributeError(name)
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if name in {
            "subscribe_v2",
            "SubscriberParams",
            "Driver_api_trace_cbid",
            "Runtime_api_trace_cbid",
        }:
            raise AttributeError(name)
        return super().__getattr__(name)


def _as_if_installed(fake: type) -> None:
    """Give the fake's code the file name of an installed package: it stands for CuPy and is nobody's line."""
    for function in vars(fake).values():
        inner = getattr(function, "__wrapped__", function)
        if hasattr(inner, "__code__"):
            inner.__code__ = inner.__code__.replace(
                co_filename="/usr/lib/python3/dist-packages/cupy/fake.py"
            )


_as_if_installed(FakeCupti)
