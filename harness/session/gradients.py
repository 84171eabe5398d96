"""Do the gradients belong to the loss: finite differences of the oracle's loss along random directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.errors import WorkloadError
from harness.model.outcome import Outcome, worst
from harness.model.verdict import CheckResult
from harness.model.workload import Case
from harness.numerics import gradcheck
from harness.session.declared import Declared
from harness.session.foreign import foreign
from harness.session.observe import HostArrays

__all__ = ["check_gradients"]


def check_gradients(
    case: Case,
    declared: Declared,
    inputs: HostArrays,
    outputs: HostArrays,
    *,
    seed: int,
    device: str,
) -> CheckResult | None:
    """Compare each declared gradient with the oracle's loss; ``None`` when the case declares none."""
    loss_name = declared.loss
    if not declared.gradients or loss_name is None:
        return None
    for wanted, held in (*declared.gradients.items(), ("loss", loss_name)):
        if held not in outputs:
            raise WorkloadError(
                f"{case.name}: run() returned no output {held!r}, declared for {wanted!r}"
            )

    def loss(moved: Mapping[str, Any]) -> float:
        with foreign(f"the oracle of {case.name}"):
            return float(np.asarray(case.expected(moved)[loss_name]))

    checks = gradcheck.check_gradients(
        loss,
        inputs,
        {name: outputs[held] for name, held in declared.gradients.items()},
        tolerances={name: declared.tolerance(held) for name, held in declared.gradients.items()},
        seed=seed,
    )
    outcome = worst(check.outcome for check in checks)
    return CheckResult(
        check="gradients",
        outcome=outcome,
        summary="; ".join(map(gradcheck.gradient_text, checks)),
        evidence=f"finite differences of the float64 oracle, device {device}",
        next_step=""
        if outcome in (Outcome.PASSED, Outcome.SKIPPED)
        else "compare backward() with the derivative of forward(): a factor, a sign, or dy left out",
    )
