"""CUDA C++ kernels run on the host: compiled by g++, one fiber per CUDA thread, with or without sanitizers."""

from reference_impl.kernels.cuda_on_host.build import CompilerMissingError, Sanitizer, build
from reference_impl.kernels.cuda_on_host.process import (
    HostBuffer,
    HostDevice,
    HostLaunch,
    LaunchCrashedError,
    LaunchStoppedError,
    Order,
)

__all__ = [
    "CompilerMissingError",
    "HostBuffer",
    "HostDevice",
    "HostLaunch",
    "LaunchCrashedError",
    "LaunchStoppedError",
    "Order",
    "Sanitizer",
    "build",
]
