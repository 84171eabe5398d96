"""What the simulated device refuses, and how it says so."""

from __future__ import annotations

__all__ = ["NotModelledError", "host_array_refused", "implicit_conversion_refused"]


class NotModelledError(NotImplementedError, AttributeError):
    """An operation whose crossings of the boundary the simulated device does not know.

    It is never run with a guessed cost. It is an ``AttributeError`` too, so that ``hasattr`` keeps telling
    the truth about what can be used.
    """

    def __init__(self, operation: str, instead: str = "") -> None:
        """``operation`` is the name the caller used, ``instead`` what to write in its place."""
        advice = instead or (
            "write it with modelled operations, as one launch(kernel, ...), or on the host from asnumpy(a)"
        )
        super().__init__(
            f"the simulated device does not model {operation}, so it cannot say what it copies: {advice}"
        )


def implicit_conversion_refused() -> TypeError:
    """The error of ``numpy.asarray(device_array)`` and everything that does the same inside."""
    return TypeError(
        "a device array is not converted to a NumPy array implicitly: "
        "call a.get() or asnumpy(a) where the copy is meant"
    )


def host_array_refused(where: str) -> TypeError:
    """The error of mixing a host array into an operation on device arrays."""
    return TypeError(
        f"unsupported type numpy.ndarray in {where}: an operation on device arrays takes device arrays and "
        "scalars; copy the host array first with asarray(a)"
    )
