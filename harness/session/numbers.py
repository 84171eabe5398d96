"""Are the outputs right and where they should be: placement, values, gradients, inputs left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.devices.base import Device
from harness.errors import WorkloadError
from harness.model.error_map import ErrorMap
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.model.workload import Case
from harness.numerics.compare import Comparison, compare, comparison_text
from harness.numerics.error_map import error_map
from harness.session.declared import Declared
from harness.session.foreign import foreign
from harness.session.observe import HostArrays, Observation

__all__ = [
    "Values",
    "check_inputs",
    "check_placement",
    "check_values",
    "compare_outputs",
    "error_maps",
    "expected_outputs",
    "judge_values",
]


@dataclass(frozen=True, slots=True)
class Compared:
    """One output of one call, and how it compares with its truth."""

    output: np.ndarray[Any, Any]
    comparison: Comparison

    @property
    def wrong(self) -> int:
        """Entries that do not agree."""
        others = sum(mismatch.count for mismatch in self.comparison.mismatches)
        return self.comparison.beyond + others


@dataclass(frozen=True, slots=True)
class Values:
    """What the outputs of all calls show: the result of the check, and of each output the call that came out worst."""

    check: CheckResult
    worst: Mapping[str, Compared]


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
    return judge_values(declared, seen, expected, device=device).check


def judge_values(
    declared: Declared, seen: Observation, expected: HostArrays, *, device: Device
) -> Values:
    """As ``check_values``, with what was compared."""
    if not expected:
        text = "the oracle gives no output to compare"
        return Values(_values(device, Outcome.INCONCLUSIVE, text, ()), {})
    worst: dict[str, Compared] = {}
    judged = []
    for outputs in seen.results:
        missing = next((name for name in expected if name not in outputs), None)
        if missing is not None:
            text = f"run() returned no output {missing!r}, which the oracle gives"
            judged.append(_values(device, Outcome.FAILED, text, ()))
            continue
        comparisons = compare_outputs(declared, outputs, expected)
        judged.append(_compared(comparisons, outputs, device))
        for name, comparison in comparisons.items():
            found = Compared(outputs[name], comparison)
            worst[name] = max(worst.get(name, found), found, key=_badness)
    check = max(judged, key=lambda result: result.outcome.severity)
    if len(judged) > 1:
        differing = f"{len(judged)} different results in {seen.calls} calls"
        check = replace(check, details=(*check.details, differing))
    return Values(check, worst)


def error_maps(
    declared: Declared, values: Values, expected: HostArrays, *, known: Iterable[ErrorMap] = ()
) -> tuple[ErrorMap, ...]:
    """Where the outputs stand against their tolerances; a ``known`` map stays unless these values are worse.

    Two devices that give the same bits so cost one map, and a map costs about what the comparison did.
    """
    maps = {each.output: each for each in known}
    for name, found in values.worst.items():
        before = maps.get(name)
        if before is not None and _badness(found) <= (before.wrong, before.worst):
            continue
        new = error_map(found.output, expected[name], declared.tolerance(name), output=name)
        maps |= {name: new} if new is not None else {}
    return tuple(maps.values())


def _badness(found: Compared) -> tuple[int, float]:
    return found.wrong, found.comparison.worst_ratio


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
    comparisons: Mapping[str, Comparison], outputs: HostArrays, device: Device
) -> CheckResult:
    details = tuple(f"{name}: {each.tolerance.because}" for name, each in comparisons.items())
    wrong = [
        comparison_text(comparison, output=name)
        for name, comparison in comparisons.items()
        if not comparison.passed
    ]
    if wrong:
        return _values(device, Outcome.FAILED, "; ".join(wrong), details)
    unjudged = [name for name in outputs if name not in comparisons]
    if unjudged:
        text = f"the oracle gives no output {unjudged[0]!r}, so it was not compared"
        return _values(device, Outcome.INCONCLUSIVE, text, details)
    if not any(comparison.finite for comparison in comparisons.values()):
        text = "no output holds a finite number, so nothing was compared but NaN and infinity"
        return _values(device, Outcome.INCONCLUSIVE, text, details, next_step=_FINITE)
    vacuous = [name for name, comparison in comparisons.items() if comparison.vacuous]
    if vacuous:
        text = f"{', '.join(vacuous)}: all zeros would be within the tolerance too, so agreement proves nothing"
        return _values(device, Outcome.INCONCLUSIVE, text, details, next_step=_TIGHTER)
    summary = "; ".join(_short(name, comparison) for name, comparison in comparisons.items())
    return _values(device, Outcome.PASSED, summary, details)


def _short(name: str, comparison: Comparison) -> str:
    if not comparison.finite and comparison.entries:
        return f"{name} agrees (none of its {comparison.entries:,} entries finite)"
    return f"{name} {comparison.worst_ratio:.2f} of the allowed error"


_FINITE = (
    "give finite inputs, for which expected() gives numbers that the dtype of the output holds"
)

_TIGHTER = (
    "give a tolerance smaller than the values; where they are zero but for rounding, let expected() "
    "return exact zeros"
)

_STEPS = {
    Outcome.FAILED: "look at the entry named; the details of the case derive its tolerance",
    Outcome.INCONCLUSIVE: "let expected() return every output of run()",
}


def _values(
    device: Device,
    outcome: Outcome,
    summary: str,
    details: tuple[str, ...],
    *,
    next_step: str | None = None,
) -> CheckResult:
    return CheckResult(
        check="values",
        outcome=outcome,
        summary=summary,
        evidence=f"float64 oracle, device {device.name}",
        details=details,
        next_step=_STEPS.get(outcome, "") if next_step is None else next_step,
    )
