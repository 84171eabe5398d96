"""Are the outputs right and where they should be: placement, values, gradients, inputs left alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from harness.devices.base import Device
from harness.errors import WorkloadError
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.model.workload import Case
from harness.numerics.compare import Comparison, compare, comparison_text
from harness.session.declared import Declared
from harness.session.foreign import foreign
from harness.session.observe import HostArrays, Observation

__all__ = [
    "check_inputs",
    "check_placement",
    "check_values",
    "compare_outputs",
    "expected_outputs",
]


def expected_outputs(case: Case, inputs: HostArrays) -> HostArrays:
    """The oracle's outputs for these inputs; ``WorkloadError`` when it is not a mapping of arrays."""
    with foreign(f"the oracle of {case.name}"):
        expected = case.expected(inputs)
    if not isinstance(expected, Mapping):
        raise WorkloadError(
            f"{case.name}: expected() returned {type(expected).__name__}; return a mapping of names to arrays"
        )
    return {name: np.asarray(value) for name, value in expected.items()}


def check_placement(seen: Observation, device: Device) -> CheckResult:
    """Every output must be in device memory: a loss made on the host has left the device already."""
    outputs = seen.results[0]
    if not outputs:
        return CheckResult(
            check="placement",
            outcome=Outcome.INCONCLUSIVE,
            summary="run() returned no output, so nothing can be judged",
            evidence=f"device {device.name}",
            next_step="return the outputs from run()",
        )
    if seen.strays:
        return CheckResult(
            check="placement",
            outcome=Outcome.FAILED,
            summary=f"{'; '.join(seen.strays)}, not an array on {device.name}",
            evidence=f"device {device.name}",
            next_step="create it with the namespace of the inputs, so that it stays on the device",
        )
    return CheckResult(
        check="placement",
        outcome=Outcome.PASSED,
        summary=f"{', '.join(outputs)} on the device",
        evidence=f"device {device.name}",
    )


def check_values(
    declared: Declared, seen: Observation, expected: HostArrays, *, device: Device
) -> CheckResult:
    """Every output of every call against the float64 oracle, within the tolerance the case declares."""
    if not expected:
        return _values(device, Outcome.INCONCLUSIVE, "the oracle gives no output to compare", ())
    if len(seen.results) == 1:
        return _compared(declared, seen.results[0], expected, device)
    judged = [_compared(declared, outputs, expected, device) for outputs in seen.results]
    worst = max(judged, key=lambda result: result.outcome.severity)
    differing = f"{len(judged)} different results in {seen.calls} calls"
    return replace(worst, details=(*worst.details, differing))


def check_inputs(seen: Observation, inputs: HostArrays, device: Device) -> CheckResult:
    """A call must leave its inputs as they were: whoever saved them for backward relies on that."""
    if seen.overwritten:
        return CheckResult(
            check="inputs",
            outcome=Outcome.FAILED,
            summary=f"input {seen.overwritten[0]!r} was overwritten during the call",
            evidence=f"bits before and after, device {device.name}",
            next_step="write into memory of your own; an op that saved this input gets wrong gradients",
        )
    return CheckResult(
        check="inputs",
        outcome=Outcome.PASSED,
        summary=f"{', '.join(inputs)} unchanged",
        evidence=f"bits before and after, device {device.name}",
    )


def compare_outputs(
    declared: Declared, outputs: HostArrays, expected: HostArrays
) -> Mapping[str, Comparison]:
    """Each expected output against what was returned under its name, which must be there."""
    return {
        name: compare(outputs[name], truth, declared.tolerance(name))
        for name, truth in expected.items()
    }


def _compared(
    declared: Declared, outputs: HostArrays, expected: HostArrays, device: Device
) -> CheckResult:
    missing = [name for name in expected if name not in outputs]
    if missing:
        text = f"run() returned no output {missing[0]!r}, which the oracle gives"
        return _values(device, Outcome.FAILED, text, ())
    comparisons = compare_outputs(declared, outputs, expected)
    details = tuple(f"{name}: {each.tolerance.because}" for name, each in comparisons.items())
    wrong = [
        comparison_text(comparison, output=name)
        for name, comparison in comparisons.items()
        if not comparison.passed
    ]
    if wrong:
        return _values(device, Outcome.FAILED, "; ".join(wrong), details)
    unjudged = [name for name in outputs if name not in expected]
    if unjudged:
        text = f"the oracle gives no output {unjudged[0]!r}, so it was not compared"
        return _values(device, Outcome.INCONCLUSIVE, text, details)
    if not any(comparison.finite for comparison in comparisons.values()):
        text = "no output holds a finite number, so nothing was compared but NaN and infinity"
        return _values(device, Outcome.INCONCLUSIVE, text, details)
    summary = "; ".join(_short(name, comparison) for name, comparison in comparisons.items())
    return _values(device, Outcome.PASSED, summary, details)


def _short(name: str, comparison: Comparison) -> str:
    if not comparison.finite and comparison.entries:
        return f"{name} agrees (none of its {comparison.entries:,} entries finite)"
    return f"{name} {comparison.worst_ratio:.2f} of the allowed error"


def _values(
    device: Device, outcome: Outcome, summary: str, details: tuple[str, ...]
) -> CheckResult:
    next_step = {
        Outcome.FAILED: "look at the entry named; the details of the case derive its tolerance",
        Outcome.INCONCLUSIVE: "let expected() return every output of run()",
    }.get(outcome, "")
    return CheckResult(
        check="values",
        outcome=outcome,
        summary=summary,
        evidence=f"float64 oracle, device {device.name}",
        details=details,
        next_step=next_step,
    )
