"""One case as data: label, link, times, rates, checks."""

from __future__ import annotations

import math

import pytest
from builders import (
    a_check,
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_sample,
    a_verdict,
    an_estimate,
)

from harness.model.measurement import Estimate, Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import Verdict
from harness.report.view.cases import CaseView, Fact, anchors, case_label, case_view
from harness.report.view.page import build_page


def view_of(verdict: Verdict) -> CaseView:
    return case_view(verdict, "case-x", relative_to=None)


def test_links_are_readable_and_the_same_in_every_run() -> None:
    assert anchors([a_verdict()]) == ("case-softmax-cross-entropy-4096x1000-float32",)


def test_links_stay_unique_where_names_come_out_alike() -> None:
    verdicts = [a_verdict(case="a b"), a_verdict(case="a/b"), a_verdict(case="a b")]
    found = anchors(verdicts)
    assert len(set(found)) == 3


def test_links_hold_nothing_that_a_browser_would_read_otherwise() -> None:
    (anchor,) = anchors([a_verdict(workload='"><script>', case="\0\u202e" + "x" * 10_000)])
    assert anchor.isascii()
    assert set('"<> #') & set(anchor) == set()
    assert len(anchor) < 100


@pytest.mark.parametrize("case", ["", "-"])
def test_a_workload_that_broke_before_it_had_cases_is_called_by_its_name(case: str) -> None:
    broken = a_verdict(workload="mine.ops:OP", case=case)
    assert case_label(broken) == "mine.ops:OP"
    assert view_of(broken).case == "no case ran"


def test_cases_are_shown_worst_first_and_otherwise_in_order() -> None:
    failed = a_check(outcome=Outcome.FAILED)
    run = a_run(a_verdict(case="a"), a_verdict(failed, case="b"), a_verdict(case="c"))
    assert [case.case for case in build_page(run).cases] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("estimate", "call_time", "interval"),
    [
        (None, "", ""),
        (an_estimate(), "1.25 ms", "1.20 to 1.30 ms"),
        (an_estimate(value=999e3, low=990e3, high=1.01e6), "999 us", "990 us to 1.01 ms"),
        (an_estimate(low=-math.inf), "1.25 ms", "interval unknown"),
        (an_estimate(high=math.nan), "1.25 ms", "interval unknown"),
        (an_estimate(value=math.nan), "unknown", "1.20 to 1.30 ms"),
    ],
)
def test_a_time_is_told_with_its_interval(
    estimate: Estimate | None, call_time: str, interval: str
) -> None:
    view = view_of(a_verdict(call_time=estimate))
    assert (view.call_time, view.interval) == (call_time, interval)


def test_rates_are_work_and_least_bytes_per_second() -> None:
    work = Throughput(unit="samples", units_per_call=4096, bytes_per_call=4096 * 1000 * 12)
    view = view_of(a_verdict(throughput=work, call_time=an_estimate(value=1e6)))
    assert view.rates == ("4.10 M samples/s", "49.2 GB/s")


def test_bytes_are_also_told_as_a_fraction_of_what_the_same_device_copied() -> None:
    work = Throughput(unit="samples", units_per_call=4096, bytes_per_call=10_000_000)
    timed = a_verdict(throughput=work, call_time=an_estimate(value=1e6), timing_device="cpu")
    for device, rates in (("cpu", ("10.0 GB/s", "50.0 % of copy")), ("cuda:0", ("10.0 GB/s",))):
        run = a_run(timed, copy_bandwidth=a_copy_bandwidth(before=20e9, device=device))
        assert build_page(run).cases[0].rates[1:] == rates


@pytest.mark.parametrize("estimate", [None, an_estimate(value=0.0), an_estimate(value=math.inf)])
def test_no_rate_is_made_up_without_a_time(estimate: Estimate | None) -> None:
    work = Throughput(unit="samples", units_per_call=1, bytes_per_call=1)
    assert view_of(a_verdict(throughput=work, call_time=estimate)).rates == ()


def test_an_op_without_least_bytes_has_one_rate() -> None:
    work = Throughput(unit="samples", units_per_call=1000, bytes_per_call=0)
    view = view_of(a_verdict(throughput=work, call_time=an_estimate(value=1e9)))
    assert view.rates == ("1.00 k samples/s",)


def test_numeric_checks_stand_apart_from_the_others() -> None:
    view = view_of(a_verdict(a_check(check="placement"), a_check(), a_check(check="gradients")))
    assert [check.check for check in view.values] == ["values", "gradients"]
    assert len(view.checks) == 3


def test_a_check_that_two_devices_passed_alike_stands_once_with_what_both_rest_on() -> None:
    view = view_of(a_verdict(a_check(evidence="device simulated"), a_check(evidence="device cpu")))
    assert len(view.values) == 1
    assert [check.evidence for check in view.checks] == ["device simulated; device cpu"]


def test_devices_that_disagree_both_stand_in_the_overview() -> None:
    view = view_of(a_verdict(a_check(), a_check(outcome=Outcome.FAILED)))
    assert [check.mark.word for check in view.values] == ["failed", "passed"]


def test_what_is_wrong_stands_before_what_passed() -> None:
    doubt = a_check(check="traffic", outcome=Outcome.INCONCLUSIVE)
    wrong = a_check(check="gradients", outcome=Outcome.FAILED)
    view = view_of(a_verdict(a_check(), doubt, wrong))
    assert [check.check for check in view.checks] == ["gradients", "traffic", "values"]


def test_gradients_that_passed_need_no_figures_in_the_overview() -> None:
    slope = a_check(check="gradients", summary="gradient of x: agrees with the loss (slope 0.1)")
    assert [check.brief for check in view_of(a_verdict(slope)).values] == ["gradients"]


def test_gradients_that_are_wrong_say_how() -> None:
    wrong = a_check(check="gradients", outcome=Outcome.FAILED, summary="gradient of x: is half")
    assert [check.brief for check in view_of(a_verdict(wrong)).values] == ["gradient of x: is half"]


@pytest.mark.parametrize(
    ("outcome", "passed", "open_question"),
    [
        (Outcome.PASSED, True, False),
        (Outcome.SKIPPED, False, False),
        (Outcome.INCONCLUSIVE, False, True),
        (Outcome.FAILED, False, True),
    ],
)
def test_only_what_failed_or_could_not_be_told_needs_a_look(
    outcome: Outcome, passed: bool, open_question: bool
) -> None:
    view = view_of(a_verdict(a_check(outcome=outcome)))
    assert (view.passed, view.open_question) == (passed, open_question)


def test_a_case_that_was_not_timed_was_timed_nowhere() -> None:
    assert Fact("timed on", "no device") in view_of(a_verdict()).facts


def test_only_an_exceeded_limit_brings_a_failure_text() -> None:
    wrong = a_check(outcome=Outcome.FAILED, details=("float32",), next_step="look")
    plain, traffic = view_of(a_verdict(wrong, a_failed_traffic_check())).checks
    assert (plain.failure, plain.details, plain.next_step) == ("", ("float32",), "look")
    assert traffic.failure.startswith("transfer limit exceeded within 'forward'")


def test_a_case_nobody_watched_has_no_traffic_and_no_limits() -> None:
    view = view_of(a_verdict())
    assert (view.traffic, view.overview, view.controls, view.reasons) == (None, None, (), ())


def test_a_watched_case_brings_its_budget_and_its_known_defects() -> None:
    view = view_of(a_verdict(traffic=a_record(), controls=(a_defective_record(),)))
    assert view.traffic is not None
    assert [control.label for control in view.controls] == ["host_roundtrip"]
    assert [reason.limits for reason in view.reasons] == ["forward"]


def test_how_it_was_measured_is_told() -> None:
    facts = view_of(a_verdict(sample=a_sample(), call_time=an_estimate())).facts
    assert facts == (
        Fact("traffic watched on", "simulated"),
        Fact("timed on", "cpu"),
        Fact("sample", "3 values of 4 calls each after 10 for warming up"),
        Fact("clock", "perf_counter_ns"),
        Fact("median call", "1.25 ms (95.0 % interval: 1.20 to 1.30 ms)"),
    )


def test_a_unit_of_any_length_fits_a_column() -> None:
    throughput = Throughput(unit="x" * 10_000, units_per_call=1, bytes_per_call=0)
    verdict = a_verdict(call_time=an_estimate(), throughput=throughput)
    view = case_view(verdict, "case-a", relative_to=None)
    assert len(view.rates[0]) < 40
