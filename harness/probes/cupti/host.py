"""What the probe needs to know of this process and machine, in one place that a test can replace."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UnavailableError

__all__ = ["Host"]

_MAPS = Path("/proc/self/maps")


def _mapped_files() -> frozenset[str]:
    """Files mapped into this process; empty where Linux's ``/proc`` is not there to tell."""
    try:
        lines = _MAPS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    # address perms offset device inode path: the path is the sixth field and may contain spaces.
    fields = (line.split(maxsplit=5) for line in lines)
    return frozenset(parts[5] for parts in fields if len(parts) == 6 and parts[5].startswith("/"))


def _driver_version() -> int:
    """The CUDA version of the driver, 13040 for 13.4; raises ``UnavailableError`` where there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise UnavailableError(
            f"the CUPTI probe needs NVIDIA's driver, and libcuda.so.1 did not load ({error}); "
            "install the driver, or run on a machine that has a GPU"
        ) from None
    version = ctypes.c_int(0)
    status = driver.cuDriverGetVersion(ctypes.byref(version))
    if status:
        raise UnavailableError(
            f"NVIDIA's driver did not say its version (cuDriverGetVersion returned {status}); reinstall it"
        )
    return version.value


def _synchronize() -> None:
    """Wait for the current CUDA context; ``RuntimeError`` with CUDA's own name for what went wrong."""
    from cuda.bindings import driver

    (status,) = driver.cuCtxSynchronize()
    if status == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT:
        raise RuntimeError(
            "no CUDA context is current in this thread; allocate something on the device first"
        )
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(status.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Environment, mapped files, versions, clock, and how to wait for the device.

    ``synchronize`` must wait for all work of the device that is watched, and raise ``RuntimeError`` when it
    cannot.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    mapped_files: Callable[[], frozenset[str]] = _mapped_files
    driver_version: Callable[[], int] = _driver_version
    package_version: Callable[[str], str] = importlib.metadata.version
    synchronize: Callable[[], object] = _synchronize
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
