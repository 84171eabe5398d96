"""What the traffic of a case comes to: its watched calls against its budget, and what a second view of it adds."""

from __future__ import annotations

from dataclasses import replace

from harness.checks.traffic import check_traffic
from harness.devices.base import Device
from harness.model.budget import Budget
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.session.observe import Observation

__all__ = ["FIRST_CALL", "judge_traffic", "with_second_view"]

FIRST_CALL = "first call"
"""How a detail begins that tells of a cold call over its budget: no failure, but worth a word."""

_STEPS = {
    "nothing ran on the device": "run the op under test inside that region, on the arrays it is given",
    "region ": "enter it in run(): with region(NAME): around the op under test",
    "the budget has no limit": "give the budget a limit, such as no copy to the host",
    "counts differ": "let every call with the same inputs do the same",
}
"""What the code under test is the cause of, by how it begins; the machine, and so `harness doctor`, is not."""


def judge_traffic(
    seen: Observation, budget: Budget, control: CheckResult | None, device: Device
) -> CheckResult:
    """Hold the warm calls against the budget; a first call that is beyond it is a detail.

    ``control`` is the device's positive control. Inconclusive without a probe, and where the code under test is the
    cause of that, the next step says what to change in it.
    """
    result = _judged(seen, budget, control, device)
    if result.outcome is not Outcome.INCONCLUSIVE:
        return result
    steps = [step for start, step in _STEPS.items() if result.summary.startswith(start)]
    return replace(result, next_step=steps[0]) if steps else result


def _judged(
    seen: Observation, budget: Budget, control: CheckResult | None, device: Device
) -> CheckResult:
    result = check_traffic(seen.warm, budget, control=control)
    if device.probe is None or seen.cold is None:
        return replace(
            result,
            summary=f"{device.name} has no host/device boundary, so nothing can be said about traffic",
            evidence=f"no probe on {device.name}",
            next_step="use --device auto, which watches traffic on a simulated device and times on the CPU",
        )
    if result.outcome is Outcome.PASSED and seen.cold.doubts:
        # What was asked once, such as hasattr(xp, ...), may be remembered and decide every later call.
        doubtful = [replace(trace, doubts=seen.cold.doubts) for trace in seen.warm]
        result = check_traffic(doubtful, budget, control=control)
    first = check_traffic([seen.cold], budget, control=control)
    if not first.violations or first.summary == result.summary:  # the warm calls say as much
        return result
    return replace(result, details=(*result.details, f"{FIRST_CALL}: {first.summary}"))


def with_second_view(traffic: CheckResult, second: CheckResult | None) -> list[CheckResult]:
    """A view that had nothing to say is a detail of the first; it neither adds to the verdict nor takes from it."""
    if second is None:
        return [traffic]
    if second.outcome is Outcome.SKIPPED:
        detail = f"no second witness: {second.summary}"
        return [replace(traffic, details=(*traffic.details, detail))]
    return [traffic, second]
