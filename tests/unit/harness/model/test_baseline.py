"""Baselines: what a case promises when nothing is said."""

from harness.model.baseline import LATEST_KEPT, SCHEMA_VERSION, Baseline, BaselineCase
from harness.model.environment import Environment


def test_a_case_promises_only_what_it_is_given():
    case = BaselineCase(
        key="mlp/seed0", parameters={}, traffic_device="", timing_device="", traffic={}
    )
    assert (case.speeds, case.evidence, case.margin, case.throughput) == ((), None, None, None)


def test_a_baseline_is_of_todays_version_and_keeps_a_bounded_history():
    baseline = Baseline(name="main", created="", environment=Environment(hard={}), cases=())
    assert baseline.schema_version == SCHEMA_VERSION == 2
    assert LATEST_KEPT == 10
