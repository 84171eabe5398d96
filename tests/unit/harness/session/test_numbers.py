"""Agreement that proves nothing is not passed, and its next step is the one that helps."""

import numpy as np
import pytest
from toy_workload import ToyCase

from harness.devices.registry import choose_devices
from harness.model.outcome import Outcome
from harness.session.declared import declared_by
from harness.session.numbers import judge_values
from harness.session.observe import Observation


@pytest.mark.parametrize(
    ("value", "tolerance", "summary", "step"),
    [
        (1.0, 1e30, "all zeros would be within the tolerance too", "tolerance smaller than"),
        (np.nan, 1e-6, "no output holds a finite number", "give finite inputs"),
        (1.0, 1e-6, "0.00 of the allowed error", ""),
        (0.0, 1e30, "0.00 of the allowed error", ""),
    ],
)
def test_agreement_that_proves_nothing_is_inconclusive(value, tolerance, summary, step):
    case = ToyCase()
    object.__setattr__(
        case,
        "tolerances",
        {"y": {"absolute": tolerance, "relative": 0.0, "because": "as declared"}},
    )
    outputs = {"y": np.full(3, value)}
    seen = Observation(calls=1, results=(outputs,), strays=(), overwritten=(), cold=None, warm=())
    device = choose_devices("cpu").timing
    check = judge_values(declared_by(case), seen, outputs, device=device).check
    assert summary in check.summary
    assert step in check.next_step
    assert check.outcome is (Outcome.INCONCLUSIVE if step else Outcome.PASSED)
