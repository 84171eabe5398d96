"""What must be there before ``cuda:N`` can be used, asked for in the order in which each depends on the last."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.devices.availability import install_extra
from harness.devices.cuda_faults import fault_of
from harness.errors import UnavailableError
from harness.units import count_text

__all__ = [
    "GpuUnavailableError",
    "Surroundings",
    "install_line",
    "require_cupy",
    "ump_enabled",
    "unavailable",
]

_NO_GPU = "or use --device auto, which watches traffic on a simulated device and times on the CPU"

_WHEELS = {12: "cupy-cuda12x", 13: "cupy-cuda13x"}
"""The CUDA majors CuPy 14 has wheels for."""

_LEAST_DRIVER = {12: "525", 13: "580"}
"""The first driver branch of each CUDA major (CUDA release notes, table of driver versions)."""

_LEAST_CAPABILITY = {12: 50, 13: 75}
"""The oldest generation each CUDA major compiles for: 13 dropped Maxwell, Pascal and Volta."""

_INSUFFICIENT_DRIVER = 35
_UMP = "CUPY_ENABLE_UMP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is asked: how CuPy is imported and the driver library loaded, and the environment's variables."""

    import_cupy: Callable[[], Any]
    load_library: Callable[[str], Any]
    variables: Mapping[str, str]


def require_cupy(index: int, surroundings: Surroundings) -> Any:
    """CuPy, ready to use device ``index``, which is made the current one.

    Raises ``UnavailableError`` with the first thing that is missing and what to do about it. Starts the
    device's context (0.1 to 1 s, some hundred MB of its memory).
    """
    driver = _driver(index, surroundings)
    cupy = _import(index, surroundings, driver)
    _count(cupy, index, driver, surroundings)
    _generation(cupy, index)
    _compiler(cupy, index)
    _context(cupy, index)
    return cupy


class GpuUnavailableError(UnavailableError):
    """A GPU cannot be used; ``cause`` alone says why, for whoever goes on without one."""

    def __init__(self, index: int, cause: str, next_step: str) -> None:
        super().__init__(f"device 'cuda:{index}' cannot be used: {cause}; {next_step}")
        self.cause = cause


def unavailable(index: int, cause: str, next_step: str) -> GpuUnavailableError:
    """The one line every missing thing is told in."""
    return GpuUnavailableError(index, cause, next_step)


def install_line(driver: int | None = None) -> str:
    """How to install CuPy and all else that fits a driver (``13000`` for CUDA 13.0); for any without one."""
    if driver is None:
        return f"{_pip(13)} (driver {_LEAST_DRIVER[13]} or newer) or {_pip(12)}"
    return _pip(13 if driver >= 13000 else 12)


def ump_enabled(variables: Mapping[str, str]) -> bool:
    """Whether CuPy shares host memory with the device instead of copying, so that copies leave no trace."""
    return variables.get(_UMP, "0").strip() not in ("", "0")


def _pip(major: int) -> str:
    return install_extra(f"cuda{major}")


def _driver(index: int, surroundings: Surroundings) -> int:
    """The CUDA version the driver supports."""
    try:
        library = surroundings.load_library("libcuda.so.1")
    except OSError as error:
        raise unavailable(
            index,
            f"no NVIDIA driver here ({error})",
            f"install one, or run where there is a GPU, with {install_line()}, {_NO_GPU}",
        ) from error
    version = ctypes.c_int(0)
    status = library.cuDriverGetVersion(ctypes.byref(version))
    if status != 0 or version.value <= 0:
        raise unavailable(
            index,
            f"the driver library does not say its version (CUDA error {status})",
            "reinstall the NVIDIA driver",
        )
    if version.value < 12000:
        raise unavailable(
            index,
            f"the driver supports CUDA {_version(version.value)} and CuPy 14 needs 12.0",
            f"update the NVIDIA driver to {_LEAST_DRIVER[12]} or newer",
        )
    return version.value


def _import(index: int, surroundings: Surroundings, driver: int) -> Any:
    try:
        cupy = surroundings.import_cupy()
    except ModuleNotFoundError as error:
        if error.name != "cupy":
            raise unavailable(index, f"CuPy does not import ({error})", "reinstall it") from error
        raise unavailable(
            index,
            f"CuPy is not installed (the driver supports CUDA {_version(driver)})",
            install_line(driver),
        ) from error
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise unavailable(
            index,
            f"CuPy does not import ({why[:300]})",
            f"reinstall it: {install_line(driver)}",
        ) from error
    if cupy.cuda.runtime.is_hip:
        raise unavailable(
            index, "this CuPy is built for ROCm", f"uninstall it, then {install_line(driver)}"
        )
    return cupy


def _count(cupy: Any, index: int, driver: int, surroundings: Surroundings) -> None:
    visible = surroundings.variables.get("CUDA_VISIBLE_DEVICES")
    among = "" if visible is None else f" (CUDA_VISIBLE_DEVICES={visible!r})"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if error.status == _INSUFFICIENT_DRIVER:
            raise _old_driver(cupy, index, driver) from error
        raise _refused(index, error, among) from error
    if count == 0:
        raise unavailable(index, f"the driver sees no GPU{among}", "see `nvidia-smi`")
    if index >= count:
        names = ", ".join(f"cuda:{number}" for number in range(count))
        raise unavailable(index, f"only {count_text(count, 'GPU')} here{among}", f"use {names}")


def _old_driver(cupy: Any, index: int, driver: int) -> UnavailableError:
    built = cupy.cuda.runtime.runtimeGetVersion()
    major = built // 1000
    cause = (
        f"the driver supports CUDA {_version(driver)} and this CuPy is built for {_version(built)}"
    )
    newer = f"update the NVIDIA driver to {_LEAST_DRIVER.get(major, 'a newer one')} or newer"
    if driver // 1000 < major and driver // 1000 in _WHEELS:
        other = f"python -m pip uninstall {_WHEELS.get(major, 'cupy')}, then {install_line(driver)}"
        return unavailable(index, cause, f"{other}; or {newer}")
    return unavailable(index, cause, newer)


def _generation(cupy: Any, index: int) -> None:
    runtime = cupy.cuda.runtime
    major = runtime.runtimeGetVersion() // 1000
    try:
        properties = runtime.getDeviceProperties(index)
    except runtime.CUDARuntimeError as error:
        raise _refused(index, error) from error
    capability = properties["major"] * 10 + properties["minor"]
    least = _LEAST_CAPABILITY.get(major, 0)
    if capability < least:
        raise unavailable(
            index,
            f"a GPU of compute capability {_tenths(capability)} is too old for CUDA {major}, "
            f"which starts at {_tenths(least)}",
            f"python -m pip uninstall {_WHEELS.get(major, 'cupy')}, then {_pip(12)}",
        )


def _compiler(cupy: Any, index: int) -> None:
    """CuPy compiles its kernels at run time; without NVRTC not even an addition works."""
    try:
        cupy.cuda.nvrtc.getVersion()
    except (RuntimeError, OSError) as error:
        major = cupy.cuda.runtime.runtimeGetVersion() // 1000
        why = " ".join(str(error).split())
        raise unavailable(
            index,
            f"CuPy finds no NVRTC, which compiles its kernels ({why[:200]})",
            f"install CUDA's libraries beside it: {_pip(major if major in _WHEELS else 13)}",
        ) from error


def _context(cupy: Any, index: int) -> None:
    try:
        cupy.cuda.Device(index).use()
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise _refused(index, error) from error


def _refused(index: int, error: Exception, more: str = "") -> UnavailableError:
    fault = fault_of(error)
    if fault is None:
        return unavailable(index, f"CUDA refuses{more}: {error}", "see `nvidia-smi`")
    return unavailable(index, f"{fault.cause}{more} ({fault.name})", fault.next_step)


def _version(number: int) -> str:
    """``13020`` as ``13.2``."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _tenths(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"
