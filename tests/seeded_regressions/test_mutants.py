"""Every planted defect is caught by the check meant for it, and by no other; its fixed twin passes them all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from harness.devices.registry import choose_devices
from harness.model.outcome import Outcome
from harness.model.verdict import Verdict
from harness.numerics.compare import compare
from harness.numerics.tolerance import Tolerance
from harness.session.catalogue import Selection
from harness.session.verify import Settings, verify_case
from reference_impl.autograd import Operation
from reference_impl.ops import SingaSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.workloads.softmax_cross_entropy import SoftmaxCrossEntropyWorkload
from reference_impl.workloads.softmax_cross_entropy_recipes import RECIPES
from tests.seeded_regressions.mutants import MUTANTS, Mutant
from tests.seeded_regressions.singa_workload import SingaWorkload
from tests.seeded_regressions.twins import SingaTwin

PLANTED = {
    "MaximumStartsAtZero",
    "NoMaximumSubtracted",
    "ClampMissing",
    "ClampNegative",
    "ClassZeroSkipped",
    "UpstreamGradientDropped",
    "MeanOverAllEntries",
    "GradientNotDivided",
    "FloatLabelsReadAsBits",
    "IdsWheneverOnePerRow",
    "HostScalarRead",
    "LossMadeOnTheHost",
    "SavedProbabilitiesChanged",
    "SynchronizesPerCall",
}

SETTINGS = Settings(repeats=2, benchmark=False)


def mutant_id(mutant: Mutant) -> str:
    return f"{mutant.op.__name__}-{mutant.case}"


def workload_of(op: Callable[..., Operation], mutant: Mutant) -> Any:
    """The real workload, reduced to the case where the mutant shows, with ``op`` plugged in."""
    if mutant.twin is SingaTwin:
        return SingaWorkload(op=op)
    recipes = tuple(recipe for recipe in RECIPES if recipe.name == mutant.case)
    return SoftmaxCrossEntropyWorkload(op=op, recipes=recipes)


def verdict_of(op: Callable[..., Operation], mutant: Mutant) -> Verdict:
    """What a user of the harness is told about ``op``."""
    workload = workload_of(op, mutant)
    selection = Selection(name=workload.name, workload=workload, cases=workload.cases())
    (case,) = selection.cases
    return verify_case(selection, case, devices=choose_devices("simulated"), settings=SETTINGS)


def failed(verdict: Verdict) -> set[str]:
    return {result.check for result in verdict.checks if result.outcome is Outcome.FAILED}


def findings(verdict: Verdict) -> str:
    return "\n".join(
        f"{each.outcome.value} {each.check}: {each.summary}" for each in verdict.checks
    )


def wrong_on_numpy(op: Callable[..., Operation], mutant: Mutant) -> set[str]:
    """The outputs of ``op`` that are out of tolerance when the case is run on plain NumPy."""
    (case,) = workload_of(op, mutant).cases()
    inputs = case.inputs(0)
    outputs, expected = case.run(inputs, lambda region: nullcontext()), case.expected(inputs)
    return {
        name
        for name, output in outputs.items()
        if not compare(
            np.asarray(output),
            expected[name],
            Tolerance.from_plain(case.tolerances[name], output=name),
        ).passed
    }


def test_every_defect_named_by_the_ticket_is_planted() -> None:
    assert {mutant.op.__name__ for mutant in MUTANTS} == PLANTED


@pytest.mark.parametrize("mutant", MUTANTS, ids=mutant_id)
def test_a_mutant_replaces_exactly_one_step_of_its_twin(mutant: Mutant) -> None:
    replaced = [name for name in vars(mutant.op) if callable(vars(mutant.op)[name])]
    assert len(replaced) == 1
    assert hasattr(mutant.twin, replaced[0])


@pytest.mark.parametrize("mutant", MUTANTS, ids=mutant_id)
def test_a_mutant_of_the_numbers_is_out_of_tolerance_and_its_twin_is_not(mutant: Mutant) -> None:
    assert wrong_on_numpy(mutant.twin, mutant) == set()
    assert bool(wrong_on_numpy(mutant.op, mutant)) == ("values" in mutant.failing)


@pytest.mark.parametrize("mutant", MUTANTS, ids=mutant_id)
def test_a_mutant_fails_the_check_meant_for_it_and_no_other(mutant: Mutant) -> None:
    verdict = verdict_of(mutant.op, mutant)
    assert verdict.outcome is Outcome.FAILED
    assert failed(verdict) == mutant.failing, findings(verdict)


@pytest.mark.parametrize("mutant", MUTANTS, ids=mutant_id)
def test_its_fixed_twin_passes_every_check(mutant: Mutant) -> None:
    verdict = verdict_of(mutant.twin, mutant)
    assert verdict.outcome is Outcome.PASSED, findings(verdict)
    assert mutant.failing <= {result.check for result in verdict.checks}


@pytest.mark.parametrize("mutant", MUTANTS, ids=mutant_id)
def test_the_op_of_this_package_passes_every_check_that_catches_a_mutant(mutant: Mutant) -> None:
    fixed = SingaSoftMaxCrossEntropy if mutant.twin is SingaTwin else SoftMaxCrossEntropy
    verdict = verdict_of(fixed, mutant)
    assert verdict.outcome is Outcome.PASSED, findings(verdict)
