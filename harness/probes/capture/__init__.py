"""The witness that captures an op into a CUDA graph and reads the graph.

CuPy and ``cuda.bindings`` are imported in ``binding`` alone, when a witness is made.
"""

from __future__ import annotations

from harness.probes.capture.probe import CaptureProbe, CaptureRecording

__all__ = ["CaptureProbe", "CaptureRecording"]
