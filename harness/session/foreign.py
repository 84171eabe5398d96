"""Running other people's code: what it raises becomes one clear line instead of a traceback."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.devices.cuda_faults import device_failure
from harness.errors import HarnessError, WorkloadError

__all__ = ["CannotTellError", "foreign"]


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


def _origin(error: BaseException) -> str:
    """The innermost line outside this package and installed packages, else the innermost line."""
    frames = traceback.extract_tb(error.__traceback__)
    own = str(Path(__file__).parent.parent)
    outside = [
        frame
        for frame in frames
        if not frame.filename.startswith(own) and "site-packages" not in frame.filename
    ]
    if not (outside or frames):
        return ""
    frame = (outside or list(frames))[-1]
    return f" ({frame.filename}:{frame.lineno} in {frame.name})"
