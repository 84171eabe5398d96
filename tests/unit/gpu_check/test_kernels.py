"""Kernels that are wrong, silent or late are found out, and every plan is tried on both of its borders."""

from __future__ import annotations

import numpy as np
import pytest
from gpu.findings import Outcome
from gpu.kernel_cases import DTYPES, borders, cases
from gpu.kernels import run_kernels

from reference_impl.kernels.planner import DeviceLimits, plan_rows

HOPPER = DeviceLimits(compute_capability=(9, 0), shared_memory_bytes=232448, l2_bytes=50 << 20)
TURING = DeviceLimits(compute_capability=(7, 5), shared_memory_bytes=65536, l2_bytes=4 << 20)


def kernel(dtype, classes, limits):
    return plan_rows(dtype=dtype, rows=5, classes=classes, limits=limits).kernel


@pytest.mark.parametrize("limits", [HOPPER, TURING], ids=["sm_90", "sm_75"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_border_is_the_last_row_of_its_plan(dtype, limits):
    found = list(borders(dtype, limits))
    assert [kernel(dtype, classes, limits) for classes, _ in found] == [name for _, name in found]
    for classes, name in found:
        assert kernel(dtype, classes + 1, limits) != name


@pytest.mark.parametrize("limits", [HOPPER, TURING], ids=["sm_90", "sm_75"])
def test_every_plan_up_to_a_thousand_classes_has_its_border(limits):
    plans = {kernel("float32", classes, limits) for classes in range(1, 1001)}
    assert plans <= {name for _, name in borders("float32", limits)}


def test_all_dtypes_and_plans_are_among_the_cases():
    every = list(cases(HOPPER, small=False))
    assert {case.dtype for case in every} == set(DTYPES)
    assert any("read_twice" in kernel(case.dtype, case.shape[1], HOPPER) for case in every)
    assert any("cluster" in case.plan for case in every)
    assert any(case.bad_labels for case in every)
    assert len({(case.dtype, case.name) for case in every}) == len(every)


FEW = [
    case
    for case in cases(HOPPER, small=True)
    if case.bad_labels or case.name in ("5x16", "mean, ignore_index None", "sum, ignore_index 2")
]
"""Enough for a defect to show in."""


def differing(found):
    return {finding.about for finding in found() if finding.outcome is Outcome.DIFFERS}


def spoilt(bench, spoil):
    """The stand-in for the kernels, with ``spoil`` run after each launch."""
    real = bench.kernels.forward_backward

    def launch(logits, labels, **options):
        real(logits, labels, **options)
        spoil(options)

    bench.kernels.forward_backward = launch


def test_a_gradient_that_is_off_by_a_thousandth_differs(bench, note, found):
    def spoil(options):
        if options.get("gradient_out") is not None:
            options["gradient_out"][...] *= 1.001

    spoilt(bench, spoil)
    run_kernels(bench, note, FEW)
    assert "5x16" in differing(found)
    assert any("beyond tolerance" in f.seen for f in found() if f.outcome is Outcome.DIFFERS)


def test_a_loss_of_nan_differs(bench, note, found):
    spoilt(bench, lambda options: options["loss_out"].fill(np.nan))
    run_kernels(bench, note, FEW)
    assert "mean, ignore_index None" in differing(found)


def test_a_bad_label_that_is_not_told_differs(bench, note, found):
    spoilt(bench, lambda options: options["workspace"].complaint.fill(0))
    run_kernels(bench, note, FEW)
    assert differing(found) == {
        "bad label 10 as int64",
        "bad label -1 as int64",
        "bad label 4294967297 as int64",
        "bad label 2147483647 as int32",
    }


def test_a_launch_that_reads_back_differs(bench, note, found):
    spoilt(bench, lambda options: options["loss_out"].get())
    run_kernels(bench, note, FEW)
    assert differing(found) == {"forward and backward"}


def test_a_mean_of_other_bits_each_time_differs(bench, note, found):
    numbers = iter(range(10_000))

    def spoil(options):
        if options["loss_out"].size == 1:
            options["loss_out"][...] *= 1 + next(numbers) * 2e-7

    spoilt(bench, spoil)
    run_kernels(bench, note, FEW)
    assert "losses of 8 equal launches" in differing(found)


def test_a_case_that_raises_does_not_keep_the_others_from_being_run(bench, note, found):
    def spoil(options):
        if options.get("reduction") == "sum":
            raise RuntimeError("no room")

    spoilt(bench, spoil)
    run_kernels(bench, note, FEW)
    untried = {finding.about for finding in found() if finding.outcome is Outcome.NOT_TRIED}
    assert untried == {"sum, ignore_index 2"}
    assert not differing(found)
