"""The process a device belongs to: as with CUDA, no child forked from it can use the device.

Once a process has used the device, everything a forked child asks of it fails. A process started by
``spawn`` has a device of its own, and gets arrays pickled: read in the parent, where that is counted.
"""

from __future__ import annotations

import os

from harness.probes.simulated import boundary
from harness.probes.simulated.boundary import Observation

__all__ = ["device_is_used", "owner"]

owner: int | None = None
"""The process that used the device first; ``None`` before that."""


class _FirstUse:
    """Waits for the first event there is, so that nothing has to ask afterwards."""

    def observe(self, observation: Observation) -> None:
        device_is_used()

    def doubt(self, reason: str) -> None:
        """Tells nothing about use."""


class _Orphan:
    """Refuses every event of a forked child: a listener, so that other processes pay nothing for it."""

    def observe(self, observation: Observation) -> None:
        raise RuntimeError(
            f"cudaErrorInitializationError: initialization error: {observation.api} at "
            f"{observation.file}:{observation.line} in process {os.getpid()}, forked from process {owner} after "
            "that had used the device, and a CUDA context does not survive a fork; start the process with "
            "multiprocessing.get_context('spawn') and hand it arrays as arguments"
        )

    def doubt(self, reason: str) -> None:
        """Nothing that could be missed happens here."""


_first_use = _FirstUse()


def device_is_used() -> None:
    """The device belongs to this process from now on, if to none yet."""
    global owner
    if owner is None:
        owner = os.getpid()
        boundary.detach(_first_use)


def _in_a_forked_child() -> None:
    if owner is not None:
        boundary.attach(_Orphan())


boundary.attach(_first_use)
os.register_at_fork(after_in_child=_in_a_forked_child)
