"""The moment a test has handed its callable to ``benchmark``: whether it can be timed, and its rounds beside its peers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

import harness
from harness.devices.base import Device
from harness.devices.cpu import CpuDevice
from harness.environment import fingerprint
from harness.environment.facts import PROTOCOL_VERSION
from harness.environment.pynvml import gpu_facts
from harness.errors import UnavailableError
from harness.interchange.pytest_benchmark import SCHEMA_VERSION
from harness.model.environment import Environment
from harness.model.measurement import Sample
from harness.pytest_plugin.fixtures import RECORDER
from harness.pytest_plugin.pairing import peer_doubt, seed_of, time_pair
from harness.pytest_plugin.speed_findings import (
    Blocked,
    Pairing,
    Timed,
    name_of,
    peer_margin,
    raw_sample,
    work_of,
)
from harness.pytest_plugin.speed_marks import SpeedLimit, peers
from harness.pytest_plugin.speed_settings import SPEED_SETTINGS, SpeedSettings
from harness.pytest_plugin.spying import Subject
from harness.pytest_plugin.watching import watch_of
from harness.stats.speed import speed_of

__all__ = ["extra_fields", "speed_environment", "time_test", "timing_device"]

_ENVIRONMENT = pytest.StashKey[Environment]()

_NO_WORKERS = "time it in one process: pytest -n 0"


def timing_device(config: pytest.Config) -> Device:
    """The device whose clock counts: the GPU where the session has one, else the host.

    Raises ``Failed`` in one line for a device this machine lacks.
    """
    device = watch_of(config).device
    return CpuDevice() if device.identity is None and not device.is_host else device


def speed_environment(config: pytest.Config) -> Environment:
    """The facts that must agree before timings of two sessions are compared; read once."""
    if _ENVIRONMENT not in config.stash:
        config.stash[_ENVIRONMENT] = fingerprint(
            [timing_device(config).name], repository=config.rootpath, more=[gpu_facts]
        )
    return config.stash[_ENVIRONMENT]


def time_test(
    item: pytest.Item,
    fixture: Any,
    subject: Subject,
    value: object,
    limits: Sequence[SpeedLimit],
) -> Timed:
    """Take what pytest-benchmark has timed, and time the callable beside each peer of the test's marks.

    What a peer raises passes through: it is code of the test.
    """
    config = item.config
    raw = _raw_of(fixture)
    blocked = _blocked(item, subject)
    if blocked is not None:
        return Timed(raw=raw, blocked=blocked)
    device = timing_device(config)
    try:
        pairings = tuple(
            _pairing(item, subject, value, peer, device, limits) for peer in peers(tuple(limits))
        )
    except UnavailableError as error:  # a clock that stood still or jumped
        return Timed(raw=raw, blocked=Blocked(why=str(error), next_step="run it again"))
    return Timed(raw=raw, pairings=pairings, device=device.name)


def extra_fields(timed: Timed, limits: Sequence[SpeedLimit]) -> Mapping[str, Any]:
    """Our part of a benchmark's ``extra_info``: how it was timed beside which peer, and what that came to."""
    fields: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "version": harness.__version__,
        "protocol": PROTOCOL_VERSION,
        "device": timed.device,
    }
    for pairing in timed.pairings:
        if pairing.sample is not None and "speed" not in fields:
            fields["peer"] = name_of(pairing.peer)
            fields["speed"] = msgspec.to_builtins(speed_of(pairing.sample))
            if pairing.conditions is not None:
                fields["conditions"] = pairing.conditions.summary
    work = work_of(limits)
    if work is not None:
        fields["throughput"] = msgspec.to_builtins(work)
    if timed.blocked is not None:
        fields["not_timed"] = timed.blocked.why
    return fields


def _pairing(
    item: pytest.Item,
    subject: Subject,
    value: object,
    peer: Callable[..., object],
    device: Device,
    limits: Sequence[SpeedLimit],
) -> Pairing:
    if _same_code(peer, subject.function):
        return Pairing(peer=peer, doubt="it is the very code under test")
    settings: SpeedSettings = item.config.stash[SPEED_SETTINGS]
    beside = subject.with_function(peer)
    if subject.setup is None:
        doubt = peer_doubt(value, peer(*subject.args, **subject.kwargs))
        if doubt:
            return Pairing(peer=peer, doubt=doubt)
    seconds = [limit.seconds for limit in limits if limit.seconds is not None]
    with _untraced():
        paired = time_pair(
            subject,
            beside,
            device,
            margin=peer_margin(limits, peer, settings),
            seconds=max(seconds, default=settings.seconds),
            seed=seed_of(item.nodeid),
        )
    return Pairing(peer=peer, sample=paired.sample, conditions=paired.conditions)


def _same_code(peer: object, function: object) -> bool:
    """Whether comparing the two could never find anything: one function under two names, or an import of itself."""
    codes = [getattr(each, "__code__", None) for each in (peer, function)]
    closed = any(getattr(each, "__closure__", None) for each in (peer, function))
    return peer is function or (codes[0] is not None and codes[0] is codes[1] and not closed)


def _raw_of(fixture: Any) -> Sample | None:
    """pytest-benchmark's own rounds; none where it was disabled."""
    found = fixture.stats
    if found is None:
        return None
    timer = found.options.get("timer")
    name = getattr(timer, "__name__", None) or str(timer)
    return raw_sample(found.stats.data, found.iterations, name)


def _blocked(item: pytest.Item, subject: Subject) -> Blocked | None:
    workers = getattr(item.config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        return Blocked(
            why=f"{workers} workers of pytest-xdist run beside each other, so no time means anything",
            next_step=_NO_WORKERS,
        )
    chosen = item.config.getoption
    if chosen("benchmark_disable", False) and not chosen("benchmark_enable", False):
        return Blocked(
            why="timing was turned off with --benchmark-disable",
            next_step="run it without --benchmark-disable",
            by_choice=True,
        )
    if RECORDER in item.stash and item.stash[RECORDER].recording:
        return Blocked(
            why="its transfers were being recorded, and recording takes time of its own",
            next_step="limit transfers and speed in two tests",
        )
    if _runs_simulated(item, subject):
        return Blocked(
            why="it runs on the simulated device, whose time says nothing of a GPU's",
            next_step="run it on a GPU, or on NumPy arrays: --harness-device=cpu",
        )
    return None


def _runs_simulated(item: pytest.Item, subject: Subject) -> bool:
    """Whether a call does simulated work; one more call is made to see, where any simulated device exists."""
    if "harness.probes.simulated" not in sys.modules or subject.setup is not None:
        return False
    device = watch_of(item.config).device
    if device.name != "simulated" or device.probe is None:
        return False
    with device.probe.record() as recording:
        subject.function(*subject.args, **subject.kwargs)
    return bool(recording.trace().kernels)


@contextmanager
def _untraced() -> Iterator[None]:
    """Without a debugger's or a coverage tool's look at every line, as pytest-benchmark times too."""
    tracing, profiling = sys.gettrace(), sys.getprofile()
    sys.settrace(None)
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.settrace(tracing)
        sys.setprofile(profiling)
