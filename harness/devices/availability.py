"""What this machine can observe, what it cannot and why, found without importing any framework."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Availability", "cuda_driver", "install_extra", "optional_packages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """One thing that may be here: what it is for, whether it is, and what to type when it is not."""

    name: str
    purpose: str
    available: bool
    detail: str
    install: str = ""


def install_extra(name: str) -> str:
    """The line that installs an extra, and with it all that belongs together.

    It is the same for who installed a clone (``pip install -e .``): pip then finds the package there already and
    adds what the extra names.
    """
    return f'python -m pip install "ondevice-harness[{name}]"'


_OPTIONAL = (
    (
        "cupy-cuda13x",
        "arrays on a GPU of CUDA 13",
        install_extra("cuda13"),
    ),
    (
        "cupy-cuda12x",
        "arrays on a GPU of CUDA 12",
        install_extra("cuda12"),
    ),
    ("cupti-python", "traffic of a GPU", "comes with either of these extras"),
    ("nvidia-ml-py", "clocks, temperature and load of a GPU", "comes with either of these extras"),
    (
        "ml_dtypes",
        "bfloat16 arrays on the CPU",
        install_extra("bfloat16"),
    ),
    ("pytest", "the pytest plugin", install_extra("test")),
)
"""Distributions this version can use, each with its purpose and the line that installs it."""


def optional_packages(
    version_of: Callable[[str], str] = importlib.metadata.version,
) -> tuple[Availability, ...]:
    """Each optional package by its distribution's metadata; nothing is imported."""
    return tuple(
        _package(name, purpose, install, version_of) for name, purpose, install in _OPTIONAL
    )


def cuda_driver(load: Callable[[str], object] = ctypes.CDLL) -> Availability:
    """Whether NVIDIA's driver library can be loaded; loading it starts no context."""
    purpose = "CUDA devices"
    try:
        load("libcuda.so.1")
    except OSError as error:
        return Availability(
            name="NVIDIA driver",
            purpose=purpose,
            available=False,
            detail=f"{error}",
            install="install the NVIDIA driver, or run on a machine that has a GPU",
        )
    return Availability(
        name="NVIDIA driver", purpose=purpose, available=True, detail="libcuda.so.1 loads"
    )


def _package(
    name: str, purpose: str, install: str, version_of: Callable[[str], str]
) -> Availability:
    try:
        version = version_of(name)
    except importlib.metadata.PackageNotFoundError:
        return Availability(
            name=name, purpose=purpose, available=False, detail="not installed", install=install
        )
    return Availability(name=name, purpose=purpose, available=True, detail=version)
