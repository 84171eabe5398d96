"""What a case declares beside what it must: the margin of its speed."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from toy_workload import Toy, ToyCase, verdict_of

from harness.errors import WorkloadError
from harness.session.declared import declared_by


@dataclass(frozen=True, kw_only=True)
class Margined(ToyCase):
    margin: Any = None


@pytest.mark.parametrize(
    ("margin", "read"),
    [(None, None), (0.02, 0.02), (np.float32(0.5), 0.5), (np.float64(0.25), 0.25)],
)
def test_a_margin_is_read_where_one_is_declared(margin, read):
    assert declared_by(Margined(margin=margin)).margin == read
    assert declared_by(ToyCase()).margin is None


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1, 5, True, "2%", float("nan"), float("inf")])
def test_a_margin_that_is_no_fraction_is_refused_with_what_to_give(margin):
    with pytest.raises(
        WorkloadError, match=r"toy: margin is .*; give the slowdown .* 0\.02 for 2 %"
    ):
        declared_by(Margined(margin=margin))


def test_the_verdict_knows_the_margin_of_its_case():
    assert verdict_of(Toy(case=Margined(margin=0.02))).margin == 0.02
    assert verdict_of(Toy(case=Margined())).margin is None


class Bare:
    """A case by somebody who has only just begun."""

    name = "bare"
    timed = True

    def run(self, inputs: Any, region: Any) -> Any:
        raise NotImplementedError


def test_all_that_a_case_lacks_is_named_at_once():
    with pytest.raises(WorkloadError) as caught:
        declared_by(Bare())
    assert str(caught.value) == (
        "bare has no parameters, budget, tolerances, gradients, loss, inputs, expected, throughput; "
        "harness/model/workload.py says what a case must have"
    )


def test_a_declaration_that_raises_is_not_called_missing():
    class Raising(Bare):
        parameters = MappingProxyType({})

        @property
        def budget(self) -> Any:
            return self.no_such_thing

        tolerances = gradients = loss = inputs = expected = throughput = None

    with pytest.raises(WorkloadError, match=r"raised AttributeError: .*no_such_thing"):
        declared_by(Raising())
