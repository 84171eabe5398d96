from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy_workload import (
    QUICK,
    Toy,
    ToyCase,
    result_of,
    square_sum,
    square_sum_truth,
    verdict_of,
)

from harness.errors import UsageError
from harness.model.outcome import Outcome
from harness.session.verify import Settings

PASSED, INCONCLUSIVE, FAILED = Outcome.PASSED, Outcome.INCONCLUSIVE, Outcome.FAILED


def outcomes(verdict):
    return {result.check: result.outcome for result in verdict.checks}


def reads(inputs, region):
    with region("forward"):
        float(inputs["x"].sum())
    return square_sum(inputs, region)


def changed(**outputs):
    """The toy with some of its outputs replaced by what a function makes of them."""

    def call(inputs, region):
        right = square_sum(inputs, region)
        return {**right, **{name: change(right[name]) for name, change in outputs.items()}}

    return call


def test_a_right_op_passes_every_check():
    verdict = verdict_of()
    assert verdict.outcome is PASSED
    assert set(outcomes(verdict)) == {
        "positive control",
        "traffic",
        "placement",
        "values",
        "inputs",
        "gradients",
    }


def test_a_read_in_the_region_fails_traffic_and_nothing_else():
    verdict = verdict_of(calls=reads)
    assert {name for name, outcome in outcomes(verdict).items() if outcome is FAILED} == {"traffic"}
    (site,) = {
        line.site for each in result_of(verdict, "traffic").violations for line in each.lines
    }
    assert (site.file, site.function) == (__file__, "reads")


def test_a_wrong_value_fails_values():
    verdict = verdict_of(calls=changed(loss=lambda loss: loss * 2))
    assert result_of(verdict, "values").outcome is FAILED


def test_a_wrong_factor_that_the_oracle_shares_fails_the_gradient_check():
    def shared_mistake(inputs):
        x = np.asarray(inputs["x"], dtype=np.float64)
        return {"loss": np.asarray((x * x).sum()), "gradient": x}

    verdict = verdict_of(calls=changed(gradient=lambda g: g * 0.5), truth=shared_mistake)
    assert result_of(verdict, "values").outcome is PASSED
    assert result_of(verdict, "gradients").outcome is FAILED


def test_a_loss_made_on_the_host_fails_placement_and_is_still_compared():
    verdict = verdict_of(calls=changed(loss=lambda loss: np.asarray(loss.get())))
    assert result_of(verdict, "placement").outcome is FAILED
    assert result_of(verdict, "values").outcome is PASSED


def test_an_overwritten_input_fails_inputs():
    def overwrite(inputs, region):
        outputs = square_sum(inputs, region)
        inputs["x"] *= 1.5
        return outputs

    assert result_of(verdict_of(calls=overwrite), "inputs").outcome is FAILED


def test_an_input_that_holds_nan_counts_as_unchanged():
    def with_nan(seed):
        return {"x": np.array([np.nan, 1.0], dtype=np.float32)}

    verdict = verdict_of(made=with_nan, gradients={}, loss=None)
    assert result_of(verdict, "inputs").outcome is PASSED


def test_a_missing_output_fails_and_is_named():
    def incomplete(inputs, region):
        outputs = square_sum(inputs, region)
        return {"loss": outputs["loss"]}

    verdict = verdict_of(calls=incomplete, gradients={}, loss=None)
    assert "no output 'gradient'" in result_of(verdict, "values").summary


def test_an_output_nobody_judges_is_inconclusive():
    verdict = verdict_of(calls=lambda i, r: {**square_sum(i, r), "more": i["x"]})
    assert result_of(verdict, "values").outcome is INCONCLUSIVE
    assert "'more'" in result_of(verdict, "values").summary


def test_no_output_and_no_oracle_prove_nothing():
    def nothing(inputs, region):
        square_sum(inputs, region)
        return {}

    verdict = verdict_of(calls=nothing, truth=lambda inputs: {}, gradients={}, loss=None)
    assert result_of(verdict, "placement").outcome is INCONCLUSIVE
    assert result_of(verdict, "values").outcome is INCONCLUSIVE


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"calls": lambda inputs, region: 3}, "run() returned int"),
        ({"calls": lambda inputs, region: {1: inputs["x"]}}, "run() returned dict"),
        ({"truth": lambda inputs: [1]}, "expected() returned list"),
        ({"made": lambda seed: [1]}, "inputs() returned list"),
        ({"made": lambda seed: {"x": [1.0]}}, "input 'x' is list"),
        ({"budget": {"forward": 0}}, "budget of region 'forward' is 0"),
        ({"tolerances": {}}, "tolerances has no entry for output 'loss'"),
        ({"loss": None}, "gradients are declared but loss is None"),
        ({"gradients": {"x": "dx"}}, "no output 'dx', declared for 'x'"),
        ({"throughput": ("elements", 0, 1), "timed": True}, "throughput is ('elements', 0, 1)"),
    ],
)
def test_a_broken_declaration_fails_with_one_line_that_names_it(changes, says):
    settings = replace(QUICK, benchmark=True)
    verdict = verdict_of(device="auto", settings=settings, **changes)
    result = result_of(verdict, "run")
    assert result.outcome is FAILED
    assert says in result.summary
    assert "\n" not in result.summary


def test_an_exception_becomes_one_line_with_its_origin_and_is_handed_on():
    def raises(inputs, region):
        raise KeyError("no such\nthing")

    told = []
    verdict = verdict_of(calls=raises, on_fault=told.append)
    summary = result_of(verdict, "run").summary
    assert "toy on simulated raised KeyError" in summary
    assert f"{Path(__file__).name}:" in summary
    assert "\n" not in summary
    assert isinstance(told[0].__cause__, KeyError)


def test_what_was_found_before_an_exception_is_kept():
    def raises(inputs):
        if inputs["x"].dtype == np.float64:
            raise ValueError("only float32")
        return {"loss": np.float64(1), "gradient": np.zeros(64)}

    verdict = verdict_of(truth=raises)
    assert result_of(verdict, "traffic").outcome is PASSED
    assert result_of(verdict, "run").outcome is FAILED


@pytest.mark.parametrize("error", [NotImplementedError("unwrap"), MemoryError("2 TB")])
def test_what_the_machine_cannot_do_is_inconclusive_not_failed(error):
    def raises(inputs, region):
        raise error

    assert result_of(verdict_of(calls=raises), "run").outcome is INCONCLUSIVE


def test_an_interrupt_is_nobodys_finding():
    def stops(inputs, region):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict_of(calls=stops)


def test_the_first_call_is_recorded_apart():
    reads_left = [1]

    def reads_once(inputs, region):
        outputs = square_sum(inputs, region)
        if reads_left:
            reads_left.pop()
            float(outputs["loss"])
        return outputs

    verdict = verdict_of(calls=reads_once)
    assert verdict.outcome is PASSED
    assert verdict.traffic.first_call["run"].d2h == 1
    assert verdict.traffic.regions["run"].d2h == 0


def test_counts_that_change_from_call_to_call_are_inconclusive():
    calls = []

    def sometimes(inputs, region):
        calls.append(1)
        if len(calls) == 3:
            float(inputs["x"].sum())
        return square_sum(inputs, region)

    assert result_of(verdict_of(calls=sometimes), "traffic").outcome is INCONCLUSIVE


def test_the_cpu_is_judged_by_value_and_inconclusive_about_traffic():
    verdict = verdict_of(device="cpu")
    assert result_of(verdict, "values").outcome is PASSED
    assert result_of(verdict, "traffic").outcome is INCONCLUSIVE
    assert "no host/device boundary" in result_of(verdict, "traffic").summary


def test_auto_judges_values_on_both_devices_and_times_on_the_cpu():
    settings = Settings(repeats=2, seconds_per_case=0.05)
    verdict = verdict_of(device="auto", settings=settings, timed=True)
    assert [each.evidence for each in verdict.checks if each.check == "values"] == [
        "float64 oracle, device simulated",
        "float64 oracle, device cpu",
    ]
    assert verdict.timing_device == "cpu"
    assert verdict.call_time.low <= verdict.call_time.value <= verdict.call_time.high
    assert verdict.throughput.unit == "elements"


def test_a_simulated_device_is_not_timed():
    settings = Settings(repeats=2, seconds_per_case=0.05)
    assert verdict_of(settings=settings, timed=True).sample is None


def test_the_peer_is_timed_in_the_same_rounds():
    class WithPeer(ToyCase):
        def peer(self, inputs, region):
            return square_sum(inputs, region)

    settings = Settings(repeats=2, seconds_per_case=0.05)
    verdict = verdict_of(Toy(case=WithPeer(timed=True)), device="auto", settings=settings)
    assert len(verdict.sample.peer_ns) == len(verdict.sample.call_ns)


EXPECTS = {"forward": {"d2h": 1, "d2h_bytes": 4, "syncs": 1}}


def with_control(case, expects=EXPECTS):
    return Toy(controls={"bad toy": Toy(case=case, control_expects=expects)})


def test_a_control_that_shows_its_defect_passes_and_is_kept_beside_the_op():
    verdict = verdict_of(with_control(ToyCase(calls=reads)))
    assert verdict.outcome is PASSED
    assert result_of(verdict, "known defect").summary.startswith("bad toy FAILED as expected")
    (record,) = verdict.controls
    assert (record.label, record.regions["forward"].d2h) == ("bad toy", 1)


def test_a_control_that_has_become_good_makes_the_verdict_inconclusive():
    verdict = verdict_of(with_control(ToyCase()))
    assert verdict.outcome is INCONCLUSIVE


def test_a_control_that_raises_makes_the_verdict_inconclusive():
    def raises(inputs, region):
        raise RuntimeError("broken control")

    verdict = verdict_of(with_control(ToyCase(calls=raises)))
    assert "broken control" in result_of(verdict, "known defect").summary
    assert verdict.outcome is INCONCLUSIVE


def test_a_control_without_this_case_is_run_on_its_own():
    verdict = verdict_of(with_control(ToyCase(name="other", calls=reads)))
    assert result_of(verdict, "known defect").outcome is PASSED


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        (Toy(controls=[1]), "controls must map labels to workloads"),
        (Toy(controls={"x": 1}), "controls must map labels to workloads"),
        (with_control(ToyCase(calls=reads), {"forward": {"reads": 1}}), "control_expects must be"),
        (with_control(ToyCase(calls=reads), [1]), "control_expects must be"),
    ],
)
def test_a_broken_control_declaration_is_named(workload, says):
    assert says in result_of(verdict_of(workload), "run").summary


def test_a_refusal_of_the_harness_itself_passes_through_unchanged():
    def refuses(inputs, region):
        raise UsageError("not like this")

    with pytest.raises(UsageError, match="not like this"):
        verdict_of(calls=refuses)


@pytest.mark.parametrize("leaving", [SystemExit(0), GeneratorExit(), pytest.skip.Exception("no")])
@pytest.mark.parametrize("where", ["calls", "truth", "made"])
def test_code_that_tries_to_leave_the_process_fails_instead(leaving, where):
    def leaves(*arguments):
        raise leaving

    result = result_of(verdict_of(**{where: leaves}), "run")
    assert result.outcome is FAILED
    assert type(leaving).__name__ in result.summary


def test_an_op_that_reads_each_array_it_meets_once_is_caught_in_every_call():
    known = []

    def checks_new_arrays(inputs, region):
        with region("forward"):
            if not any(inputs["x"] is array for array in known):
                known.append(inputs["x"])
                bool((inputs["x"] == inputs["x"]).all())
        return square_sum(inputs, region)

    assert result_of(verdict_of(calls=checks_new_arrays), "traffic").outcome is FAILED


def test_a_first_call_over_the_budget_is_told_though_the_warm_ones_pass():
    done = []

    def compiles_first(inputs, region):
        with region("forward"):
            if not done:
                done.append(float(inputs["x"].sum()))
        return square_sum(inputs, region)

    traffic = result_of(verdict_of(calls=compiles_first), "traffic")
    assert traffic.outcome is PASSED
    assert traffic.details == (
        "first call: 1 D2H, 1 sync within 'forward', 0 D2H, 0 syncs allowed "
        "(the loss stays on the device)",
    )


def test_every_call_is_judged_by_its_values_not_only_the_last():
    calls = []

    def right_at_last(inputs, region):
        calls.append(1)
        outputs = square_sum(inputs, region)
        return outputs if len(calls) == 3 else {**outputs, "loss": outputs["loss"] * 0}

    values = result_of(verdict_of(calls=right_at_last), "values")
    assert values.outcome is FAILED
    assert "2 different results in 3 calls" in values.details


def test_an_input_overwritten_and_then_replaced_in_the_mapping_is_still_overwritten():
    def covers_up(inputs, region):
        outputs = square_sum(inputs, region)
        original = inputs["x"].copy()
        inputs["x"] *= 2
        inputs["x"] = original
        return outputs

    assert result_of(verdict_of(calls=covers_up), "inputs").outcome is FAILED


class Undeclared(ToyCase):
    @property
    def budget(self):
        raise AttributeError("no budget")

    @budget.setter
    def budget(self, value):
        pass


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (Undeclared(), "AttributeError: no budget"),
        (ToyCase(tolerances=None), "tolerances is NoneType"),
        (ToyCase(parameters=["shape"]), "parameters is list"),
        (ToyCase(tolerances={"loss": 1e-6}), "the tolerance of output 'loss' is 1e-06"),
    ],
)
def test_a_slip_in_a_declaration_fails_the_case_and_not_the_run(case, says):
    result = result_of(verdict_of(Toy(case=case)), "run")
    assert result.outcome is FAILED
    assert says in result.summary


def test_nan_on_both_sides_and_nothing_else_proves_nothing():
    def nothing_but_nan(inputs, region):
        outputs = square_sum(inputs, region)
        return {name: value * np.float32("nan") for name, value in outputs.items()}

    def nan_truth(inputs):
        return {name: value * np.nan for name, value in square_sum_truth(inputs).items()}

    verdict = verdict_of(calls=nothing_but_nan, truth=nan_truth, gradients={}, loss=None)
    assert result_of(verdict, "values").outcome is INCONCLUSIVE


@pytest.mark.parametrize(
    "peer",
    [lambda i, r: None, lambda i, r: {"loss": np.float32(0), "gradient": i["x"]}],
    ids=["nothing", "wrong values"],
)
def test_a_peer_that_does_not_do_the_work_is_left_out_and_said_to_be(peer):
    class WithPeer(ToyCase):
        def peer(self, inputs, region):
            return peer(inputs, region)

    settings = Settings(repeats=2, seconds_per_case=0.05)
    verdict = verdict_of(Toy(case=WithPeer(timed=True)), device="auto", settings=settings)
    assert result_of(verdict, "peer").outcome is INCONCLUSIVE
    assert verdict.sample.peer_ns == ()


def test_what_the_first_call_asked_of_an_unmodelled_name_is_remembered_as_a_doubt():
    known = {}

    def asks_once(inputs, region):
        with region("forward"):
            known.setdefault("piecewise", hasattr(inputs["x"].__array_namespace__(), "fft"))
        return square_sum(inputs, region)

    traffic = result_of(verdict_of(calls=asks_once), "traffic")
    assert traffic.outcome is INCONCLUSIVE
    assert "not modelled" in traffic.summary


def _elsewhere(inputs, region):
    with region("forward"):
        pass
    return square_sum(inputs, lambda name: nullcontext())


def _never(inputs, region):
    return square_sum(inputs, lambda name: nullcontext())


@pytest.mark.parametrize(
    ("calls", "says", "step"),
    [
        (
            _elsewhere,
            "nothing ran on the device within",
            "run the op under test inside that region",
        ),
        (_never, "was never entered", "enter it in run()"),
    ],
)
def test_what_the_op_did_not_do_is_not_looked_for_in_the_machine(calls, says, step):
    found = result_of(verdict_of(calls=calls), "traffic")
    assert found.outcome is INCONCLUSIVE
    assert says in found.summary
    assert found.next_step.startswith(step)
