"""Running other people's code: what it raises becomes one clear line instead of a traceback."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.devices.cuda_faults import device_failure
from harness.errors import HarnessError, WorkloadError

__all__ = ["CannotTellError", "foreign", "own_line"]

_NOT_UNDER_TEST = (
    f"{Path(__file__).parent.parent}{os.sep}",
    f"{sysconfig.get_path('stdlib')}{os.sep}",
    "<frozen ",  # modules of the standard library that the interpreter carries in itself
)
"""How the files of frames begin that no author of an op wants to be pointed at."""


class CannotTellError(WorkloadError):
    """The workload stopped for a reason that says nothing about it: an unmodelled operation, no memory."""


@contextmanager
def foreign(doing: str) -> Iterator[None]:
    """Turn whatever a workload raises into a ``WorkloadError`` that names the step and the line.

    Only ``KeyboardInterrupt`` and the harness's own errors pass.

    ``NotImplementedError`` (an operation the device does not model), ``MemoryError`` and what a failing GPU
    raises become ``CannotTellError``. The original stays attached as the cause.
    """
    try:
        yield
    except HarnessError:
        raise
    except (NotImplementedError, MemoryError) as error:
        raise CannotTellError(_sentence(doing, error)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Not only Exception: sys.exit(0) or pytest.skip() in an op would end the command as if all were well.
        if why := device_failure(error):
            raise CannotTellError(f"{doing}: {why}") from error
        raise WorkloadError(_sentence(doing, error)) from error


def _sentence(doing: str, error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no message"
    return f"{doing} raised {type(error).__name__}: {text}{_origin(error)}"


def own_line(files: Sequence[str]) -> int | None:
    """Which of these frames, innermost first, is the code under test: the first outside this package and what is
    installed, else the first. ``None`` when there is none.
    """
    outside = (
        place
        for place, file in enumerate(files)
        if not file.startswith(_NOT_UNDER_TEST) and "site-packages" not in file
    )
    return next(outside, 0 if files else None)


def _origin(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[::-1]
    place = own_line([frame.filename for frame in frames])
    if place is None:
        return ""
    frame = frames[place]
    return f" ({_near(frame.filename)}:{frame.lineno} in {frame.name})"


def _near(file: str) -> str:
    """As seen from the working folder, if it lies below that and that is still there."""
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        return file
    return str(Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else file
