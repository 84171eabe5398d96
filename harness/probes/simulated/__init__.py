"""A simulated GPU: NumPy-backed device arrays that follow CuPy 14 and announce every crossing of their boundary.

``namespace`` is what ``import cupy as xp`` is on a real device; ``SimulatedProbe`` records what it does. See
docs/probes.md for what is modelled and what cannot be seen.
"""

from __future__ import annotations

from harness.probes.simulated import cuda, extensions, namespace
from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.extensions import (
    empty_like_pinned,
    empty_pinned,
    errstate,
    scatter_add,
    zeros_pinned,
)
from harness.probes.simulated.foreign import ForeignArray
from harness.probes.simulated.launch import launch
from harness.probes.simulated.pinned import alloc_pinned_memory
from harness.probes.simulated.probe import SimulatedProbe, SimulatedRecording
from harness.probes.simulated.refusal import NotModelledError
from harness.probes.simulated.streams import Device, Event, Stream

__all__ = [
    "Device",
    "DeviceArray",
    "Event",
    "ForeignArray",
    "NotModelledError",
    "SimulatedProbe",
    "SimulatedRecording",
    "Stream",
    "alloc_pinned_memory",
    "cuda",
    "empty_like_pinned",
    "empty_pinned",
    "errstate",
    "extensions",
    "launch",
    "namespace",
    "scatter_add",
    "zeros_pinned",
]
