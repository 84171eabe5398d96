"""What must agree before a run is compared with a baseline, and what to say when it does not."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.baseline import BaselineCase
from harness.model.environment import Environment, FieldDifference

__all__ = ["case_differences", "difference_text", "differences", "soft_differences"]


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


def difference_text(difference: FieldDifference) -> str:
    """``cpu.cores: 2 in the baseline, 4 now``."""
    then = "absent" if difference.baseline is None else difference.baseline
    now = "absent" if difference.current is None else difference.current
    return f"{difference.field}: {then} in the baseline, {now} now"


def _differing(
    baseline: Mapping[str, str], current: Mapping[str, str]
) -> tuple[FieldDifference, ...]:
    return tuple(
        FieldDifference(field=name, baseline=baseline.get(name), current=current.get(name))
        for name in sorted(baseline.keys() | current.keys())
        if baseline.get(name) != current.get(name)
    )
