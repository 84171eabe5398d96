"""The CUDA C++ source of the kernels: one text for NVRTC, CuPy and, without its first part, for g++."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

__all__ = ["MACHINE", "device_source", "joined", "source_parts"]

MACHINE = "machine.cuh"
"""The part that only a CUDA compiler can read. ``cuda_on_host.h`` stands in for it on the host."""

_PARTS = (MACHINE, "numbers.cuh", "teams.cuh", "rows.cuh", "softmax_cross_entropy.cu")


@cache
def source_parts() -> Mapping[str, str]:
    """The text of each file by its name, in the order the compiler needs them."""
    folder = files("reference_impl.kernels")
    return MappingProxyType({name: (folder / name).read_text("utf-8") for name in _PARTS})


def joined(parts: Mapping[str, str]) -> str:
    """One source of several files. Compilers and sanitizers still name the file and line of what they report."""
    return "".join(f'#line 1 "{name}"\n{text}' for name, text in parts.items())


@cache
def device_source() -> str:
    """The source for NVRTC and CuPy, as C++17. It includes nothing."""
    return joined(source_parts())
