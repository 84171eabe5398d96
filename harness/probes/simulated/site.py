"""Which line of user code caused an event."""

from __future__ import annotations

import os
import sysconfig
from types import FrameType

import numpy as np

__all__ = ["user_line"]

_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_INSTALLED_IN_IT = tuple(
    _STANDARD_LIBRARY + folder + os.sep for folder in ("site-packages", "dist-packages")
)
_MACHINERY = (
    os.path.dirname(os.path.abspath(__file__)) + os.sep,
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
)

_is_machinery: dict[str, bool] = {}
"""File name to "not the user's"; a file name never changes sides, so this never goes stale."""


def user_line(frame: FrameType) -> tuple[str, int, str]:
    """File, line and function of the first frame that is neither this package, NumPy nor the standard library.

    ``copy.deepcopy(a)`` and ``logging.info("%s", a)`` read through standard-library frames: the line that
    matters is the one that called them. When no frame is the user's, the innermost one is returned.
    """
    candidate: FrameType | None = frame
    while candidate is not None:
        code = candidate.f_code
        file = code.co_filename
        machinery = _is_machinery.get(file)
        if machinery is None:
            machinery = _is_machinery[file] = _classify(file)
        if not machinery:
            return file, candidate.f_lineno, code.co_name
        candidate = candidate.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def _classify(file: str) -> bool:
    if file.startswith(("<frozen ", *_MACHINERY)):
        return True
    return file.startswith(_STANDARD_LIBRARY) and not file.startswith(_INSTALLED_IN_IT)
