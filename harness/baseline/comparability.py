"""What must agree before a run is compared with a baseline, and what to say when it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.model.baseline import BaselineCase
from harness.model.environment import Environment, FieldDifference
from harness.model.measurement import Throughput

__all__ = [
    "case_differences",
    "difference_text",
    "differences",
    "fields_text",
    "soft_differences",
    "speed_differences",
    "traffic_differences",
]

_MOST_NAMED = 4
"""Fields named in one sentence; details list all of them."""


def differences(baseline: Environment, current: Environment) -> tuple[FieldDifference, ...]:
    """The hard facts that differ, sorted by name; a fact only one side has differs.

    Empty means comparable, unless neither side has any hard fact at all.
    """
    return _differing(baseline.hard, current.hard)


def soft_differences(baseline: Environment, current: Environment) -> tuple[FieldDifference, ...]:
    """The soft facts that differ, sorted by name; they explain a change and forbid nothing."""
    return _differing(baseline.soft, current.soft)


def case_differences(baseline: BaselineCase, current: BaselineCase) -> tuple[FieldDifference, ...]:
    """The parameters that differ between two cases of one key."""
    return _differing(
        {f"parameters.{name}": value for name, value in baseline.parameters.items()},
        {f"parameters.{name}": value for name, value in current.parameters.items()},
    )


def traffic_differences(
    baseline: BaselineCase, current: BaselineCase
) -> tuple[FieldDifference, ...]:
    """What differs in how the traffic of two cases was seen; empty where one side saw none.

    A probe's version may differ, its kind may not: a stream capture, CUPTI and the simulated device do not count alike.
    """
    if not (baseline.traffic and current.traffic):
        return ()
    return _differing(_view(baseline), _view(current))


def speed_differences(baseline: BaselineCase, current: BaselineCase) -> tuple[FieldDifference, ...]:
    """What differs in how the times of two timed cases were taken, and in the work of a call."""
    return _differing(_timing(baseline), _timing(current))


def difference_text(difference: FieldDifference) -> str:
    """``cpu.cores: 2 in the baseline, 4 now``."""
    then = "absent" if difference.baseline is None else difference.baseline
    now = "absent" if difference.current is None else difference.current
    return f"{difference.field}: {then} in the baseline, {now} now"


def fields_text(differing: Sequence[FieldDifference]) -> str:
    """``cpu.cores and os.name differ``, the first few by name."""
    names = [difference.field for difference in differing]
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{listed} {'differs' if len(names) == 1 else 'differ'}"


def _view(case: BaselineCase) -> dict[str, str]:
    facts = {
        "traffic_device": case.traffic_device,
        "probe": case.probe.partition(" ")[0],
        "evidence": case.evidence.value if case.evidence is not None else "",
    }
    return {name: value for name, value in facts.items() if value}


def _timing(case: BaselineCase) -> dict[str, str]:
    facts = {
        "timing_device": case.timing_device,
        "timer": case.speeds[-1].timer if case.speeds else "",
        "throughput": _work(case.throughput),
    }
    return {name: value for name, value in facts.items() if value}


def _work(throughput: Throughput | None) -> str:
    """What one call does; the times of two calls that do not do the same say nothing."""
    if throughput is None:
        return ""
    size = f"{throughput.bytes_per_call:,} B"
    return f"{throughput.units_per_call!r} {throughput.unit} and {size} per call"


def _differing(
    baseline: Mapping[str, str], current: Mapping[str, str]
) -> tuple[FieldDifference, ...]:
    if baseline == current:
        return ()
    return tuple(
        FieldDifference(field=name, baseline=baseline.get(name), current=current.get(name))
        for name in sorted(baseline.keys() | current.keys())
        if baseline.get(name) != current.get(name)
    )
