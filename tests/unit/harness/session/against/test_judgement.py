"""From pairs to a result: what fails, what passes, and what must not be vouched for."""

import math
import random

import pytest
from toy_workload import ToyCase

from harness.model.measurement import Sample
from harness.model.outcome import Outcome
from harness.session.against.judgement import Criteria, judge
from harness.session.against.subjects import Record, Subject
from harness.session.declared import declared_by


def a_record(ratio, *, name="toy", noise=0.005, pairs=8, margin=None, seed=1):
    """A case whose time is ``ratio`` the baseline's, timed in ``pairs`` processes of 40 rounds."""
    chance = random.Random(seed)
    case = ToyCase(name=name, timed=True)
    if margin is not None:
        object.__setattr__(case, "margin", margin)
    declared = declared_by(case)
    subject = Subject(
        target="toys:TOYS",
        workload="toys",
        case=name,
        parameters=declared.parameters,
        throughput=declared.throughput,
        margin=declared.margin,
    )
    record = Record(subject)
    for _ in range(pairs):
        base = [1e6 * chance.lognormvariate(0, 0.05) for _ in range(40)]
        record.samples.append(
            Sample(
                call_ns=tuple(each * ratio * chance.lognormvariate(0, noise) for each in base),
                peer_ns=tuple(base),
                calls_per_value=3,
                warmup_calls=10,
                timer="perf_counter_ns",
                seed=0,
            )
        )
    return record


def judged(*records, **criteria):
    return judge(
        records,
        Criteria(**criteria),
        paired_with="main @ 1a2b3c4 (git worktree)",
        named="main @ 1a2b3c4",
    )


@pytest.mark.parametrize(
    ("ratio", "outcome", "decision"),
    [
        (1.10, Outcome.FAILED, "regressed"),
        (0.90, Outcome.PASSED, "improved"),
        (1.00, Outcome.PASSED, "unchanged"),
        (1.01, Outcome.INCONCLUSIVE, "inconclusive"),
    ],
)
def test_the_decision_is_the_outcome(ratio, outcome, decision):
    result = judged(a_record(ratio))["toys/toy"]
    assert result.outcome is outcome
    assert result.summary.startswith(f"{decision}: ")


def test_the_decision_is_recorded_in_numbers_for_reports():
    change = judged(a_record(1.10))["toys/toy"].change
    assert change.ratio.low < 1.10 < change.ratio.high
    assert (change.margin, change.decision) == (0.01, "regressed")
    assert change.against == "main @ 1a2b3c4 (git worktree)"
    assert change.baseline_ns == pytest.approx(a_record(1.10).sample().peer_ns[0], rel=0.1)
    assert judged(a_record(math.nan))["toys/toy"].change is None


def test_the_ratio_is_of_the_time_of_what_was_compared_with():
    summary = judged(a_record(1.10))["toys/toy"].summary
    assert "x the time of main @ 1a2b3c4 (95" in summary
    assert "baseline" not in summary


def test_the_evidence_says_what_was_paired_with_what_and_how():
    result = judged(a_record(1.1), seed=7)["toys/toy"]
    assert "320 pair ratios, 8 processes, order and layout random, seed 7" in result.evidence
    assert result.evidence.endswith("paired with main @ 1a2b3c4 (git worktree)")


def test_an_unchanged_in_which_a_slowdown_might_have_hidden_is_not_vouched_for():
    record = a_record(1.0)
    assert judged(record)["toys/toy"].outcome is Outcome.PASSED
    blind = judged(record, find=0.0101)["toys/toy"]
    assert blind.outcome is Outcome.INCONCLUSIVE
    assert "a slowdown of 1.0 % might have been missed" in blind.summary
    assert blind.next_step


def test_a_case_is_held_to_its_own_margin():
    assert judged(a_record(1.05))["toys/toy"].outcome is Outcome.FAILED
    assert judged(a_record(1.05, margin=0.2))["toys/toy"].outcome is Outcome.PASSED


def test_a_margin_of_its_own_beyond_what_is_to_be_found_is_said():
    result = judged(a_record(1.0, margin=0.2), find=0.02)["toys/toy"]
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "its margin of 20.0 % lets 2.0 % pass" in result.next_step


def test_a_case_that_ended_early_is_not_judged():
    record = a_record(1.5)
    record.ended = judged(record)["toys/toy"]
    assert judged(record) == {}


def test_processes_stay_marked_in_the_joined_sample():
    sample = a_record(1.0, pairs=3).sample()
    assert sample.process_starts == (0, 40, 80)
    assert len(sample.call_ns) == len(sample.peer_ns) == 120
    assert sample.warmup_calls == 30


def test_too_few_processes_decide_nothing_however_sure_their_pairs_are():
    def result(pairs):
        records = [a_record(1.10, pairs=pairs)]
        return judge(records, Criteria(), paired_with="main", named="main", fewest=8)["toys/toy"]

    assert result(8).outcome is Outcome.FAILED
    stopped = result(1)
    assert stopped.outcome is Outcome.INCONCLUSIVE
    assert stopped.summary.startswith("inconclusive: 1.")
    assert stopped.summary.endswith("but 1 of 8 processes cannot decide")
    assert stopped.change.decision == "inconclusive"


@pytest.mark.parametrize(("cores", "pinning"), [({3}, False), ({0, 1}, True)])
def test_pinning_is_advised_only_where_it_is_not_done(monkeypatch, cores, pinning):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: cores, raising=False)
    step = judged(a_record(1.0, noise=3.0))["toys/toy"].next_step
    assert "stop other work on the machine" in step
    assert ("taskset" in step) is pinning
