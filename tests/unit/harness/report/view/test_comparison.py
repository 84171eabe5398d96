"""Before and after: the known defect beside the op under test."""

from __future__ import annotations

from builders import a_defective_record, a_record, a_run, a_sync, a_transfer, a_verdict

from harness.model.budget import WHOLE_RUN
from harness.model.trace import TrafficCounts
from harness.model.traffic import traffic_lines
from harness.model.verdict import Verdict
from harness.report.view.comparison import Comparison
from harness.report.view.page import build_page


def comparisons_of(*verdicts: Verdict) -> tuple[Comparison, ...]:
    return build_page(a_run(*verdicts)).comparisons


def test_both_sides_show_their_counts_and_the_line_of_code() -> None:
    (found,) = comparisons_of(a_verdict(traffic=a_record(), controls=(a_defective_record(),)))
    assert found.before.total == "1 D2H (4 B), 0 H2D, 1 sync"
    assert found.before.mark.word == "over budget"
    assert [line.site for line in found.before.lines] == ["ops/host_roundtrip.py:31 in forward"]
    assert found.after.total == "0 D2H, 0 H2D, 0 syncs"
    assert found.after.mark.word == "within budget"
    assert found.after.lines == ()


def test_cases_alike_are_told_together() -> None:
    (found,) = comparisons_of(
        *(
            a_verdict(case=case, traffic=a_record(), controls=(a_defective_record(),))
            for case in "abc"
        )
    )
    assert found.cases_text == "softmax_cross_entropy/a and 2 cases alike"
    assert len(found.cases) == 3


def test_a_record_named_after_its_case_is_no_reason_to_tell_cases_apart() -> None:
    (found,) = comparisons_of(
        *(
            a_verdict(case=case, traffic=a_record(label=case), controls=(a_defective_record(),))
            for case in "ab"
        )
    )
    assert found.after.label == "softmax_cross_entropy"


def test_what_no_table_shows_is_no_reason_to_tell_cases_apart() -> None:
    still = {WHOLE_RUN: TrafficCounts(kernels=99), "forward": TrafficCounts(kernels=99)}
    (found,) = comparisons_of(
        *(
            a_verdict(case=case, traffic=traffic, controls=(a_defective_record(),))
            for case, traffic in (("a", a_record()), ("b", a_record(regions=still)))
        )
    )
    assert len(found.cases) == 2


def test_cases_that_differ_in_a_line_or_a_workload_stay_apart() -> None:
    other = a_record(lines=traffic_lines([a_transfer(size_bytes=8), a_sync()]))
    control = (a_defective_record(),)
    found = comparisons_of(
        a_verdict(case="a", traffic=a_record(), controls=control),
        a_verdict(case="b", traffic=other, controls=control),
        a_verdict(case="a", workload="mlp", traffic=a_record(), controls=control),
    )
    assert len(found) == 3


def test_every_known_defect_has_its_own_comparison() -> None:
    controls = (a_defective_record(), a_defective_record(label="sync per call"))
    found = comparisons_of(a_verdict(traffic=a_record(), controls=controls))
    assert [comparison.before.label for comparison in found] == ["host_roundtrip", "sync per call"]


def test_without_a_defect_or_a_probe_there_is_nothing_to_compare() -> None:
    assert comparisons_of(a_verdict(traffic=a_record()), a_verdict(controls=(a_record(),))) == ()
