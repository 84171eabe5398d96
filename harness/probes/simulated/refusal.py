"""What the simulated device refuses, and how it says so."""

from __future__ import annotations

from harness.probes.simulated import boundary, cupy_names

__all__ = [
    "NotModelledError",
    "UnsupportedOperandError",
    "absent",
    "host_array_refused",
    "implicit_conversion_refused",
    "not_modelled",
]


_PREFIXES = {"": "xp", "ndarray": "ndarray", "cupyx": "cupyx"}


class NotModelledError(NotImplementedError, AttributeError):
    """An operation of CuPy whose crossings of the boundary the simulated device does not know.

    It is never run with a guessed cost. It is an ``AttributeError`` too, so that ``hasattr`` keeps telling
    the truth about what can be used here.
    """

    def __init__(self, operation: str, instead: str = "") -> None:
        """``operation`` is the name the caller used, ``instead`` what to write in its place."""
        advice = instead or (
            "write it with modelled operations, as one launch(kernel, ...), or on the host from asnumpy(a)"
        )
        super().__init__(
            f"the simulated device does not model {operation}, so it cannot say what it copies: {advice}"
        )


class UnsupportedOperandError(TypeError):
    """An operand that no operation of the device knows; the other operand may know what to do."""


def not_modelled(operation: str, instead: str = "") -> NotModelledError:
    """The error to raise where CuPy goes on and this device cannot.

    Open recordings are told, for whoever catches the error, or only asks ``hasattr``, takes another path than
    on a GPU, and what that path copies is seen nowhere.
    """
    boundary.doubt(operation, "is not modelled, so what this code does on a GPU is unknown")
    return NotModelledError(operation, instead)


def absent(owner: str, name: str, instead: str = "") -> AttributeError:
    """The error for a name that is not here: ``not_modelled`` where CuPy has it, else an honest no."""
    prefix = _PREFIXES.get(owner, f"xp.{owner}")
    if cupy_names.has(owner, name):
        return not_modelled(f"{prefix}.{name}", instead)
    return AttributeError(
        f"{prefix} has no attribute {name!r}, here or in CuPy {cupy_names.VERSION}"
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
