"""What timings come to: failures need certainty, and so do passes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from builders import a_sample
from hypothesis import given
from hypothesis import strategies as st

from harness.interchange.pytest_benchmark import StoredBenchmark
from harness.model.measurement import Sample, Throughput
from harness.model.outcome import Outcome
from harness.pytest_plugin.policy import Situation
from harness.pytest_plugin.speed_judgement import Sureness, against_baseline, against_peer
from harness.stats.speed import speed_of

SURE = Sureness(together=0.99, comparisons=1)


def rounds(ratio: float, *, count: int = 100, spread: float = 0.01, paired: bool = True) -> Sample:
    chance = random.Random(1)
    peer = [1e6 * (1 + chance.gauss(0, spread)) for _ in range(count)]
    call = [ratio * time * (1 + chance.gauss(0, spread)) for time in peer]
    return a_sample(call_ns=tuple(call), peer_ns=tuple(peer) if paired else ())


def outcome(sample: Sample, *, margin: float = 0.01, sure: Sureness = SURE) -> Outcome:
    return against_peer(sample, peer="frozen", margin=margin, sure=sure).result.outcome


def test_a_slowdown_beyond_the_margin_fails_and_one_within_it_passes():
    assert outcome(rounds(1.05)) is Outcome.FAILED
    assert outcome(rounds(1.00)) is Outcome.PASSED
    assert outcome(rounds(1.05), margin=0.10) is Outcome.PASSED
    assert outcome(rounds(0.50)) is Outcome.PASSED


def test_an_interval_across_the_margin_is_neither():
    finding = against_peer(rounds(1.01), peer="frozen", margin=0.01, sure=SURE)
    assert finding.result.outcome is Outcome.INCONCLUSIVE
    assert finding.situation is Situation.INCONCLUSIVE
    assert finding.text.startswith("INCONCLUSIVE: cannot tell")
    assert "next      " in finding.text


@pytest.mark.parametrize("count", [1, 2, 5])
def test_too_few_rounds_decide_nothing(count):
    assert outcome(rounds(3.0, count=count)) is Outcome.INCONCLUSIVE
    assert outcome(rounds(0.3, count=count)) is Outcome.INCONCLUSIVE


def test_many_comparisons_ask_for_more_certainty():
    barely = rounds(1.0155)
    assert outcome(barely) is Outcome.FAILED
    assert outcome(barely, sure=Sureness(together=0.99, comparisons=10_000)) is Outcome.INCONCLUSIVE


@given(st.floats(0.5, 0.999), st.integers(1, 10_000))
def test_each_error_times_their_number_is_the_error_of_all(together, comparisons):
    sure = Sureness(together=together, comparisons=comparisons)
    assert (1 - sure.each) * comparisons == pytest.approx(1 - together, rel=1e-6)


def stored(*samples: Sample, throughput: Throughput | None = None) -> StoredBenchmark:
    return StoredBenchmark(
        fullname="t.py::test_x", speeds=tuple(map(speed_of, samples)), throughput=throughput
    )


def held(now: Sample, then: StoredBenchmark, **options) -> list[Outcome]:
    settings = {"name": "base.json", "margin": 0.05, "sure": SURE, "trust_raw": False, **options}
    return [finding.result.outcome for finding in against_baseline([now], then, **settings)]


def test_raw_times_beyond_the_margin_are_inconclusive_unless_trusted():
    then, slow = stored(rounds(1.0, paired=False)), rounds(2.0, paired=False)
    assert held(slow, then) == [Outcome.INCONCLUSIVE]
    assert held(rounds(1.0, paired=False), then) == [Outcome.SKIPPED]
    assert held(rounds(1.1, paired=False), then) == [Outcome.SKIPPED]
    assert held(slow, then, decided=True) == [Outcome.SKIPPED]
    assert held(slow, then, trust_raw=True) == [Outcome.FAILED]


def test_raw_times_nobody_vouches_for_are_no_judgement_and_an_unsealed_file_is_told():
    then = stored(rounds(1.0, paired=False))
    options = {"name": "base.json", "margin": 0.05, "sure": SURE}
    for sealed in (False, True):
        kept = replace(then, sealed=sealed)
        (finding,) = against_baseline([rounds(2.0, paired=False)], kept, trust_raw=False, **options)
        assert finding.unjudged
        assert not finding.is_judgement
        assert finding.situation is Situation.INCONCLUSIVE
        assert ("unverified" in finding.text) is not sealed
    (trusted,) = against_baseline([rounds(2.0, paired=False)], then, trust_raw=True, **options)
    assert trusted.is_judgement


def test_a_ratio_to_the_peer_that_grew_fails_without_trust():
    assert held(rounds(1.2), stored(rounds(1.0))) == [Outcome.FAILED]
    assert held(rounds(1.0), stored(rounds(1.0))) == [Outcome.PASSED]


def test_a_creep_is_seen_against_the_first_promise():
    assert held(rounds(1.1), stored(rounds(1.0), rounds(1.08))) == [Outcome.FAILED, Outcome.PASSED]
    assert held(rounds(1.1), stored(rounds(1.08), rounds(1.08))) == [Outcome.PASSED]


def test_doubts_forbid_a_comparison_and_are_listed():
    doubt = "cpu.cores: 2 in the baseline, 4 now"
    (finding,) = against_baseline(
        [rounds(1.0)],
        stored(rounds(1.0)),
        name="base.json",
        margin=0.05,
        sure=SURE,
        trust_raw=False,
        doubts=[doubt],
    )
    assert finding.result.outcome is Outcome.INCONCLUSIVE
    assert finding.result.details == (doubt,)
    assert finding.result.evidence == ""


def test_other_work_per_call_is_not_comparable():
    then = stored(
        rounds(1.0), throughput=Throughput(unit="samples", units_per_call=1, bytes_per_call=0)
    )
    now = Throughput(unit="samples", units_per_call=2, bytes_per_call=0)
    assert held(rounds(1.0), then, work=now) == [Outcome.INCONCLUSIVE]


def test_a_peer_of_this_session_outweighs_the_doubt_of_two():
    assert held(rounds(1.05), stored(rounds(1.0)), decided=True) == [Outcome.SKIPPED]
    assert held(rounds(1.20), stored(rounds(1.0)), decided=True) == [Outcome.FAILED]


def test_other_clocks_are_not_comparable():
    other = a_sample(timer="another clock")
    (finding,) = against_baseline(
        [rounds(1.0)], stored(other), name="b", margin=0.05, sure=SURE, trust_raw=True
    )
    assert "timed by perf_counter_ns now and by another clock then" in finding.result.summary


def test_constant_timings_are_no_evidence():
    constant = a_sample(call_ns=(2e6,) * 50, peer_ns=(1e6,) * 50)
    assert outcome(constant) is Outcome.INCONCLUSIVE
    assert outcome(a_sample(call_ns=(1e6,) * 50, peer_ns=(1e6,) * 50)) is Outcome.INCONCLUSIVE


def test_an_interval_across_the_other_bound_is_within_the_limit():
    assert outcome(rounds(0.99)) is Outcome.PASSED


def test_a_stored_speed_that_was_edited_is_not_comparable_and_breaks_nothing():
    whole = speed_of(rounds(1.0))
    for edited in (
        replace(whole, relative=(1.0,)),
        replace(whole, relative=(-1.0,) * 33),
        replace(whole, relative_worth=0.0),
    ):
        then = StoredBenchmark(fullname="t.py::test_x", speeds=(edited,))
        assert held(rounds(1.0), then) == [Outcome.INCONCLUSIVE]
    then = StoredBenchmark(fullname="t.py::test_x", speeds=(replace(whole, call_ns=()),))
    assert held(rounds(1.0), then) == [Outcome.PASSED]


def test_foreign_text_stays_on_its_line():
    (finding,) = against_baseline(
        [rounds(1.0)],
        stored(rounds(1.0)),
        name="a\n::error::b",
        margin=0.05,
        sure=SURE,
        trust_raw=False,
        doubts=["cpu: x\n::error::y in the baseline"],
    )
    assert not [line for line in finding.text.splitlines() if line.startswith("::")]
