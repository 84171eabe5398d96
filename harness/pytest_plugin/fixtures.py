"""The fixtures: the device of the session, and traces of what a test does on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.devices.base import Device
    from harness.pytest_plugin.reading import RecordedTrace
    from harness.pytest_plugin.recording import Recorder
    from harness.pytest_plugin.settings import Inconclusive
    from harness.pytest_plugin.watching import Watch

__all__ = ["CALLING", "RECORDER", "DeviceTrace", "device", "device_trace", "recorder_of"]

RECORDER = pytest.StashKey["Recorder"]()
CALLING = pytest.StashKey[bool]()
"""Whether a test is in its call, where it may ask for fixtures too."""


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Device:
    """The device chosen by --harness-device: namespace, to_device(numpy_array), to_host(array), synchronize()."""
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
        recorder = item.stash[RECORDER] = Recorder(watch.device.probe)
        if item.stash.get(CALLING, False):
            recorder.begin_call(records_body=False)
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
        from harness.pytest_plugin.reading import RecordedTrace

        with self._recorder.block() as block:
            yield RecordedTrace(block, self._recorder, self._watch, self._policy)

    def region(self, name: str) -> AbstractContextManager[None]:
        """Name a part of what is being recorded; ``harness.errors.UsageError`` when nothing is.

        Regions may nest and be entered many times. The method itself can be handed to code that opens its
        own regions, as a workload's ``run(inputs, region)``.
        """
        return self._recorder.region(name)
