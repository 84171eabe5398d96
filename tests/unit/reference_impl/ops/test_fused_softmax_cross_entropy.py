"""The fused op: the same numbers as its parent in one launch, on the host and on a simulated device."""

import numpy as np
import pytest

from harness.devices.registry import choose_devices
from harness.model.outcome import Outcome
from harness.probes.simulated import SimulatedProbe, namespace
from harness.session.catalogue import Selection
from harness.session.verify import Settings, verify_case
from reference_impl.autograd import training
from reference_impl.kernels import fused_cpu
from reference_impl.ops import FusedSoftMaxCrossEntropy
from reference_impl.tensor import Tensor
from reference_impl.workloads.softmax_cross_entropy import FUSED

pytestmark = pytest.mark.skipif(
    not fused_cpu.is_available(), reason='python -m pip install "ondevice-harness[fast]"'
)

SMALL = [case for case in FUSED.cases() if not case.timed or case.name in ("64x10-float32",)]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_every_case_of_the_workload_passes_on_both_devices(case):
    verdict = verify_case(
        Selection(FUSED.name, FUSED, (case,)),
        case,
        devices=choose_devices("auto"),
        settings=Settings(repeats=2, benchmark=False),
    )
    assert verdict.outcome is Outcome.PASSED, [
        (each.check, each.summary) for each in verdict.checks if each.outcome is not Outcome.PASSED
    ]


def logits_and_ids(xp=np, *, rows=6, classes=5):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(rows, classes)).astype(np.float32)
    return xp.asarray(logits), xp.asarray(np.arange(rows) % classes)


def recorded(op, logits):
    with training():
        (loss,) = op(Tensor(logits))
    return loss.data


def test_forward_and_backward_are_one_launch_each_on_a_device_and_move_nothing():
    logits, ids = logits_and_ids(namespace)
    op = FusedSoftMaxCrossEntropy(ids)
    with SimulatedProbe().record() as recording:
        recorded(op, logits)
        op.backward(1.0)
    trace = recording.trace()
    assert [kernel.api for kernel in trace.kernels] == [
        "softmax_cross_entropy_fused",
        "scale_gradient",
    ]
    assert (trace.counts().d2h, trace.counts().h2d, trace.counts().syncs) == (0, 0, 0)


@pytest.mark.parametrize("xp", [np, namespace], ids=["host", "simulated"])
def test_a_second_backward_gives_what_the_first_gave_whatever_dy_was(xp):
    logits, ids = logits_and_ids(xp)
    op = FusedSoftMaxCrossEntropy(ids)
    recorded(op, logits)
    first, second, third = (op.backward(dy) for dy in (1.0, 2.0, xp.full((), 1.0, dtype="f4")))
    as_host = np.asarray if xp is np else xp.asnumpy
    np.testing.assert_array_equal(as_host(second), 2 * as_host(first))
    np.testing.assert_array_equal(as_host(third), as_host(first))


def test_a_bad_label_raises_on_the_host_and_names_row_and_label():
    logits, ids = logits_and_ids()
    ids[3] = 7
    with pytest.raises(ValueError, match=r"label 7 in row 3 is outside \[0, 5\)"):
        recorded(FusedSoftMaxCrossEntropy(ids), logits)


def test_a_bad_label_on_a_device_poisons_its_row_and_is_told_by_check_without_a_copy():
    logits, ids = logits_and_ids(namespace)
    ids[3] = -2
    op = FusedSoftMaxCrossEntropy(ids)
    with SimulatedProbe().record() as recording:
        loss = recorded(op, logits)
        gradient = op.backward(1.0)
        with pytest.raises(ValueError, match="label -2 in row 3"):
            op.check()
    assert recording.trace().counts().d2h == 0
    assert np.isnan(loss.get())
    assert np.isnan(gradient.get()).all(axis=1).tolist() == [
        False,
        False,
        False,
        True,
        False,
        False,
    ]


def test_the_probabilities_are_those_of_the_softmax():
    logits, ids = logits_and_ids()
    op = FusedSoftMaxCrossEntropy(ids)
    recorded(op, logits)
    exponentials = np.exp(logits.astype(np.float64))
    expected = exponentials / exponentials.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(op.p, expected, rtol=1e-6)


def test_the_logits_are_left_alone():
    logits, ids = logits_and_ids()
    before = logits.copy()
    op = FusedSoftMaxCrossEntropy(ids)
    recorded(op, logits)
    op.backward(3.0)
    np.testing.assert_array_equal(logits, before)


@pytest.mark.parametrize(
    "options", [{"weight": np.ones(5, np.float32)}, {"label_smoothing": 0.1}], ids=str
)
def test_what_no_kernel_is_written_for_goes_the_plain_way(options):
    logits, ids = logits_and_ids()
    op = FusedSoftMaxCrossEntropy(ids, **options)
    assert recorded(op, logits).shape == ()
    assert op.backward(1.0).shape == logits.shape
