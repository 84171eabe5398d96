"""Baselines: a run turned into a promise."""

from builders import a_record, a_run, a_sample, a_verdict

from harness.model.baseline import SCHEMA_VERSION, Baseline
from harness.model.measurement import Throughput


def test_a_baseline_keeps_what_the_run_showed() -> None:
    record, sample = a_record(), a_sample()
    throughput = Throughput(unit="samples", units_per_call=4096, bytes_per_call=2**24)
    run = a_run(a_verdict(traffic=record, sample=sample, throughput=throughput))
    baseline = Baseline.of_run(run, "main")
    (case,) = baseline.cases
    assert (baseline.name, baseline.created) == ("main", run.created)
    assert baseline.environment is run.environment
    assert baseline.schema_version == SCHEMA_VERSION
    assert case.key == run.verdicts[0].key
    assert case.traffic == record.regions
    assert (case.sample, case.throughput) == (sample, throughput)
    assert (case.traffic_device, case.timing_device) == ("simulated", "cpu")


def test_a_case_that_was_not_watched_promises_no_traffic() -> None:
    (case,) = Baseline.of_run(a_run(a_verdict()), "main").cases
    assert case.traffic == {}
    assert case.sample is None
