"""What a case declares, read once and checked, before anything is run on its word."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from harness.errors import WorkloadError
from harness.model.budget import Budget
from harness.model.measurement import Throughput
from harness.model.workload import Case
from harness.numerics.tolerance import Tolerance
from harness.session.foreign import foreign

__all__ = ["Declared", "Peer", "declared_by"]

Peer = Callable[[Mapping[str, Any], Callable[[str], Any]], Any]
"""A frozen implementation of the same work on host arrays."""


_REQUIRED = (
    "parameters",
    "timed",
    "budget",
    "tolerances",
    "gradients",
    "loss",
    "inputs",
    "run",
    "expected",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The declarations of one case, each of the right kind.

    ``throughput`` and ``peer`` are those of a timed case, ``margin`` the slowdown that is too much for it, as a
    fraction, ``flops`` the floating-point operations of a call. ``tolerances`` is keyed by output.
    """

    name: str
    parameters: Mapping[str, str]
    budget: Budget
    tolerances: Mapping[str, Tolerance]
    gradients: Mapping[str, str]
    loss: str | None
    timed: bool
    throughput: Throughput | None
    peer: Peer | None
    margin: float | None = None
    flops: float | None = None

    def tolerance(self, output: str) -> Tolerance:
        """That of one output; ``WorkloadError`` when none was declared."""
        if output not in self.tolerances:
            raise WorkloadError(
                f"{self.name}: tolerances has no entry for output {output!r}; "
                "add {'dtype': ..., 'reduction_length': ...}"
            )
        return self.tolerances[output]


def declared_by(case: Case) -> Declared:
    """Read every declaration of ``case``; ``WorkloadError`` names the one that is missing or wrong."""
    name = str(case.name)
    with foreign(f"reading the declarations of {name}"):
        _refuse_incomplete(case)
        timed = bool(case.timed)
        parameters = _mapping(case, "parameters")
        budget = _mapping(case, "budget")
        tolerances = _mapping(case, "tolerances")
        gradients = _mapping(case, "gradients")
        loss = case.loss
        throughput = case.throughput if timed else None
        peer = getattr(case, "peer", None)
        margin = getattr(case, "margin", None)
        flops = getattr(case, "flops", None)
    if gradients and not isinstance(loss, str):
        raise WorkloadError(
            f"{name}: gradients are declared but loss is {loss!r}; name the loss output"
        )
    return Declared(
        name=name,
        parameters={str(key): str(value) for key, value in parameters.items()},
        budget=Budget.from_plain(budget),
        tolerances={
            output: Tolerance.from_plain(_entry(name, output, plain), output=output)
            for output, plain in tolerances.items()
        },
        gradients={str(key): str(value) for key, value in gradients.items()},
        loss=loss,
        timed=timed,
        throughput=_throughput(name, throughput) if timed else None,
        peer=peer if callable(peer) else None,
        margin=_margin(name, margin),
        flops=_flops(name, flops),
    )


def _refuse_incomplete(case: Case) -> None:
    """All that is missing at once; a property that raises ``AttributeError`` is there, and is told as what it raised."""
    timed = ("throughput",) if getattr(case, "timed", False) else ()
    missing = [
        name
        for name in (*_REQUIRED, *timed)
        if not hasattr(case, name) and not hasattr(type(case), name)
    ]
    if missing:
        raise WorkloadError(
            f"{case.name} has no {', '.join(missing)}; harness/model/workload.py says what a case must have"
        )


def _mapping(case: Case, attribute: str) -> Mapping[str, Any]:
    value = getattr(case, attribute)
    if not isinstance(value, Mapping):
        raise WorkloadError(
            f"{case.name}: {attribute} is {type(value).__name__}; give a mapping, which may be empty"
        )
    return value


def _entry(case: str, output: str, plain: object) -> Mapping[str, object]:
    if not isinstance(plain, Mapping):
        raise WorkloadError(
            f"{case}: the tolerance of output {output!r} is {plain!r}; "
            "give {'dtype': ..., 'reduction_length': ...}"
        )
    return plain


def _throughput(case: str, declared: object) -> Throughput:
    match declared:
        case (str(unit), int() | float() as units, int(size_bytes)) if (
            unit and 0 < units < math.inf and size_bytes >= 0
        ):
            return Throughput(unit=unit, units_per_call=float(units), bytes_per_call=size_bytes)
    raise WorkloadError(
        f"{case}: throughput is {declared!r}; give (unit, units per call, bytes per call)"
    )


def _margin(case: str, declared: object) -> float | None:
    match declared:
        case None:
            return None
        case Real() if 0 < float(declared) < 1:  # NumPy's numbers too
            return float(declared)
    raise WorkloadError(
        f"{case}: margin is {declared!r}; give the slowdown that is too much as a fraction between 0 and 1, "
        "such as 0.02 for 2 %"
    )


def _flops(case: str, declared: object) -> float | None:
    match declared:
        case None:
            return None
        case bool():
            pass  # to Python a number, here a mistake
        case Real() if 0 < float(declared) < math.inf:
            return float(declared)
    raise WorkloadError(
        f"{case}: flops is {declared!r}; give the floating-point operations of one call as a finite number above 0"
    )
