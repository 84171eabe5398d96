"""A verdict carries the map of every output that was compared, of the call and the device that came out worst."""

from dataclasses import replace

import numpy as np
import pytest
from toy_workload import QUICK, Toy, ToyCase, square_sum, square_sum_truth, verdict_of

from harness.devices.cpu import CpuDevice
from harness.devices.simulated import SimulatedDevice
from harness.model.outcome import Outcome
from harness.session import numbers
from harness.session.declared import declared_by
from harness.session.isolation.messages import Found, Inbox, encoded
from harness.session.numbers import error_maps, judge_values
from harness.session.observe import observe


def spoilt(at, value):
    def call(inputs, region):
        outputs = square_sum(inputs, region)
        gradient = outputs["gradient"].copy()
        gradient[at] = value
        return {**outputs, "gradient": gradient}

    return call


def test_a_right_op_has_a_map_of_each_output_with_nothing_wrong():
    verdict = verdict_of()
    assert [each.output for each in verdict.errors] == ["loss", "gradient"]
    assert [each.wrong for each in verdict.errors] == [0, 0]
    assert [each.shape for each in verdict.errors] == [(), (64,)]


@pytest.mark.parametrize("value", [9.0, float("nan"), float("inf")])
def test_a_wrong_entry_is_in_the_map_of_a_failed_check(value):
    verdict = verdict_of(calls=spoilt(17, value))
    loss, gradient = verdict.errors
    assert verdict.outcome is Outcome.FAILED
    assert (loss.wrong, gradient.wrong, gradient.worst_index) == (0, 1, (17,))
    assert gradient.not_finite == (0 if value == 9.0 else 1)


def test_a_map_survives_the_way_from_the_process_it_was_made_in():
    verdict = verdict_of(calls=spoilt(3, float("nan")))
    (message,) = Inbox().feed(encoded(Found(verdict)))
    there = message.verdict.errors[1]
    here = verdict.errors[1]
    assert np.array_equal(there.grid, here.grid, equal_nan=True)
    assert replace(there, grid=(), quantiles=(), worst=0.0, got=0.0) == replace(
        here, grid=(), quantiles=(), worst=0.0, got=0.0
    )


def test_what_could_not_be_compared_has_no_map():
    assert verdict_of(truth=lambda inputs: {}).errors == ()
    wrong_shape = verdict_of(
        truth=lambda inputs: {**square_sum_truth(inputs), "gradient": np.zeros(3)}
    )
    assert [each.output for each in wrong_shape.errors] == ["loss"]


def test_of_two_devices_the_worse_is_kept_and_the_same_bits_cost_one_map(monkeypatch):
    made = []
    original = numbers.error_map

    def counted(*arrays, **named):
        made.append(named["output"])
        return original(*arrays, **named)

    monkeypatch.setattr(numbers, "error_map", counted)
    right, wrong = ToyCase(), ToyCase(calls=spoilt(5, 1.0))
    declared, inputs = declared_by(right), right.inputs(0)
    expected = square_sum_truth(inputs)
    known = ()
    for case, device in ((right, SimulatedDevice()), (right, CpuDevice()), (wrong, CpuDevice())):
        seen = observe(case, inputs, device, repeats=1)
        values = judge_values(declared, seen, expected, device=device)
        known = error_maps(declared, values, expected, known=known)
    assert made == ["loss", "gradient", "gradient"]
    assert [each.wrong for each in known] == [0, 1]


def test_of_calls_that_differ_the_worst_is_mapped():
    calls = iter(range(100))

    def growing(inputs, region):
        outputs = square_sum(inputs, region)
        return {**outputs, "loss": outputs["loss"] + float(next(calls) == 1)}

    verdict = verdict_of(Toy(case=ToyCase(calls=growing)), settings=QUICK)
    assert verdict.errors[0].wrong == 1
