"""The fixtures: the device of the session, and traces of what a test does on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.devices.base import Device
    from harness.model.event import Sync, Transfer
    from harness.model.trace import Trace, TrafficCounts
    from harness.pytest_plugin.recording import Block, Recorder
    from harness.pytest_plugin.settings import Inconclusive
    from harness.pytest_plugin.watching import Watch

__all__ = ["RECORDER", "DeviceTrace", "RecordedTrace", "device", "device_trace", "recorder_of"]

RECORDER = pytest.StashKey["Recorder"]()


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Device:
    """The device chosen by --harness-device: to_device(numpy_array), to_host(array), synchronize()."""
    from harness.pytest_plugin.watching import watch_of

    return watch_of(pytestconfig).device


@pytest.fixture
def device_trace(request: pytest.FixtureRequest) -> DeviceTrace:
    """Record device work: `with device_trace() as trace:`, then trace.counts(); device_trace.region("forward")."""
    from harness.pytest_plugin.settings import SETTINGS
    from harness.pytest_plugin.watching import watch_of

    node = request.node
    policy = request.config.stash[SETTINGS].inconclusive
    return DeviceTrace(recorder_of(node), watch_of(request.config), policy)


def recorder_of(item: pytest.Item) -> Recorder:
    """The recorder of one run of a test, shared by its marker and its fixture.

    The positive control runs before the first recorder of the session is made, so that it is never recorded.
    """
    if RECORDER not in item.stash:
        from harness.pytest_plugin.recording import Recorder
        from harness.pytest_plugin.watching import watch_of

        watch = watch_of(item.config)
        _ = watch.control
        item.stash[RECORDER] = Recorder(watch.device.probe)
    return item.stash[RECORDER]


class DeviceTrace:
    """What the fixture ``device_trace`` gives: call it for a block, ask it for a region."""

    def __init__(self, recorder: Recorder, watch: Watch, policy: Inconclusive) -> None:
        self._recorder = recorder
        self._watch = watch
        self._policy = policy

    @property
    def device(self) -> Device:
        """The device that is watched, also where the suite has a ``device`` fixture of its own."""
        return self._watch.device

    @contextmanager
    def __call__(self) -> Iterator[RecordedTrace]:
        """Record until the block closes; blocks may repeat and nest, and an outer one contains the inner."""
        with self._recorder.block() as block:
            yield RecordedTrace(block, self._watch, self._policy)

    def region(self, name: str) -> AbstractContextManager[None]:
        """Name a part of what is being recorded; ``harness.errors.UsageError`` when nothing is.

        Regions may nest and be entered many times. The method itself can be handed to code that opens its
        own regions, as a workload's ``run(inputs, region)``.
        """
        return self._recorder.region(name)


class RecordedTrace:
    """The trace of one block, to be read once the block is closed.

    Reading it earlier raises ``RuntimeError``. Reading counts that cannot be trusted (no boundary to watch,
    a positive control that was not seen, records lost) ends the test as inconclusive, so that
    ``assert trace.counts().d2h == 0`` cannot pass for want of a view.
    """

    def __init__(self, block: Block, watch: Watch, policy: Inconclusive) -> None:
        self._block = block
        self._watch = watch
        self._policy = policy

    def counts(self) -> TrafficCounts:
        """Copies, bytes and waits of the block."""
        return self.trace.counts()

    def within(self, region: str) -> Trace:
        """The part that happened in a region of the block; ``KeyError`` when it was never entered."""
        trace = self.trace
        if not trace.entered.get(region):
            known = ", ".join(trace.entered) or "none"
            raise KeyError(
                f"region {region!r} was never entered in this block; entered were: {known}"
            )
        return trace.within(region)

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """Every copy, in launch order."""
        return self.trace.transfers

    @property
    def syncs(self) -> tuple[Sync, ...]:
        """Every explicit host wait, in launch order."""
        return self.trace.syncs

    @property
    def trace(self) -> Trace:
        """The whole ``harness.model.trace.Trace``."""
        __tracebackhide__ = True
        from harness.pytest_plugin.judgement import conclude, reading_doubt

        if not self._block.closed:
            raise RuntimeError("this trace is still being recorded; read it after its `with` block")
        trace = self._block.trace
        doubt = reading_doubt(trace, self._watch)
        if doubt is not None:
            conclude(doubt, self._policy)
        assert trace is not None, "a missing trace is always in doubt"
        return trace
