from dataclasses import replace

import pytest
from builders import a_check, a_kernel, a_sync, a_trace, a_transfer

from harness.checks.traffic import check_traffic, region_counts
from harness.model.budget import WHOLE_RUN, Budget, Quantity
from harness.model.event import Direction, EventType, Site, SyncKind
from harness.model.outcome import Outcome

SEEN = a_check(check="positive control", evidence="controls seen 3/3")
BLIND = a_check(
    check="positive control", outcome=Outcome.INCONCLUSIVE, summary="saw no planted copy"
)
STAYS = {"because": "the loss stays on the device"}


def a_budget(**regions):
    return Budget.from_plain({region: {**STAYS, **limits} for region, limits in regions.items()})


NOTHING = a_budget(forward={"d2h": 0, "h2d": 0, "syncs": 0})
SILENT = a_trace(a_kernel())


def outcome_of(*traces, budget=NOTHING, control=SEEN):
    return check_traffic(traces, budget, control=control).outcome


def test_a_region_that_moves_nothing_passes():
    assert outcome_of(SILENT, SILENT) is Outcome.PASSED


def test_one_copy_over_the_limit_fails_and_is_named_with_its_line():
    result = check_traffic([a_trace(a_transfer(), a_sync())] * 2, NOTHING, control=SEEN)
    assert result.outcome is Outcome.FAILED
    assert [violation.limit.quantity for violation in result.violations] == [
        Quantity.D2H,
        Quantity.SYNCS,
    ]
    assert str(result.violations[0].lines[0].site) == "ops/host_roundtrip.py:31 in forward"
    assert "1 D2H, 1 sync within 'forward', 0 D2H, 0 syncs allowed (" in result.summary


def test_as_much_as_the_limit_allows_passes():
    budget = a_budget(forward={"d2h": 1, "d2h_bytes": 4, "syncs": 1, "blocking_copies": 1})
    assert outcome_of(a_trace(a_transfer(), a_sync()), budget=budget) is Outcome.PASSED


def test_bytes_over_the_limit_fail_when_the_number_of_copies_is_allowed():
    budget = a_budget(forward={"d2h": 1, "d2h_bytes": 4})
    result = check_traffic([a_trace(a_transfer(size_bytes=8))], budget, control=SEEN)
    assert [violation.observed for violation in result.violations] == [8]


def test_a_pageable_copy_fails_a_blocking_limit_though_its_count_is_allowed():
    budget = a_budget(forward={"d2h": 1, "blocking_copies": 0})
    result = check_traffic([a_trace(a_transfer(blocking=True))], budget, control=SEEN)
    assert [violation.limit.quantity for violation in result.violations] == [
        Quantity.BLOCKING_COPIES
    ]
    assert outcome_of(a_trace(a_transfer(blocking=False)), budget=budget) is Outcome.PASSED


def test_copies_in_the_other_direction_do_not_count():
    budget = a_budget(forward={"d2h": 0})
    trace = a_trace(a_transfer(direction=Direction.HOST_TO_DEVICE))
    assert outcome_of(trace, budget=budget) is Outcome.PASSED


def test_traffic_of_another_region_does_not_count():
    trace = a_trace(
        a_kernel(), a_transfer(regions=("metrics",)), entered={"forward": 1, "metrics": 1}
    )
    assert outcome_of(trace) is Outcome.PASSED


def test_the_whole_run_counts_what_no_region_holds():
    budget = a_budget(run={"d2h": 0})
    assert outcome_of(a_trace(a_transfer(regions=())), budget=budget) is Outcome.FAILED


def test_one_read_is_reported_once_not_once_per_limit_it_breaks():
    everything = {"d2h": 0, "h2d": 0, "d2h_bytes": 0, "syncs": 0, "blocking_copies": 0}
    budget = a_budget(forward=everything, run=everything)
    result = check_traffic([a_trace(a_transfer(), a_sync())], budget, control=SEEN)
    assert [(each.region, each.limit.quantity) for each in result.violations] == [
        ("forward", Quantity.D2H),
        ("forward", Quantity.SYNCS),
    ]


def test_a_read_outside_every_region_is_still_reported_for_the_run():
    limits = {"d2h": 0}
    budget = a_budget(forward=limits, run=limits)
    trace = a_trace(a_transfer(), a_transfer(regions=()))
    result = check_traffic([trace], budget, control=SEEN)
    assert [each.region for each in result.violations] == ["forward", WHOLE_RUN]


def test_an_excess_in_any_of_the_runs_fails_and_the_worst_run_is_shown():
    result = check_traffic(
        [SILENT, a_trace(a_transfer(), a_transfer()), a_trace(a_transfer())],
        a_budget(forward={"d2h": 0}),
        control=SEEN,
    )
    assert result.outcome is Outcome.FAILED
    assert result.violations[0].observed == 2


def test_an_excess_that_was_seen_fails_even_when_the_control_was_not():
    assert outcome_of(a_trace(a_transfer()), control=BLIND) is Outcome.FAILED


def test_no_run_is_inconclusive():
    assert outcome_of() is Outcome.INCONCLUSIVE


def test_no_positive_control_is_inconclusive():
    assert outcome_of(SILENT, control=None) is Outcome.INCONCLUSIVE


def test_a_positive_control_that_was_not_seen_is_inconclusive_and_says_why():
    result = check_traffic([SILENT], NOTHING, control=BLIND)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.summary == "saw no planted copy"


def test_a_budget_without_limits_is_inconclusive():
    assert outcome_of(SILENT, budget=Budget({})) is Outcome.INCONCLUSIVE
    assert outcome_of(SILENT, budget=a_budget(forward={})) is Outcome.INCONCLUSIVE


def test_a_region_that_never_ran_is_inconclusive():
    result = check_traffic([a_trace(entered={"backward": 1})], NOTHING, control=SEEN)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "'forward' has a budget but was never entered" in result.summary


@pytest.mark.parametrize(
    ("entered", "says"),
    [
        ({"foward": 1}, "did you mean 'foward'?"),
        ({"loss": 1, "update": 1}, "entered were 'loss', 'update'"),
        ({}, "no region was entered"),
    ],
)
def test_a_region_that_never_ran_is_told_with_those_that_did(entered, says):
    assert (
        says in check_traffic([a_trace(a_kernel(), entered=entered)], NOTHING, control=SEEN).summary
    )


def test_a_probe_that_cannot_see_syncs_says_nothing_about_syncs():
    trace = a_trace(a_kernel(), observes=frozenset({EventType.TRANSFER}))
    assert outcome_of(trace) is Outcome.INCONCLUSIVE
    assert outcome_of(trace, budget=a_budget(forward={"d2h": 0})) is Outcome.PASSED


def test_dropped_records_make_a_zero_inconclusive():
    result = check_traffic([a_trace(dropped=2)], NOTHING, control=SEEN)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "lost 2 records" in result.summary


def test_a_doubt_of_the_probe_is_told_once_and_makes_a_zero_inconclusive():
    doubtful = replace(SILENT, doubts=("another profiler is attached: nsys",))
    result = check_traffic([doubtful, doubtful], NOTHING, control=SEEN)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert (result.summary, result.details) == ("another profiler is attached: nsys", ())


def test_counts_that_differ_between_runs_are_inconclusive_though_all_are_allowed():
    budget = a_budget(forward={"d2h": 3})
    result = check_traffic([SILENT, a_trace(a_transfer())], budget, control=SEEN)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "d2h 0 to 1" in result.summary
    assert "differing runs" in result.evidence


def test_the_same_totals_in_other_regions_are_a_difference_too():
    entered = {"forward": 1, "metrics": 1}
    budget = a_budget(forward={"d2h": 3})
    one = a_trace(a_transfer(regions=("forward",)), entered=entered)
    other = a_trace(a_transfer(regions=("metrics",)), entered=entered)
    result = check_traffic([one, other], budget, control=SEEN)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "the same totals in different regions" in result.summary


def test_kernels_may_differ_between_runs():
    assert outcome_of(SILENT, a_trace(a_kernel(), a_kernel())) is Outcome.PASSED


def test_every_doubt_is_told():
    result = check_traffic([a_trace(dropped=1, entered={})], NOTHING, control=BLIND)
    assert len((result.summary, *result.details)) == 3


def test_a_pass_says_which_limits_were_kept_and_on_what_evidence():
    budget = Budget({**NOTHING.regions, "anything goes": ()})
    silent = a_trace(a_kernel(), entered={"forward": 1, "anything goes": 1})
    result = check_traffic([silent] * 5, budget, control=SEEN)
    assert result.summary == "forward: d2h <= 0, h2d <= 0, syncs <= 0"
    assert (
        result.evidence == "SIMULATED (simulated, controls seen 3/3, 0 dropped, 5 identical runs)"
    )


def test_a_region_in_which_the_device_did_nothing_is_inconclusive():
    result = check_traffic([a_trace()], NOTHING, control=SEEN)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "nothing ran on the device within 'forward'" in result.summary
    whole = check_traffic([a_trace()], a_budget(run={"d2h": 0}), control=SEEN)
    assert "nothing ran on the device during the run" in whole.summary


def test_a_probe_that_cannot_see_kernels_does_not_ask_for_them():
    observes = frozenset({EventType.TRANSFER, EventType.SYNC})
    assert outcome_of(a_trace(observes=observes)) is Outcome.PASSED


def test_the_wait_of_the_line_that_copies_is_shown_with_the_copy():
    elsewhere = a_sync(site=Site("train.py", 3, "step"))
    trace = a_trace(a_transfer(), a_sync(), elsewhere)
    result = check_traffic([trace], a_budget(forward={"d2h": 0}), control=SEEN)
    assert [line.sync for line in result.violations[0].lines] == [None, SyncKind.STREAM]


def test_one_run_is_not_called_identical():
    assert "0 dropped, 1 run)" in check_traffic([SILENT], NOTHING, control=SEEN).evidence


def test_the_evidence_admits_that_no_control_was_run():
    assert "no positive control" in check_traffic([SILENT], NOTHING, control=None).evidence


def test_region_counts_hold_the_whole_run_and_each_region():
    trace = a_trace(a_transfer(), a_transfer(regions=()))
    counts = region_counts(trace)
    assert (counts[WHOLE_RUN].d2h, counts["forward"].d2h) == (2, 1)
