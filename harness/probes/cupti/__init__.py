"""The probe of a real NVIDIA GPU, on NVIDIA's own tracing interface (CUPTI).

The package ``cupti`` this subpackage is named after is imported in ``binding`` alone, when a probe is made.
"""

from __future__ import annotations

from harness.probes.cupti.host import Host
from harness.probes.cupti.probe import CuptiProbe, CuptiRecording

__all__ = ["CuptiProbe", "CuptiRecording", "Host"]
