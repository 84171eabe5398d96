"""CuPy and the CUDA bindings: the only module of this package that imports them, when a witness is made."""

from __future__ import annotations

from typing import Any

from harness.errors import UnavailableError

__all__ = ["INSTALL", "load_cupy", "load_runtime"]

INSTALL = 'python -m pip install "ondevice-harness[cuda13]", or [cuda12] for a driver of CUDA 12'


def load_cupy() -> Any:
    """The module ``cupy`` with a device to run on; raises ``UnavailableError`` in one line."""
    try:
        import cupy
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"the capture witness needs {error.name}, which is not installed; {INSTALL}"
        ) from None
    except (ImportError, RuntimeError, OSError) as error:
        raise UnavailableError(
            f"CuPy does not import ({_first_line(error)}); install the one for your CUDA: {INSTALL}"
        ) from error
    if not cupy.cuda.is_available():
        raise UnavailableError(
            "CuPy finds no CUDA device here; install the NVIDIA driver, install the CuPy of the driver's "
            "CUDA version, or run on a machine that has a GPU"
        )
    return cupy


def load_runtime() -> Any:
    """The module ``cuda.bindings.runtime``; raises ``UnavailableError`` in one line."""
    try:
        from cuda.bindings import runtime
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"the capture witness needs {error.name}, which is not installed; {INSTALL}"
        ) from None
    if not hasattr(runtime, "cudaStreamGetCaptureInfo"):
        raise UnavailableError(
            f"cuda-bindings cannot look into a capture in progress; update it: {INSTALL}"
        )
    return runtime


def _first_line(error: Exception) -> str:
    return f"{error}".strip().splitlines()[0] if f"{error}".strip() else type(error).__name__
