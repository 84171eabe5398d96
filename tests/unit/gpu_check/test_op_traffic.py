"""What a run file must say of the op before its fix and after, and that nothing else will do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gpu.findings import Outcome
from gpu.op_traffic import judge_corrected, judge_pre_fix

from harness.devices.registry import choose_devices
from harness.model.outcome import Evidence
from harness.session.catalogue import select
from harness.session.conduct import Request, conduct
from harness.session.verify import Settings

WORKLOADS = "reference_impl.workloads.softmax_cross_entropy"


def a_run(name: str):
    return conduct(
        Request(
            selections=select([f"{WORKLOADS}:{name}/64x10-float32"]),
            devices=choose_devices("simulated"),
            settings=Settings(benchmark=False),
            command="harness run",
        ),
        progress=lambda *_: None,
    )


@pytest.fixture(scope="module")
def pre_fix():
    return a_run("PRE_FIX")


@pytest.fixture(scope="module")
def corrected():
    return a_run("WORKLOAD")


def differing(found):
    return [finding.about for finding in found() if finding.outcome is Outcome.DIFFERS]


def test_the_op_before_its_fix_is_caught_for_the_reason_there_is(pre_fix, note, found):
    judge_pre_fix(1, pre_fix, note, evidence=Evidence.SIMULATED)
    assert {finding.outcome for finding in found()} == {Outcome.CONFIRMED}
    assert any("1 D2H of 4 B, 0 H2D, 1 sync in forward" in finding.seen for finding in found())


def test_weaker_evidence_than_asked_for_differs(pre_fix, note, found):
    judge_pre_fix(1, pre_fix, note, evidence=Evidence.PROVEN)
    assert differing(found) == ["pre_fix_softmax_cross_entropy/64x10-float32"]


def test_a_pre_fix_op_that_passes_differs(corrected, note, found):
    judge_pre_fix(0, corrected, note, evidence=Evidence.SIMULATED)
    assert "exit status" in differing(found)
    assert "softmax_cross_entropy/64x10-float32" in differing(found)


def test_a_second_read_differs(pre_fix, note, found):
    (verdict,) = pre_fix.verdicts
    assert verdict.traffic is not None
    regions = dict(verdict.traffic.regions)
    regions["forward"] = replace(regions["forward"], d2h=2, d2h_bytes=8)
    traffic = replace(verdict.traffic, regions=regions)
    run = replace(pre_fix, verdicts=(replace(verdict, traffic=traffic),))
    judge_pre_fix(1, run, note, evidence=Evidence.SIMULATED)
    assert differing(found) == ["pre_fix_softmax_cross_entropy/64x10-float32"]


def test_the_corrected_op_is_confirmed(corrected, note, found):
    judge_corrected(corrected, note, evidence=Evidence.SIMULATED)
    assert {finding.outcome for finding in found()} == {Outcome.CONFIRMED}


def test_a_corrected_op_that_reads_differs(pre_fix, note, found):
    judge_corrected(pre_fix, note, evidence=Evidence.SIMULATED)
    assert len(differing(found)) == 2


def test_a_case_nobody_watched_is_not_tried(corrected, note, found):
    (verdict,) = corrected.verdicts
    run = replace(corrected, verdicts=(replace(verdict, traffic=None),))
    judge_corrected(run, note, evidence=Evidence.SIMULATED)
    assert [finding.outcome for finding in found()] == [Outcome.NOT_TRIED]
