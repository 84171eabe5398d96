"""Ten losses of 1 %, each promised in turn: no step of them is a regression, and the anchor finds them all the same."""

from __future__ import annotations

import pytest
from builders import a_run, a_verdict

from harness.baseline.diff import compare_run
from harness.baseline.promise import promised_by
from harness.baseline.succession import succeeded
from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.model.baseline import Baseline
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run
from harness.timers.simulated import SimulatedClock

_PEER_NS = 800_000.0


def _a_run(call_ns: float, *, seed: int) -> Run:
    """A run of one case on the simulated clock, on a machine in its own mood."""
    mood = 1.0 + 0.3 * (seed % 3)
    clock = SimulatedClock(seed=seed, noise=0.01, drift=0.02, layout_noise=0.01)
    sample = measure(
        clock.operation(call_ns * mood),
        clock.operation(_PEER_NS * mood),
        timer=clock,
        seed=seed,
        rule=StoppingRule(time_cap_ns=4e8),
        change_layout=clock.change_layout,
    )
    run = a_run(a_verdict(sample=sample))
    return Run(
        **{field: getattr(run, field) for field in run.__dataclass_fields__}
        | {"created": f"2026-01-{seed + 1:02}T12:00:00+00:00"}
    )


def _throughput(run: Run, baseline: Baseline) -> CheckResult:
    ((*_, result),) = compare_run(run, baseline).cases.values()
    return result


@pytest.mark.parametrize("loss", [0.01, 0.0])
def test_ten_losses_of_one_percent_are_found_by_the_anchor_and_ten_of_none_are_not(
    loss: float,
) -> None:
    runs = [_a_run(1e6 * (1 + loss) ** step, seed=step) for step in range(11)]
    baseline, failed_at = promised_by(runs[0], "main"), []
    for step, run in enumerate(runs[1:], start=1):
        alone = _throughput(run, promised_by(runs[step - 1], "main"))
        assert alone.outcome is Outcome.PASSED  # step by step there is nothing to see
        result = _throughput(run, baseline)
        if result.outcome is Outcome.FAILED:
            assert "of the anchor of baseline 'main'" in result.summary
            failed_at.append(step)
        baseline = succeeded(baseline, promised_by(run, "main"), doubts={}).baseline
    if loss:
        assert 10 in failed_at
        assert min(failed_at) > 5  # 5 % is allowed
    else:
        assert failed_at == []
