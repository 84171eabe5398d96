"""Everything the namespace has, by name, collected from the modules that define it."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from harness.probes.simulated import (
    composed,
    conversion,
    cuda,
    files,
    histograms,
    host_names,
    index_functions,
    polynomials,
    random,
    stride_tricks,
)
from harness.probes.simulated.array import DeviceArray
from harness.probes.simulated.flat import FlatIterator
from harness.probes.simulated.functions import FUNCTIONS, DeviceUfunc
from harness.probes.simulated.launch import launch
from harness.probes.simulated.linear_algebra import linalg

__all__ = ["COMPILED", "NAMES"]

_MEMORY_POOL = cuda.MemoryPool()
_PINNED_MEMORY_POOL = cuda.PinnedMemoryPool()

COMPILED = frozenset(
    {"ElementwiseKernel", "RawKernel", "RawModule", "ReductionKernel", "fuse", "vectorize"}
)
"""What CuPy compiles for a GPU and a simulated device cannot run."""

NAMES: Mapping[str, Any] = {
    **FUNCTIONS,
    **composed.FUNCTIONS,
    **conversion.FUNCTIONS,
    **files.FUNCTIONS,
    **histograms.FUNCTIONS,
    **host_names.NAMES,
    **index_functions.FUNCTIONS,
    **polynomials.FUNCTIONS,
    "cuda": cuda,
    "flatiter": FlatIterator,
    "get_default_memory_pool": lambda: _MEMORY_POOL,
    "get_default_pinned_memory_pool": lambda: _PINNED_MEMORY_POOL,
    "launch": launch,
    "lib": SimpleNamespace(stride_tricks=stride_tricks.stride_tricks),
    "linalg": linalg,
    "ndarray": DeviceArray,
    "random": random,
    "ufunc": DeviceUfunc,
}
"""CuPy's names that are modelled, and ``launch``."""
