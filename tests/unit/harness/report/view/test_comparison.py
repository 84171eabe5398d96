"""Before and after: the known defect beside the op under test."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from builders import (
    a_defective_record,
    a_kernel,
    a_record,
    a_run,
    a_sync,
    a_trace,
    a_transfer,
    a_verdict,
)

from harness.model.budget import WHOLE_RUN
from harness.model.event import Event
from harness.model.trace import TrafficCounts
from harness.model.traffic import traffic_lines
from harness.model.verdict import TrafficRecord, Verdict
from harness.report.html import render_html
from harness.report.view.comparison import Comparison
from harness.report.view.page import build_page
from harness.session.timeline import timeline_of


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


# --- timelines --------------------------------------------------------------------------------------------


def timed_record(record: TrafficRecord, *events: Event) -> TrafficRecord:
    return replace(record, timeline=timeline_of(a_trace(*events)))


def a_watched_verdict(
    case: str = "a", *, before: tuple[Event, ...] = (), after: tuple[Event, ...] = (), **changes
) -> Verdict:
    """A case and its known defect, with what happened in a call of each; the defect reads four bytes."""
    read = before or (a_kernel(), a_transfer(), a_sync())
    return a_verdict(
        case=case,
        traffic=timed_record(a_record(), *(after or (a_kernel(),))),
        controls=(timed_record(a_defective_record(**changes), *read),),
    )


class Marks(HTMLParser):
    """The focusable marks of the timelines: their tooltips and titles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.stops = 0
        self.tips: list[str] = []
        self.titles: list[str] = []
        self._in_title = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "g" and "tabindex" in given:
            self.stops += given["tabindex"] == "0"
            assert given["role"] == "img"
            self.tips.append(given["data-tip"] or "")
        self._in_title = tag == "title" and bool(self.tips)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.titles.append(data)
            self._in_title = False


def test_a_comparison_draws_the_call_of_both_sides() -> None:
    (found,) = comparisons_of(a_watched_verdict())
    assert found.timeline is not None
    assert [picture.label for picture in found.timeline.pictures] == [
        "host_roundtrip",
        "softmax_cross_entropy",
    ]


def test_cases_alike_are_drawn_once_and_named() -> None:
    verdicts = [a_watched_verdict(case) for case in "abc"]
    assert len(comparisons_of(*verdicts)) == 1
    page = render_html(a_run(*verdicts))
    assert page.count('class="tl-plane"') == 2
    assert "Of softmax_cross_entropy/a." in page


def test_without_a_timeline_on_both_sides_the_tables_stand_alone() -> None:
    half = a_verdict(traffic=timed_record(a_record(), a_kernel()), controls=(a_defective_record(),))
    (found,) = comparisons_of(half)
    assert (found.timeline, found.undrawn) == (None, "")
    assert "tl-plane" not in render_html(a_run(half)).partition("</style>")[2]


def test_every_event_can_be_focused_and_says_the_same_as_tooltip_and_as_title() -> None:
    marks = Marks(render_html(a_run(a_watched_verdict())))
    assert len(marks.tips) == 4
    assert marks.titles == marks.tips
    assert marks.stops == 2  # one a timeline; arrow keys lead on
    assert any(tip.startswith("D2H 4 B, blocking, ops/host_roundtrip.py:31") for tip in marks.tips)


def test_hostile_names_stay_text_in_every_place_of_a_timeline() -> None:
    name = '"><script>alert(1)</script>'
    kernel = a_kernel(api=name, regions=(name,))
    page = render_html(a_run(a_watched_verdict(before=(kernel,), after=(kernel,), label=name)))
    assert name not in page
    assert "<script>alert" not in page
    assert all("<script>" in tip for tip in Marks(page).tips)


def test_a_page_draws_so_many_events_and_says_where_the_others_are() -> None:
    long = (a_kernel(),) * 300
    verdicts = [
        a_watched_verdict(f"case-{n}", before=long, after=long, label=f"defect-{n}")
        for n in range(5)
    ]
    found = comparisons_of(*verdicts)
    assert [comparison.timeline is not None for comparison in found] == [True] * 3 + [False] * 2
    assert "harness trace" in found[-1].undrawn
    assert found[0].undrawn == ""


def test_timelines_leave_a_page_of_many_comparisons_small() -> None:
    def page_of(drawn: bool) -> int:
        verdicts = [
            a_watched_verdict(
                f"case-{n}",
                before=(*[a_kernel(api=f"k{n}")] * 9, a_transfer(), a_sync()),
                after=(a_kernel(),) * 9,
                label=f"defect-{n}",
            )
            for n in range(150)
        ]
        bare = [
            replace(
                verdict,
                traffic=replace(verdict.traffic, timeline=None),
                controls=tuple(replace(control, timeline=None) for control in verdict.controls),
            )
            for verdict in verdicts
            if verdict.traffic
        ]
        return len(render_html(a_run(*(verdicts if drawn else bare))))

    assert page_of(drawn=True) - page_of(drawn=False) < 1_600_000
