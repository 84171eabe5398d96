"""Are the outputs right and where they should be: placement, values, gradients, inputs left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.devices.base import Device
from harness.errors import WorkloadError
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.model.workload import Case
from harness.numerics.compare import Comparison, compare, comparison_text
from harness.numerics.tolerance import Tolerance
from harness.session.foreign import foreign
from harness.session.observe import HostArrays, Observation

__all__ = ["check_inputs", "check_placement", "check_values", "expected_outputs", "host_outputs"]


def expected_outputs(case: Case, inputs: HostArrays) -> HostArrays:
    """The oracle's outputs for these inputs; ``WorkloadError`` when it is not a mapping of arrays."""
    with foreign(f"the oracle of {case.name}"):
        expected = case.expected(inputs)
    if not isinstance(expected, Mapping):
        raise WorkloadError(
            f"{case.name}: expected() returned {type(expected).__name__}; return a mapping of names to arrays"
        )
    return {name: np.asarray(value) for name, value in expected.items()}


def host_outputs(observation: Observation, device: Device) -> HostArrays:
    """Outputs as host arrays; those left on the wrong side are taken as they are, placement judges that."""
    outputs = {}
    for name, value in observation.outputs.items():
        if device.owns(value):
            outputs[name] = device.to_host(value)
        else:
            with foreign(f"output {name!r} ({type(value).__name__}) as an array"):
                outputs[name] = np.asarray(value)
    return outputs


def check_placement(outputs: Mapping[str, Any], device: Device) -> CheckResult:
    """Every output must be in device memory: a loss made on the host has left the device already."""
    if not outputs:
        return CheckResult(
            check="placement",
            outcome=Outcome.INCONCLUSIVE,
            summary="run() returned no output, so nothing can be judged",
            evidence=f"device {device.name}",
            next_step="return the outputs from run()",
        )
    strays = [
        f"output {name!r} is a host {type(value).__name__}"
        for name, value in outputs.items()
        if not device.owns(value)
    ]
    if strays:
        return CheckResult(
            check="placement",
            outcome=Outcome.FAILED,
            summary=f"{'; '.join(strays)}, not an array on {device.name}",
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
    case: Case, outputs: HostArrays, expected: HostArrays, *, device: Device
) -> CheckResult:
    """Every output against the float64 oracle, within the tolerance the case declares."""
    if not expected:
        return _values(device, Outcome.INCONCLUSIVE, "the oracle gives no output to compare", ())
    missing = [name for name in expected if name not in outputs]
    if missing:
        text = f"run() returned no output {missing[0]!r}, which the oracle gives"
        return _values(device, Outcome.FAILED, text, ())
    comparisons = {
        name: compare(outputs[name], truth, _tolerance(case, name, truth))
        for name, truth in expected.items()
    }
    texts = {
        name: comparison_text(comparison, output=name) for name, comparison in comparisons.items()
    }
    details = tuple(f"{name}: {each.tolerance.because}" for name, each in comparisons.items())
    wrong = [texts[name] for name, comparison in comparisons.items() if not comparison.passed]
    if wrong:
        return _values(device, Outcome.FAILED, "; ".join(wrong), details)
    unjudged = [name for name in outputs if name not in expected]
    if unjudged:
        text = f"the oracle gives no output {unjudged[0]!r}, so it was not compared"
        return _values(device, Outcome.INCONCLUSIVE, text, details)
    return _values(device, Outcome.PASSED, "; ".join(map(_short, *_columns(comparisons))), details)


def check_inputs(observation: Observation, inputs: HostArrays, device: Device) -> CheckResult:
    """The call must leave its inputs as they were: whoever saved them for backward relies on that."""
    changed = [
        name
        for name, original in inputs.items()
        if not _same_bits(device.to_host(observation.inputs[name]), np.asarray(original))
    ]
    if changed:
        return CheckResult(
            check="inputs",
            outcome=Outcome.FAILED,
            summary=f"input {changed[0]!r} was overwritten during the call",
            evidence=f"bits before and after, device {device.name}",
            next_step="write into memory of your own; an op that saved this input gets wrong gradients",
        )
    return CheckResult(
        check="inputs",
        outcome=Outcome.PASSED,
        summary=f"{', '.join(inputs)} unchanged",
        evidence=f"bits before and after, device {device.name}",
    )


def _tolerance(case: Case, output: str, truth: np.ndarray[Any, Any]) -> Tolerance:
    plain = case.tolerances.get(output)
    if plain is None:
        raise WorkloadError(
            f"{case.name}: tolerances has no entry for output {output!r}; "
            "add {'dtype': ..., 'reduction_length': ...}"
        )
    return Tolerance.from_plain(plain, output=output)


def _same_bits(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    if left.dtype.kind == "O" or left.shape != right.shape or left.dtype != right.dtype:
        return False
    words = f"u{left.dtype.itemsize}" if left.dtype.itemsize in (1, 2, 4, 8) else "u1"
    return bool(
        np.array_equal(
            np.ascontiguousarray(left).reshape(-1).view(words),
            np.ascontiguousarray(right).reshape(-1).view(words),
        )
    )


def _columns(comparisons: Mapping[str, Comparison]) -> tuple[list[str], list[Comparison]]:
    return list(comparisons), list(comparisons.values())


def _short(name: str, comparison: Comparison) -> str:
    if not comparison.finite and comparison.entries:
        return f"{name} agrees (none of its {comparison.entries:,} entries finite)"
    return f"{name} {comparison.worst_ratio:.2f} of the allowed error"


def _values(
    device: Device, outcome: Outcome, summary: str, details: tuple[str, ...]
) -> CheckResult:
    next_step = {
        Outcome.FAILED: "look at the entry named; the tolerance and its derivation are in the report",
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
