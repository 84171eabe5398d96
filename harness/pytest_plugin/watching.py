"""The device of the session, and whether its probe can be trusted."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.outcomes import Failed
from harness.pytest_plugin.settings import SETTINGS

if TYPE_CHECKING:
    from harness.devices.base import Device
    from harness.model.verdict import CheckResult

__all__ = ["WATCH", "Watch", "watch_of"]

WATCH = pytest.StashKey["Watch"]()


class Watch:
    """One device and the positive control of its probe, which runs once, when first asked for."""

    def __init__(self, device: Device) -> None:
        self.device = device

    @cached_property
    def control(self) -> CheckResult | None:
        """Whether planted traffic was seen; ``None`` on a device without a boundary.

        Must not be asked for first while a recording is open.
        """
        from harness.session.observe import positive_control

        return positive_control(self.device)


def watch_of(config: pytest.Config) -> Watch:
    """The device chosen for this session, made by the first test that needs one.

    A device that this machine lacks fails that test in one line, without a traceback.
    """
    if WATCH not in config.stash:
        from harness.devices.registry import choose_devices

        name = config.stash[SETTINGS].device
        try:
            device = choose_devices(name).traffic
        except HarnessError as error:
            # it speaks of the option of `harness run`, which has another name here
            text = re.sub(r"(?<!\S)--device\b", "--harness-device", str(error))
            raise Failed(f"harness device {name}: {text}") from None
        config.stash[WATCH] = Watch(device)
    return config.stash[WATCH]
