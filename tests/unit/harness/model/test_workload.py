"""Protocols: any package's op can be put under test without importing the harness."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.model.workload import Case, Region, Workload


class PlainCase:
    """Everything the protocol asks for, nothing of the harness."""

    name = "tiny"
    parameters: Mapping[str, str] = {}
    timed = False
    throughput = ("samples", 1.0, 8)
    budget: Mapping[str, Mapping[str, object]] = {}
    tolerances: Mapping[str, Mapping[str, object]] = {}
    gradients: Mapping[str, str] = {}
    loss = None

    def inputs(self, seed: int) -> Mapping[str, Any]:
        return {"x": seed}

    def run(self, inputs: Mapping[str, Any], region: Region) -> Mapping[str, Any]:
        return inputs

    def expected(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return inputs


class PlainWorkload:
    name = "tiny"
    summary = "does nothing"

    def cases(self) -> Sequence[Case]:
        return [PlainCase()]


def test_a_plain_class_is_a_workload_and_its_cases_are_cases() -> None:
    workload = PlainWorkload()
    assert isinstance(workload, Workload)
    assert all(isinstance(case, Case) for case in workload.cases())


def test_a_class_that_lacks_a_member_is_not() -> None:
    class NoOracle(PlainCase):
        expected = None  # type: ignore[assignment]  # a protocol member set to None is absent

    assert not isinstance(NoOracle(), Case)
    assert not isinstance(PlainCase(), Workload)
