"""The self-check of real cases: short runs, everything that can break, and what the figures mean in words."""

import time

import numpy as np
import pytest
from toy_workload import Toy, ToyCase, square_sum

from harness.benchmark.selfcheck import ARMS, Findings, Op, Plan
from harness.devices.registry import choose_devices
from harness.errors import ExitCode, UnavailableError, UsageError
from harness.model.outcome import Outcome
from harness.model.selfcheck import Injection
from harness.session.catalogue import Selection
from harness.session.selfcheck import self_check
from harness.session.selfcheck_verdict import judged

BRIEF = Plan(seconds=0.05, decisions=5, find=0.5, margin=0.2)


def checked(*cases, plan=BRIEF, device="cpu", progress=lambda *told: None, faults=()):
    """The self-check of these cases, and what was announced before it."""
    told = []
    run = self_check(
        [
            *(Selection(name, None, fault=why) for name, why in faults),
            Selection("toys", Toy(), cases),
        ],
        choose_devices(device),
        plan,
        announce=told.append,
        progress=progress,
    )
    return run, told[0] if told else None


def slow(inputs, region):
    """A tenth of a millisecond and more, which no interpreter's hiccup doubles."""
    for _ in range(20):
        outputs = square_sum(inputs, region)
    return outputs


def test_a_real_op_is_found_slower_when_it_is_and_not_when_it_is_not():
    run, announced = checked(ToyCase(timed=True, calls=slow), ToyCase(name="untimed"))
    (check,) = run.checks
    assert check.key == "toys/toy"
    assert check.parameters == {"shape": "64"}
    assert check.timer == "perf_counter_ns"
    assert check.decisions == len(check.ratios) == 5
    assert check.false_alarms <= 1
    assert check.asked is not None
    assert check.asked.measured > 0.2
    assert (announced.ops, announced.decisions) == (1, 5 * ARMS)
    assert announced.most_s >= 5 * ARMS * 0.05
    assert run.environment.hard["devices"] == "cpu"
    assert run.planned == 1


def test_both_sides_have_inputs_of_their_own():
    seen = set()

    def notes_its_inputs(inputs, region):
        seen.add(inputs["x"].__array_interface__["data"][0])
        return square_sum(inputs, region)

    checked(ToyCase(timed=True, calls=notes_its_inputs))
    assert len(seen) >= 2


def test_progress_counts_every_decision_of_every_op():
    told = []
    checked(
        ToyCase(name="a", timed=True),
        ToyCase(name="b", timed=True),
        progress=lambda op, made: told.append((op, made)),
    )
    assert told[0] == ("toys/a", 0)
    assert ("toys/b", 5 * ARMS) in told
    assert all(made <= 2 * 5 * ARMS for _, made in told)


def test_an_op_that_raises_fails_and_the_others_are_checked():
    def raises(inputs, region):
        raise RuntimeError("cannot do this")

    run, announced = checked(
        ToyCase(name="bad", timed=True, calls=raises),
        ToyCase(name="good", timed=True),
        faults=[("broken", "its module does not import")],
    )
    outcomes = {check.key: check.outcome for check in run.checks}
    assert outcomes["broken"] is outcomes["toys/bad"] is Outcome.FAILED
    assert "toys/good" in outcomes
    assert announced.ops == 1
    said = {check.key: check.summary for check in run.checks}
    assert said["broken"] == "not checked: its module does not import"
    assert "RuntimeError: cannot do this" in said["toys/bad"]
    assert run.exit_code is ExitCode.FAILED


def test_an_op_that_stops_later_keeps_nothing_of_its_own_and_all_of_the_others():
    calls = []

    def tires(inputs, region):
        calls.append(1)
        if len(calls) > 50:
            raise MemoryError("no more room")
        return square_sum(inputs, region)

    run, _ = checked(ToyCase(name="a", timed=True, calls=tires), ToyCase(name="b", timed=True))
    first, second = run.checks
    assert first.outcome is Outcome.INCONCLUSIVE
    assert "no more room" in first.summary
    assert first.decisions == 0
    assert second.decisions == 5


def test_interrupted_it_keeps_what_is_done():
    def stops(op, made):
        if op == "toys/b" and made > 5 * ARMS:
            raise KeyboardInterrupt

    run, _ = checked(ToyCase(name="a", timed=True), ToyCase(name="b", timed=True), progress=stops)
    assert [check.key for check in run.checks] == ["toys/a"]
    assert (run.planned, run.interrupted) == (2, True)
    assert run.exit_code is ExitCode.INTERRUPTED
    assert run.outcome is not Outcome.PASSED


def test_a_slow_op_is_announced_with_the_time_its_fewest_rounds_take():
    def waits(inputs, region):
        time.sleep(0.004)
        return square_sum(inputs, region)

    def stops(op, made):
        raise KeyboardInterrupt

    _, announced = checked(ToyCase(timed=True, calls=waits), progress=stops)
    assert announced.most_s > 5 * ARMS * 0.09


def test_nothing_to_time_is_said_at_once():
    with pytest.raises(UsageError, match="none of these cases is timed"):
        checked(ToyCase())
    with pytest.raises(UnavailableError, match=r"'simulated' has no time of its own"):
        checked(ToyCase(timed=True), device="simulated")


# --- what the figures mean --------------------------------------------------------------------------------

PLAN = Plan()
OP = Op(
    key="toys/toy",
    device="cpu",
    pair=lambda: (print, print),
    timer=choose_devices("cpu").timing.timer,
    change_layout=lambda chance: None,
)


def findings(
    *, asked=20, false_alarms=0, smaller=18, unsure=0, pairs=300, estimated=0.015, decisions=20
):
    return Findings(
        margin=0.01,
        find=0.02,
        decisions=decisions,
        false_alarms=false_alarms,
        ratios=tuple(np.linspace(0.999, 1.001, 20)),
        injections=(
            Injection(slowdown=0.015, found=smaller, decisions=20, measured=0.0149),
            Injection(slowdown=0.02, found=asked, decisions=20, measured=0.0201),
        ),
        estimated=estimated,
        computed=0.014,
        unsure=unsure,
        pairs=pairs,
        call_ns=1e6,
        timer="perf_counter_ns",
    )


def test_a_machine_that_finds_what_was_asked_and_nothing_else_may_gate():
    check = judged(OP, PLAN, findings())
    assert check.outcome is Outcome.PASSED
    assert check.summary == (
        "0 false alarms in 20 decisions (rate below 13.9 %), "
        "+1.5 % found in 18 of 20, +2.0 % found in 20 of 20"
    )
    assert check.smallest == 0.015
    assert check.next_step == ""


def test_what_is_found_less_than_nine_times_in_ten_must_not_be_gated():
    check = judged(OP, PLAN, findings(asked=17, smaller=3, estimated=0.025))
    assert check.outcome is Outcome.INCONCLUSIVE
    assert check.outcome.exit_code == 4
    assert check.summary.startswith("this machine must not gate at +2.0 %; 0 false alarms")
    assert check.smallest is None
    # ((2.5 - 1) / (2 - 1)) squared is 2.25 times the time
    assert "(--seconds 12)" in check.next_step
    assert "quieter machine" in check.next_step
    assert "(--find 2.5%)" in check.next_step
    assert judged(OP, PLAN, findings(asked=18)).outcome is Outcome.PASSED


def test_time_is_no_advice_where_it_takes_too_much():
    check = judged(OP, PLAN, findings(asked=0, smaller=0, estimated=0.06))
    assert "--seconds" not in check.next_step
    assert "(--find 6%)" in check.next_step
    for estimated in (None, 2.2):
        hopeless = judged(OP, PLAN, findings(asked=0, smaller=0, estimated=estimated))
        assert "(--find)" in hopeless.next_step
        assert "--margin" in hopeless.next_step


def test_two_false_alarms_in_twenty_are_more_than_95_per_cent_allow_and_one_is_not():
    assert judged(OP, PLAN, findings(false_alarms=1)).outcome is Outcome.PASSED
    check = judged(OP, PLAN, findings(false_alarms=2))
    assert check.outcome is Outcome.INCONCLUSIVE
    assert check.summary.startswith("this machine calls identical code different; 2 false alarms")


def test_an_op_too_slow_to_decide_anything_is_given_more_time():
    check = judged(OP, PLAN, findings(asked=0, smaller=0, unsure=60, pairs=2))
    assert check.outcome is Outcome.INCONCLUSIVE
    assert check.summary.startswith("too slow for 4 s: 2 pairs of 1.00 ms per call in a decision")
    assert "--seconds 24" in check.next_step


@pytest.mark.parametrize("decisions", [5, 19])
def test_what_too_few_decisions_found_is_not_vouched_for(decisions):
    check = judged(OP, PLAN, findings(decisions=decisions))
    assert check.outcome is Outcome.INCONCLUSIVE
    assert check.summary.startswith("too few decisions to vouch: at least 20; 0 false alarms")
    assert "--decisions 20" in check.next_step
