"""Can the probe see at all: planted traffic that must be found, and known defects that must fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.budget import WHOLE_RUN, Quantity
from harness.model.outcome import Outcome
from harness.model.trace import Trace
from harness.model.verdict import CheckResult

__all__ = ["Planted", "check_known_defect", "check_positive_control"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One planted action: what it must look like and what the probe saw of it."""

    name: str
    expected: Mapping[Quantity, int]
    trace: Trace


def check_positive_control(planted: tuple[Planted, ...]) -> CheckResult:
    """Pass when every planted action was seen exactly; anything else means the probe is not to be trusted."""
    missed = [f"{plant.name}: {text}" for plant in planted if (text := _mismatch(plant))]
    seen = len(planted) - len(missed)
    evidence = f"controls seen {seen}/{len(planted)}"
    if not planted:
        return _inconclusive("positive control", "nothing was planted", "no positive control", ())
    if missed:
        summary = f"the probe does not see what was planted ({missed[0]})"
        return _inconclusive("positive control", summary, evidence, tuple(missed[1:]))
    return CheckResult(
        check="positive control",
        outcome=Outcome.PASSED,
        summary=f"saw {', '.join(plant.name for plant in planted)}",
        evidence=evidence,
    )


def check_known_defect(
    label: str, expected: Mapping[str, Mapping[Quantity, int]], trace: Trace
) -> CheckResult:
    """Pass when the implementation known to be bad shows exactly its known excess in each region.

    A defect that does not show is inconclusive: either the probe is blind where it matters, or the control
    is no longer the defect it stands for.
    """
    wrong = []
    for region, quantities in expected.items():
        part = trace if region == WHOLE_RUN else trace.within(region)
        plant = Planted(name=region, expected=quantities, trace=part)
        if text := _mismatch(plant):
            wrong.append(f"in {region!r} {text}")
    shown = _expected_text(expected)
    if wrong or not shown:
        summary = f"{label} was expected to show its defect and did not: {'; '.join(wrong) or 'nothing was expected'}"
        return _inconclusive("known defect", summary, trace.probe, ())
    return CheckResult(
        check="known defect",
        outcome=Outcome.PASSED,
        summary=f"{label} FAILED as expected: {shown}",
        evidence=f"{trace.evidence.value} ({trace.probe})",
    )


def _mismatch(plant: Planted) -> str:
    texts = []
    for quantity, wanted in plant.expected.items():
        seen = sum(quantity.counts(event) for event in plant.trace.events)
        if seen != wanted:
            texts.append(f"{quantity.value} {seen:,}, expected {wanted:,}")
    return ", ".join(texts)


def _expected_text(expected: Mapping[str, Mapping[Quantity, int]]) -> str:
    parts = []
    for region, quantities in expected.items():
        nonzero = [quantity.amount_text(count) for quantity, count in quantities.items() if count]
        if nonzero:
            parts.append(f"{', '.join(nonzero)} within {region!r}")
    return "; ".join(parts)


def _inconclusive(check: str, summary: str, evidence: str, details: tuple[str, ...]) -> CheckResult:
    return CheckResult(
        check=check,
        outcome=Outcome.INCONCLUSIVE,
        summary=summary,
        evidence=evidence,
        details=details,
        next_step="run `harness doctor` to see which events this probe can observe here",
    )
