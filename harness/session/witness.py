"""The second view of a call, beside the probe: a stream capture, which refuses what would need the host."""

from __future__ import annotations

from dataclasses import replace

from harness.checks.control import Planted, check_positive_control
from harness.checks.traffic import check_traffic
from harness.devices.base import Device
from harness.model.budget import Budget, Quantity
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.model.workload import Case
from harness.probes.base import Witness
from harness.session.foreign import foreign
from harness.session.observe import HostArrays, to_device

__all__ = ["check_witness"]

_JUDGED = (Quantity.D2H, Quantity.H2D, Quantity.SYNCS)
"""A capture refuses a copy before its size is known, and never blocks."""


def check_witness(
    case: Case, budget: Budget, inputs: HostArrays, device: Device, *, probe_passed: bool
) -> CheckResult | None:
    """Hold one call under the device's second view against the budget; ``None`` where there is none.

    A budget that allows reads or waits cannot be judged so, since a capture ends at the first. Where the
    probe was sure, a witness that could not look is skipped: it takes nothing away. The call must have run
    before, so that nothing is compiled here.
    """
    witness = device.witness
    if witness is None:
        return None
    if reading := _allowed_reads(budget):
        return _skipped(f"the budget of {reading!r} allows what a capture refuses", witness)
    arrays = to_device(inputs, device)
    with foreign(f"{case.name} under {witness.name}"):
        trace = witness.witness(lambda region: case.run(dict(arrays), region))
    judged = check_traffic([trace], _capturable(budget), control=_control(witness, device))
    if judged.outcome is Outcome.INCONCLUSIVE and probe_passed:
        return _skipped(f"could not look: {judged.summary}", witness, details=judged.details)
    return replace(judged, check="capture")


def _control(witness: Witness, device: Device) -> CheckResult:
    """Every plant must be refused or recorded; how exactly differs, since a refused copy has no size."""
    planted = []
    for plant in device.plants():
        trace = witness.witness(lambda region, plant=plant: plant.action())  # type: ignore[misc] # mypy cannot infer a lambda with a default
        seen = bool(trace.transfers or trace.syncs)
        expected = {} if seen else {Quantity.SYNCS: 1}
        planted.append(Planted(name=plant.name, expected=expected, trace=trace))
    return check_positive_control(tuple(planted))


def _allowed_reads(budget: Budget) -> str:
    """The first region with a limit above zero, or none at all, on what a capture refuses."""
    for region, limits in budget.regions.items():
        at_most = {limit.quantity: limit.at_most for limit in limits}
        if at_most.get(Quantity.D2H, 1) or at_most.get(Quantity.SYNCS, 1):
            return region
    return ""


def _capturable(budget: Budget) -> Budget:
    return Budget(
        {
            region: tuple(limit for limit in limits if limit.quantity in _JUDGED)
            for region, limits in budget.regions.items()
        }
    )


def _skipped(why: str, witness: Witness, details: tuple[str, ...] = ()) -> CheckResult:
    return CheckResult(
        check="capture",
        outcome=Outcome.SKIPPED,
        summary=why,
        evidence=witness.name,
        details=details,
    )
