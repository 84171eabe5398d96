"""What the machine says, read once and kept as plain text, so that judging it needs no machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["FILES", "Readings", "read"]

FILES = (
    "/.dockerenv",
    "/etc/os-release",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/run/.containerenv",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/smt/active",
    "/sys/fs/cgroup/cpu.max",
    "/sys/kernel/mm/transparent_hugepage/enabled",
)
"""The files asked for; each is a normal thing to lack on another system or in a container."""

MOST_BYTES = 256 * 1024
"""Most bytes read of one file: /proc/cpuinfo holds about 1.5 kB per logical core, so 170 cores in full,
and its first lines already name the model."""

GIT_TIMEOUT_S = 2.0
"""A status of a warm tree of 100,000 files takes well under a second; on a cold network drive, going on
without the fact is better than holding the run."""

_GIT_STATUS = (
    "--no-optional-locks",  # reading must not rewrite the index
    "-c",
    "core.fsmonitor=false",  # nor start a program the repository names
    "status",
    "--porcelain=v2",
    "--branch",
    "--untracked-files=no",
)
"""Commit and changes in one process."""

COMMAND_TIMEOUT_S = 0.5
"""For commands that only print a constant of the machine (a few milliseconds each)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Raw readings; ``None``, an empty text or a missing key is a fact this machine does not give.

    ``files`` holds the text of the files of ``FILES`` that exist, by the path written there. ``git`` is the
    output of ``git status --porcelain=v2 --branch``. ``numpy_config`` is ``numpy.show_config`` as a mapping.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    architecture: str = ""
    system: str = ""
    release: str = ""
    host: str = ""
    processor: str = ""
    libc: str = ""
    cores: int | None = None
    load: float | None = None
    python_implementation: str = ""
    python_version: str = ""
    python_abi: str = ""
    numpy_version: str = ""
    numpy_config: Mapping[str, Any] = field(default_factory=dict)
    git: str | None = None


def read(
    repository: Path | None = None,
    *,
    root: Path = Path("/"),
    variables: Mapping[str, str] = os.environ,
    git: str = "git",
    git_timeout_s: float = GIT_TIMEOUT_S,
) -> Readings:
    """Ask this machine everything a fingerprint is made of; whatever it cannot say stays empty.

    ``repository`` is any folder of the code under test (default: the working directory), ``root`` the
    folder that ``FILES`` are looked up under, ``git`` the command. Never raises for a missing fact. Costs
    under 50 ms once NumPy is imported, most of it one ``git`` process; a repository whose status
    takes longer costs up to ``git_timeout_s`` and is then left out.
    """
    files = {path: text for path in FILES if (text := _file(root, path)) is not None}
    numpy_version, numpy_config = _numpy()
    return Readings(
        files=files,
        variables=dict(variables),
        architecture=platform.machine(),
        system=platform.system(),
        release=platform.release(),
        host=platform.node(),
        processor="" if "/proc/cpuinfo" in files else _processor(),
        libc=_libc(),
        cores=_cores(),
        load=_load(),
        python_implementation=platform.python_implementation(),
        python_version=platform.python_version(),
        python_abi=getattr(sys, "abiflags", ""),
        numpy_version=numpy_version,
        numpy_config=numpy_config,
        git=_output(
            [git, *_GIT_STATUS],
            timeout_s=git_timeout_s,
            variables=variables,
            folder=repository or Path.cwd(),
        ),
    )


def _file(root: Path, path: str) -> str | None:
    try:
        with (root / path.lstrip("/")).open("rb") as stream:
            return stream.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _output(
    command: Sequence[str], *, timeout_s: float, variables: Mapping[str, str], folder: Path | None
) -> str | None:
    """What the command prints; ``None`` when it is absent, refuses, or takes too long."""
    try:
        finished = subprocess.run(
            command,
            cwd=folder,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished.stdout.decode("utf-8", "replace") if finished.returncode == 0 else None


def _processor() -> str:
    """The CPU's name where there is no /proc/cpuinfo."""
    sysctl = ["sysctl", "-n", "machdep.cpu.brand_string"]
    name = _output(sysctl, timeout_s=COMMAND_TIMEOUT_S, variables=os.environ, folder=None)
    return name or platform.processor()


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):  # not POSIX, or another C library
        return ""


def _cores() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # only Linux knows a process's affinity
        return os.cpu_count()


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def _numpy() -> tuple[str, Mapping[str, Any]]:
    try:
        import numpy  # the one heavy import, so only when asked
    except ImportError:
        return "", {}
    config: Any = numpy.show_config(mode="dicts")  # typed by NumPy as always a mapping
    return numpy.__version__, config if isinstance(config, dict) else {}
