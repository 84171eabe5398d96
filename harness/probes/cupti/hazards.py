"""What in this process spoils a count: other tools on CUPTI, a second libcupti, memory that is never copied."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

__all__ = ["foreign_tools", "hazards"]

_TOOLS = tuple(
    (re.compile(pattern, re.IGNORECASE), tool)
    for pattern, tool in (
        (r"nsight[-_ ]?systems|\bnsys\b|libToolsInjection", "Nsight Systems (nsys)"),
        (r"nsight[-_ ]?compute|\bncu\b|libcuda-injection", "Nsight Compute (ncu)"),
        (r"sanitizer", "compute-sanitizer"),
        (r"cuda-?gdb|libcudadebugger", "cuda-gdb"),
        (r"kineto|torch|pytorch", "torch.profiler (Kineto)"),
        (r"scalene|triton|proton", "a Python GPU profiler"),
    )
)
"""Patterns in names of subscribers and injected libraries; a tool not listed is named as it names itself."""

_INJECTION = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")
"""Variables through which a tool has the CUDA driver load its library."""


def hazards(environ: Mapping[str, str], mapped_files: Iterable[str]) -> tuple[str, ...]:
    """One line, with its fix, for each thing that keeps a zero from meaning none."""
    return (*_ump(environ), *_two_libraries(mapped_files))


def foreign_tools(
    subscriber: str, environ: Mapping[str, str], mapped_files: Iterable[str]
) -> tuple[str, ...]:
    """The tools that hold CUPTI, as far as they can be told.

    ``subscriber`` is the name CUPTI gives for its present subscriber, empty when it gives none; then injected
    libraries are looked at.
    """
    if subscriber.strip():
        name = subscriber.strip()
        tool = _tool(name)
        return (f"{tool}, as {name!r}" if tool else repr(name),)
    injected = [environ[variable] for variable in _INJECTION if environ.get(variable)]
    libraries = [file for file in mapped_files if "inject" in file.lower()]
    debuggers = [file for file in mapped_files if re.search("sanitizer|cudadebugger", file)]
    found = (_tool(file) for file in (*injected, *libraries, *debuggers))
    return tuple(dict.fromkeys(tool for tool in found if tool))


def _tool(text: str) -> str | None:
    return next((tool for pattern, tool in _TOOLS if pattern.search(text)), None)


def _ump(environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get("CUPY_ENABLE_UMP", "0").strip() not in ("", "0"):
        yield (
            "CUPY_ENABLE_UMP is set, so CuPy shares host memory with the device and reads leave no record; "
            "unset it for this run"
        )


def _two_libraries(mapped_files: Iterable[str]) -> Iterator[str]:
    copies = sorted(
        file for file in set(mapped_files) if PurePath(file).name.startswith("libcupti.so")
    )
    if len(copies) > 1:
        yield (
            f"{len(copies)} copies of libcupti are loaded ({', '.join(copies)}), so records may have gone to "
            "the other; make every package use one: unset LD_LIBRARY_PATH, or install matching versions"
        )
