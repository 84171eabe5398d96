"""When timings on a GPU cannot be trusted: each rule with what it must catch and what it must let pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.environment.gpu_conditions import (
    GpuSample,
    GpuUse,
    Limiter,
    Phase,
    check_conditions,
    throttled_or_shared,
)
from harness.model.outcome import Outcome

OWN = 100
SECOND = 1_000_000_000


def a_sample(at_s: float = 0.0, phase: Phase = Phase.DURING, **said: Any) -> GpuSample:
    """A GPU at full clock, alone, at one moment."""
    ordinary = {"reasons": 0, "sm_clock": 1980, "temperature": 41, "power": 210_000}
    return GpuSample(phase=phase, at_ns=round(at_s * SECOND), **(ordinary | said))


def a_run(*, during: list[dict[str, Any]] | None = None, **ends: Any) -> list[GpuSample]:
    """Before, forty samples during one second, after; ``during`` replaces the first of them."""
    middle = [{}] * 40 if during is None else [*during, *[{}] * (40 - len(during))]
    return [
        a_sample(0.0, Phase.BEFORE, **ends),
        *(a_sample(0.01 + number / 41, **said) for number, said in enumerate(middle)),
        a_sample(1.0, Phase.AFTER, **ends),
    ]


def reasons(samples: list[GpuSample]) -> tuple[str, ...]:
    return throttled_or_shared(samples, own_pid=OWN)


def test_an_undisturbed_gpu_gives_no_reason():
    assert reasons(a_run(tenants=(GpuUse(OWN),), uses=(GpuUse(OWN, 95),))) == ()


def test_a_gpu_that_says_nothing_is_not_held_to_anything():
    silent = [GpuSample(phase=phase, at_ns=0) for phase in Phase]
    assert reasons(silent) == ()
    assert check_conditions(silent, own_pid=OWN) is None
    assert check_conditions([], own_pid=OWN) is None


# --- throttling -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limiter", Limiter)
def test_every_limiter_is_caught_by_its_counter_between_two_samples_that_saw_nothing(limiter):
    samples = a_run()
    samples[0] = a_sample(0.0, Phase.BEFORE, held_ns={limiter: 5 * SECOND})
    samples[-1] = a_sample(1.0, Phase.AFTER, held_ns={limiter: 5 * SECOND + SECOND // 8})
    (reason,) = reasons(samples)
    assert reason == f"{limiter.text} held its clocks down for 12.5 % of the time"


@pytest.mark.parametrize("limiter", Limiter)
def test_every_limiter_is_caught_by_its_bit_where_there_are_no_counters(limiter):
    (reason,) = reasons(a_run(during=[{"reasons": limiter.value}] * 8))
    assert reason == f"{limiter.text} held its clocks down in 8 of 40 samples"


def test_what_was_held_before_the_measurement_does_not_count():
    held = {Limiter.POWER_CAP: 99 * SECOND}
    assert reasons(a_run(held_ns=held)) == ()


def test_a_counter_that_stood_still_outweighs_a_bit_that_flickered():
    """Bits show one moment in 25 ms; the counter knows the rest."""
    flickering = [{"reasons": Limiter.POWER_CAP.value}] * 4
    assert reasons(a_run(during=flickering)) != ()
    assert reasons(a_run(during=flickering, held_ns={Limiter.POWER_CAP: SECOND})) == ()


def test_a_counter_of_one_limiter_says_nothing_of_another():
    hot = [{"reasons": Limiter.HARDWARE_THERMAL.value}] * 8
    (reason,) = reasons(a_run(during=hot, held_ns={Limiter.POWER_CAP: SECOND}))
    assert "hardware's thermal limit" in reason


@pytest.mark.parametrize("share", [0.0, 0.009])
def test_up_to_a_hundredth_of_the_time_is_tolerated(share):
    samples = a_run()
    samples[0] = a_sample(0.0, Phase.BEFORE, held_ns={Limiter.POWER_CAP: 0})
    samples[-1] = a_sample(1.0, Phase.AFTER, held_ns={Limiter.POWER_CAP: round(share * SECOND)})
    assert reasons(samples) == ()


def test_one_sample_in_forty_is_a_flicker_and_the_only_sample_is_not():
    capped = {"reasons": Limiter.POWER_CAP.value}
    assert reasons(a_run(during=[{}, capped])) == ()
    assert reasons([a_sample(0.5, **capped)]) != ()


@pytest.mark.parametrize("chosen", [0x1, 0x2, 0x100, 0x400])
def test_clocks_that_were_chosen_and_the_voltage_limit_are_no_throttling(chosen):
    """Idle, application clocks, display clocks, reliability voltage: the last is where a GPU boosts to."""
    assert reasons(a_run(during=[{"reasons": chosen}] * 40)) == ()


def test_a_gpu_waking_up_is_not_throttled_and_one_that_falls_asleep_again_is():
    asleep = {"sm_clock": 345, "reasons": Limiter.HARDWARE_SLOWDOWN.value}
    assert reasons(a_run(during=[asleep] * 10)) == ()
    later = reasons(a_run(during=[{}, *[asleep] * 10]))
    assert any("hardware slowdown" in reason for reason in later)


def test_a_clock_that_fell_is_a_reason_even_when_the_gpu_gives_none():
    (reason,) = reasons(a_run(during=[{}, *[{"sm_clock": 1200}] * 5]))
    assert reason == "its SM clock fell from 1,980 to 1,200 MHz in 5 of 40 samples"


@pytest.mark.parametrize("said", [{"sm_clock": 1500}, {"sm_clock": 345, "reasons": 0x1}])
def test_a_clock_that_wavers_or_idles_between_calls_is_none(said):
    assert reasons(a_run(during=[{}, *[said] * 10])) == ()


def test_a_lost_gpu_is_the_only_thing_worth_saying():
    samples = [*a_run(during=[{"reasons": Limiter.POWER_CAP.value}] * 40), a_sample(2.0, lost=True)]
    assert reasons(samples) == ("the GPU was lost or stopped answering during the measurement",)


# --- sharing --------------------------------------------------------------------------------------------


def test_another_process_at_work_is_named_with_what_it_took():
    samples = a_run(uses=(GpuUse(OWN, 60), GpuUse(4242, 31), GpuUse(7, 1)))
    assert reasons(samples) == ("process 4242 used up to 31 % of its multiprocessors meanwhile",)


def test_a_process_that_only_holds_a_context_is_let_pass_where_work_is_told_per_process():
    idle = a_run(tenants=(GpuUse(OWN), GpuUse(4242)), uses=(GpuUse(OWN, 90),))
    assert reasons(idle) == ()


def test_without_that_a_second_tenant_is_enough():
    (reason,) = reasons(a_run(tenants=(GpuUse(OWN), GpuUse(4242))))
    assert reason == "1 other process (4242) had work on it"


def test_a_tenant_who_left_before_the_end_was_there():
    samples = a_run()
    samples[0] = a_sample(0.0, Phase.BEFORE, tenants=(GpuUse(OWN), GpuUse(4242)))
    samples[-1] = a_sample(1.0, Phase.AFTER, tenants=(GpuUse(OWN),))
    assert len(reasons(samples)) == 1


def test_in_a_container_the_one_tenant_or_the_busiest_process_is_ourselves():
    """There NVML tells the host's numbers, which are not ours."""
    assert reasons(a_run(tenants=(GpuUse(98765),))) == ()
    assert reasons(a_run(uses=(GpuUse(98765, 90),))) == ()
    (reason,) = reasons(a_run(uses=(GpuUse(98765, 90), GpuUse(98766, 40))))
    assert "98766" in reason
    (reason,) = reasons(a_run(tenants=(GpuUse(98765), GpuUse(98766), GpuUse(98767))))
    assert reason == "2 other processes had work on it"


def test_where_nobody_is_listed_a_gpu_busy_beforehand_is_shared():
    busy = a_run()
    busy[0] = a_sample(0.0, Phase.BEFORE, tenants=(), utilization=37)
    assert reasons(busy) == ("it was 37 % busy before the measurement began",)
    busy.insert(1, a_sample(0.001, Phase.BEFORE, tenants=(), utilization=2))
    assert reasons(busy) == ()  # that was our own work, fading


def test_our_own_utilisation_during_the_measurement_is_no_reason():
    assert reasons(a_run(during=[{"utilization": 100}] * 40, tenants=())) == ()


# --- the check ------------------------------------------------------------------------------------------


def test_a_quiet_gpu_passes_and_says_what_it_ran_at():
    result = check_conditions(
        a_run(tenants=(GpuUse(OWN),), held_ns={Limiter.POWER_CAP: 0}), own_pid=OWN
    )
    assert result is not None
    assert result.outcome is Outcome.PASSED
    assert result.summary == (
        "the GPU was neither throttled nor shared: SM clock 1,980 MHz, 41 C, 210 W"
    )
    assert result.details == ()


def test_a_disturbed_gpu_is_inconclusive_with_every_reason_and_a_way_out():
    samples = a_run(
        during=[{"reasons": Limiter.POWER_CAP.value, "power": 699_000}] * 40,
        tenants=(GpuUse(OWN), GpuUse(4242)),
    )
    result = check_conditions(samples, own_pid=OWN)
    assert result is not None
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "power cap" in result.summary
    assert "4242" in result.summary
    assert "699 W" in result.evidence
    assert "--lock-gpu-clocks" in result.next_step


def test_a_pass_says_what_this_gpu_does_not_tell():
    result = check_conditions(a_run(), own_pid=OWN)
    assert result is not None
    assert result.outcome is Outcome.PASSED
    assert len(result.details) == 2


def test_counters_alone_are_enough_to_judge():
    ends = ((Phase.BEFORE, 0), (Phase.AFTER, SECOND))
    samples = [
        GpuSample(phase=phase, at_ns=at, held_ns={Limiter.POWER_CAP: at // 4}) for phase, at in ends
    ]
    result = check_conditions(samples, own_pid=OWN)
    assert result is not None
    assert "25.0 %" in result.summary


said = st.fixed_dictionaries(
    {},
    optional={
        "reasons": st.integers(0, 0x7FF),
        "held_ns": st.dictionaries(st.sampled_from(Limiter), st.integers(0, 2**63)),
        "sm_clock": st.integers(0, 3000),
        "utilization": st.integers(0, 100),
        "tenants": st.none() | st.lists(st.builds(GpuUse, st.integers(1, 4))).map(tuple),
        "uses": st.none()
        | st.lists(st.builds(GpuUse, st.integers(1, 4), st.none() | st.integers(0, 100))).map(
            tuple
        ),
        "lost": st.booleans(),
    },
)


@given(st.lists(st.tuples(st.sampled_from(Phase), st.integers(0, 10), said), max_size=8))
def test_whatever_a_gpu_says_is_judged_and_a_reason_always_makes_it_inconclusive(told):
    samples = [GpuSample(phase=phase, at_ns=at, **rest) for phase, at, rest in told]
    found = throttled_or_shared(samples, own_pid=1)
    result = check_conditions(samples, own_pid=1)
    if result is None:
        assert not any(sample.lost for sample in samples)
    else:
        assert (result.outcome is Outcome.INCONCLUSIVE) == bool(found)
        assert all("\n" not in reason for reason in found)
