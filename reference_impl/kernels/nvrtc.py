"""Compiles the kernels with NVRTC and tells what each takes of a multiprocessor. Needs no driver and no GPU.

Only this file imports NVIDIA's ``cuda.bindings``, when it is first used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reference_impl.kernels.source import device_source

__all__ = ["KernelResources", "NvrtcMissingError", "resources_of", "supported_architectures"]


class NvrtcMissingError(RuntimeError):
    """NVRTC or its Python bindings are not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResources:
    """What the compiler says of one kernel.

    ``spilled_bytes``: stored to local memory because the registers ran out. ``wide_loads``: instructions that load 16
    bytes of global memory at once.
    """

    kernel: str
    registers: int
    spilled_bytes: int
    stack_bytes: int
    wide_loads: int


def supported_architectures() -> tuple[int, ...]:
    """The compute capabilities that this NVRTC compiles for: 90 for sm_90."""
    nvrtc = _nvrtc()
    return tuple(_checked(nvrtc, nvrtc.nvrtcGetSupportedArchs())[0])


def resources_of(
    kernels: Sequence[str], *, architecture: int, source: str | None = None
) -> tuple[KernelResources, ...]:
    """What each of ``kernels``, as C++ names them, takes when compiled for ``architecture``.

    ``source``: instead of the shipped one. Raises ``NvrtcMissingError`` where there is no NVRTC, and ``ValueError`` with the
    compiler's words for a source it refuses. Cost: 0.1 s a kernel.
    """
    nvrtc = _nvrtc()
    text = device_source() if source is None else source
    (program,) = _checked(nvrtc, nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], []))
    try:
        for name in kernels:
            _checked(nvrtc, nvrtc.nvrtcAddNameExpression(program, name.encode()))
        target = f"--gpu-architecture=sm_{architecture}".encode()
        options = [target, b"--std=c++17", b"--ptxas-options=-v"]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = _text(nvrtc, program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise ValueError(f"NVRTC refuses the source for sm_{architecture}:\n{log[:4000]}")
        ptx = _text(nvrtc, program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        symbols = {
            name: _checked(nvrtc, nvrtc.nvrtcGetLoweredName(program, name.encode()))[0].decode()
            for name in kernels
        }
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return tuple(_resources(name, symbol, log, ptx) for name, symbol in symbols.items())


_WIDE_LOAD = re.compile(r"ld\.global\.(?:v4\.[bsuf]32|v2\.[bsuf]64)")


def _resources(kernel: str, symbol: str, log: str, ptx: str) -> KernelResources:
    part = log.partition(f"Compiling entry function '{symbol}'")[2].partition("Compiling entry")[0]
    memory = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", part)
    registers = re.search(r"Used (\d+) registers", part)
    if memory is None or registers is None:
        raise ValueError(f"ptxas does not say what {kernel} takes:\n{part[:1000]}")
    code = ptx.partition(f".entry {symbol}(")[2].partition(".entry ")[0]
    return KernelResources(
        kernel=kernel,
        registers=int(registers[1]),
        stack_bytes=int(memory[1]),
        spilled_bytes=int(memory[2]),
        wide_loads=len(_WIDE_LOAD.findall(code)),
    )


def _text(nvrtc: Any, program: Any, size_of: Any, fill: Any) -> str:
    (size,) = _checked(nvrtc, size_of(program))
    text: bytes = b" " * size
    _checked(nvrtc, fill(program, text))
    return str(text.rstrip(b"\0 "), errors="replace")


def _checked(nvrtc: Any, answer: tuple[Any, ...]) -> tuple[Any, ...]:
    if answer[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC: {answer[0].name}")
    return answer[1:]


def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as missing:
        why = str(missing).partition(":")[0]
        raise NvrtcMissingError(
            f"no NVRTC ({why}): pip install cuda-bindings nvidia-cuda-nvrtc"
        ) from missing
    return nvrtc
