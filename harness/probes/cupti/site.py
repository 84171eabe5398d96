"""The line of user code behind a call into CUDA, taken while the call is made."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache
from pathlib import PurePath
from types import FrameType, TracebackType

from harness.model.event import Site

__all__ = ["is_machinery", "raising_site", "user_site"]

_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_PROBES = str(PurePath(__file__).parents[1]) + os.sep
_INSTALLED = ("site-packages", "dist-packages")
_LIBRARIES = frozenset(
    {
        "cuda",
        "cupti",
        "cupy",
        "cupy_backends",
        "cupyx",
        "jax",
        "jaxlib",
        "numba",
        "numba_cuda",
        "numpy",
        "nvmath",
        "torch",
    }
)
"""Installed packages that call CUDA for somebody else: the line that matters is the one that called them."""


def user_site(frame: FrameType | None) -> Site | None:
    """The innermost frame that is the user's; the innermost of all when none is, ``None`` without frames.

    Cost: about a microsecond per frame passed over; file names are looked at once each.
    """
    candidate = frame
    while candidate is not None:
        if not is_machinery(candidate.f_code.co_filename):
            return _site(candidate, candidate.f_lineno)
        candidate = candidate.f_back
    return None if frame is None else _site(frame, frame.f_lineno)


def raising_site(traceback: TracebackType | None) -> Site | None:
    """The user's line closest to where an exception was raised."""
    found: Site | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if found is None or not is_machinery(code.co_filename):
            found = _site(traceback.tb_frame, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


@lru_cache(maxsize=4096)
def is_machinery(file: str) -> bool:
    """Whether a file is Python itself, the standard library, a CUDA library, or this package's probes."""
    if file.startswith(("<frozen ", _PROBES)):
        return True
    parts = PurePath(file).parts
    for installed in _INSTALLED:
        if installed in parts[:-1]:
            after = parts[len(parts) - 1 - parts[::-1].index(installed) + 1]
            return after.removesuffix(".py") in _LIBRARIES
    return file.startswith(_STANDARD_LIBRARY)


def _site(frame: FrameType, line: int | None) -> Site:
    return Site(frame.f_code.co_filename, line or 0, frame.f_code.co_name)
