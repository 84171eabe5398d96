"""A run that was held against a baseline says where that was taken."""

from __future__ import annotations

from dataclasses import replace

from builders import a_run, a_verdict, an_environment

from harness.baseline.promise import promised_by
from harness.session.record import Plan, PlannedWorkload, Record, Terms


def test_the_environment_of_the_baseline_is_kept_beside_that_of_the_run() -> None:
    verdict = a_verdict()
    elsewhere = replace(an_environment(), hard={"cpu.model": "Z80"})
    baseline = promised_by(a_run(verdict, environment=elsewhere), "main")
    record = Record(lambda case, number, count: None)
    record.plan = Plan(
        environment=an_environment(),
        workloads=(PlannedWorkload(name=verdict.workload, cases=(verdict.case,), whole=True),),
        traffic_device="simulated",
        timing_device="cpu",
    )
    record.found(verdict)
    held = record.run(Terms(command="harness run", seed=0, baseline=baseline))
    assert held.baseline_environment == elsewhere
    assert record.run(Terms(command="harness run", seed=0)).baseline_environment is None
