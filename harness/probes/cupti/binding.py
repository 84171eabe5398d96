"""cupti-python itself: the only module that imports it, with every reason it may not be usable."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Mapping
from typing import Any

from harness.errors import UnavailableError
from harness.probes.cupti.host import Host

__all__ = [
    "call_names",
    "install_line",
    "load_cupti",
    "status_name",
    "subscription_refused",
    "unavailable",
]

_RELEASES = {12: "cupti-python>=12.8,<13", 13: "cupti-python~=13.4"}
"""What to install per CUDA generation: the releases whose records and functions were looked at."""

_OLDEST_DRIVER = {12: 12000, 13: 13000}
"""Any driver of a generation runs CUPTI of a later minor release of it (CUDA minor version compatibility)."""

_BRANCH = {12: "r525", 13: "r580"}
"""The first driver branch of each generation."""

_NEEDED = (
    "activity_disable",
    "activity_enable",
    "activity_flush_all",
    "activity_get_num_dropped_records",
    "activity_register_callbacks",
    "enable_callback",
    "get_callback_name",
    "get_timestamp",
    "set_thread_id_type",
    "subscribe",
    "unsubscribe",
)

_CALL_NAMES = (
    ("Driver_api_trace_cbid", "driver_api_trace_cbid"),
    ("Runtime_api_trace_cbid", "runtime_api_trace_cbid"),
)
"""The enums of callback numbers, by callback domain less one, under the names of 13 and of 12."""

_REASONS = {
    "ERROR_INSUFFICIENT_PRIVILEGES": "this user may not trace the GPU; "
    "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0",
    "ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES": "the virtual GPU's host does not allow tracing; "
    "ask for the profiling license, or run on a whole GPU",
    "ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED": "CUPTI does not trace virtual GPUs; run on a whole GPU",
    "ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED": "CUPTI does not trace under confidential computing; "
    "run on a machine without it",
    "ERROR_CMP_DEVICE_NOT_SUPPORTED": "CUPTI does not trace mining GPUs; run on another GPU",
    "ERROR_MIG_DEVICE_NOT_SUPPORTED": "CUPTI does not trace this MIG slice; run on a whole GPU",
    "ERROR_WSL_DEVICE_NOT_SUPPORTED": "CUPTI does not trace under WSL here; run on Linux itself",
    "ERROR_LEGACY_PROFILER_NOT_SUPPORTED": "this GPU is too new for the libcupti in use; update cupti-python",
    "ERROR_NOT_COMPATIBLE": "another user of CUPTI in this process chose an interface this one cannot "
    "share; end its session (torch.profiler, a monitor) and use a fresh process",
    "ERROR_NOT_INITIALIZED": "CUPTI could not start beside this driver; "
    "update the driver, or install the cupti-python release of its CUDA version",
    "ERROR_OLD_PROFILER_API_INITIALIZED": "the old profiler interface is in use in this process; "
    "use a fresh process",
    "ERROR_OUT_OF_MEMORY": "out of memory; free memory on the host and the GPU",
    "ERROR_UM_PROFILING_NOT_SUPPORTED": "managed memory cannot be watched on this system; "
    "leave unified_memory off",
    "ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE": "managed memory cannot be watched on this GPU; "
    "leave unified_memory off",
    "ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES": "managed memory cannot be watched while GPUs "
    "without peer access are visible; set CUDA_VISIBLE_DEVICES to one GPU",
    "ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS": "managed memory cannot be watched under MPS; "
    "leave unified_memory off, or stop MPS",
}
"""CUPTI's status to what it means here and what to do."""


def install_line(driver: int) -> str:
    """How to install the cupti-python that fits a driver, 12080 for one of CUDA 12.8."""
    return f'python -m pip install "{_RELEASES[13 if driver >= _OLDEST_DRIVER[13] else 12]}"'


def load_cupti(host: Host, module: Any = None) -> tuple[Any, str]:
    """The module ``cupti.cupti`` and the version of its package, ready to be used with this driver.

    A ``module`` that is given is used as it is. Raises ``UnavailableError`` in one line for no driver, a missing
    package, another generation, a missing function, and a driver that is too old.
    """
    driver = host.driver_version()
    if module is None:
        module = _import(driver)
    version = _version(host, driver)
    missing = [name for name in _NEEDED if not hasattr(module, name)]
    if missing:
        raise UnavailableError(
            f"cupti-python {version} lacks {missing[0]}, which the CUPTI probe needs; "
            f"update it: {install_line(driver)}"
        )
    major = int(version.split(".")[0])
    if driver < _OLDEST_DRIVER[major]:
        raise UnavailableError(
            f"the driver supports CUDA up to {_cuda(driver)} and cupti-python {version} needs "
            f"{_cuda(_OLDEST_DRIVER[major])}; update the NVIDIA driver to {_BRANCH[major]} or later, or "
            f"install the older one with a CuPy for CUDA 12: {install_line(driver)}"
        )
    return module, version


def call_names(module: Any, domain: int) -> Mapping[str, int]:
    """CUPTI's names of the calls of a callback domain, with their numbers."""
    enum = next(getattr(module, name) for name in _CALL_NAMES[domain - 1] if hasattr(module, name))
    return {name: int(number) for name, number in enum.__members__.items()}


def status_name(module: Any, error: Exception) -> str:
    """CUPTI's name for what went wrong: ``ERROR_NOT_COMPATIBLE``; the text of any other exception."""
    status = getattr(error, "status", None)
    if status is None:
        return f"{error}".strip() or type(error).__name__
    try:
        return str(module.Result(status).name)
    except ValueError:
        return f"status {status}"


def unavailable(module: Any, doing: str, error: Exception) -> UnavailableError:
    """The one line for a step of the session that failed, with what to do about it."""
    name = status_name(module, error)
    reason = _REASONS.get(name, "see CUPTI's manual for this status, or use --device simulated")
    return UnavailableError(f"CUPTI failed to {doing} ({name}): {reason}")


def subscription_refused(tools: Iterable[str]) -> UnavailableError:
    """The one line for a CUPTI that somebody else holds."""
    named = " and ".join(tools)
    holder = named or "nsys, ncu, cuda-gdb, compute-sanitizer or torch.profiler"
    return UnavailableError(
        f"CUPTI already serves another tool in this process ({holder}), and it serves one at a time; "
        "run without that tool; torch.profiler lets go at its end only with TEARDOWN_CUPTI=1 set"
    )


def _import(driver: int) -> Any:
    try:
        from cupti import cupti
    except ModuleNotFoundError as error:
        missing = "cupti-python" if (error.name or "").startswith("cupti") else error.name
        raise UnavailableError(
            f"the CUPTI probe needs {missing}, which is not installed; {install_line(driver)}"
        ) from None
    except (ImportError, RuntimeError, OSError) as error:
        raise UnavailableError(
            f"cupti-python does not import ({_first_line(error)}); "
            f"reinstall it: {install_line(driver)}"
        ) from error
    return cupti


def _version(host: Host, driver: int) -> str:
    try:
        version = host.package_version("cupti-python")
    except importlib.metadata.PackageNotFoundError:
        raise UnavailableError(
            "the module cupti does not come from the package cupti-python; "
            f"install it: {install_line(driver)}"
        ) from None
    major = version.split(".")[0]
    if major not in {str(known) for known in _RELEASES}:
        raise UnavailableError(
            f"cupti-python {version} is of CUDA {major}, whose records the CUPTI probe does not know; "
            f"install one it knows: {install_line(driver)}"
        )
    return version


def _cuda(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _first_line(error: Exception) -> str:
    return f"{error}".splitlines()[0] if f"{error}" else type(error).__name__
