"""A case and its frozen peer are timed on equal terms."""

from __future__ import annotations

from toy_workload import ToyCase, square_sum

from harness.devices.registry import choose_devices
from harness.session.declared import declared_by
from harness.session.timing import time_case


def test_a_case_and_its_peer_are_timed_on_the_same_arrays() -> None:
    """Where a copy lies is worth more than the margin, and one process keeps it."""
    given: dict[str, set[int]] = {"case": set(), "peer": set()}

    def noting(side: str):
        def run(inputs, region):
            given[side].add(id(inputs["x"]))
            return square_sum(inputs, region)

        return run

    case = ToyCase(timed=True, calls=noting("case"))
    object.__setattr__(case, "peer", noting("peer"))
    device = choose_devices("cpu").timing
    assert device is not None
    inputs = case.inputs(0)
    timing = time_case(
        case, declared_by(case), inputs, case.expected(inputs), device, seconds=0.01, seed=0
    )
    assert timing.conditions == ()
    assert len(given["case"]) == 1
    assert given["case"] <= given["peer"]
