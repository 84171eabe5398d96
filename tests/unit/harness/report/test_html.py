"""The page is one file, loads nothing, and shows foreign text as text."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from builders import (
    a_check,
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_sample,
    a_self_check,
    a_verdict,
    an_environment,
    an_estimate,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.budget import WHOLE_RUN
from harness.model.event import Site
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.traffic import TrafficLine
from harness.model.verdict import Run
from harness.report.embedding import extract
from harness.report.html import CONTENT_SECURITY_POLICY, render_html
from harness.report.json import decode_run
from harness.report.wording import visible

VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "]]>&amp;&#0;",
    "abc\u202egnp.exe",
    "nul\0\x1b[31m",
    "\udcff.py",
    "x" * 10_000,
    "</style><style>*{display:none}",
]


class Page(HTMLParser):
    """What a browser would see: elements in order, text, and whether every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def a_full_run() -> Run:
    cold = {WHOLE_RUN: TrafficCounts(h2d=3, syncs=2), "forward": TrafficCounts(h2d=3, syncs=2)}
    good = a_verdict(
        a_check(details=("float32, 4,096 terms",)),
        traffic=a_record(first_call=cold),
        controls=(a_defective_record(),),
        sample=a_sample(),
        call_time=an_estimate(),
        throughput=Throughput(unit="samples", units_per_call=4096, bytes_per_call=49_152_000),
    )
    open_ = a_check(
        check="traffic", outcome=Outcome.INCONCLUSIVE, summary="no boundary", next_step="gpu"
    )
    return a_run(
        good,
        a_verdict(a_failed_traffic_check(), case="bad", traffic=a_defective_record(label="bad")),
        a_verdict(open_, case="open"),
        checks=(a_check(check="baseline", outcome=Outcome.SKIPPED, next_step="save one"),),
        notes=("a note",),
        copy_bandwidth=a_copy_bandwidth(before=49.152e9, after=40e9),
        self_checks=(
            a_self_check(),
            a_self_check(
                key="mlp/float32",
                outcome=Outcome.INCONCLUSIVE,
                summary="this machine must not gate at +2.0 %",
                next_step="give each decision more time",
            ),
        ),
    )


RUNS = {
    "full": a_full_run(),
    "empty": a_run(),
    "passed": a_run(a_verdict(), baseline="main"),
    "only run checks": a_run(checks=(a_check(),), environment=an_environment(commit=None)),
    "many findings": a_run(
        *(
            a_verdict(a_check(outcome=Outcome.FAILED, summary=f"{n}"), case=f"c{n}")
            for n in range(15)
        )
    ),
}


@pytest.fixture(params=RUNS.values(), ids=list(RUNS))
def page(request: pytest.FixtureRequest) -> Page:
    return Page(render_html(request.param))


def test_every_element_is_closed_in_order(page: Page) -> None:
    assert page.open == []


def test_nothing_is_loaded_from_anywhere(page: Page) -> None:
    loading = {
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in {"src", "href", "action", "data", "poster", "srcset", "formaction"}
    }
    assert {value for value in loading if not value.startswith("#")} == {"data:,"}


def test_no_script_runs_and_the_policy_forbids_all_loading(page: Page) -> None:
    assert [script["type"] for script in page.named("script")] == ["application/gzip"]
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert {
        "http-equiv": "Content-Security-Policy",
        "content": CONTENT_SECURITY_POLICY,
    } in page.named("meta")
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none';")


def test_every_link_within_the_page_has_a_target_and_ids_are_unique(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [link["href"] for link in page.named("a")]
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_every_table_has_a_caption_and_every_heading_cell_a_scope(page: Page) -> None:
    assert len(page.named("caption")) == len(page.named("table"))
    assert all(cell.get("scope") in {"row", "col", "rowgroup"} for cell in page.named("th"))


def test_every_box_that_scrolls_can_be_reached_and_is_named(page: Page) -> None:
    boxes = [attributes for _, attributes in page.elements if "tabindex" in attributes]
    assert all(box.get("aria-label") and box.get("role") for box in boxes)


def test_the_language_the_viewport_and_the_title_are_set(page: Page) -> None:
    assert page.named("html") == [{"lang": "en"}]
    assert any(meta.get("name") == "viewport" for meta in page.named("meta"))
    assert len(page.named("title")) == 1


def test_the_full_run_shows_what_a_reader_looks_for() -> None:
    text = Page(render_html(a_full_run())).text
    for words in (
        "1 of 3 cases failed: softmax_cross_entropy/bad",
        "exit status",
        "ops/host_roundtrip.py:31 in forward",
        "4 B device -> pageable, cudaMemcpyAsync + stream sync",
        "over budget",
        "within budget",
        "first (cold) call: 0 D2H, 3 H2D (0 B), 2 syncs",
        "1.20 to 1.30 ms",
        "3.28 M samples/s",
        "39.3 GB/s, 80.0 % of copy",
        "49.2 GB/s before and 40.0 GB/s after",
        "the machine changed its pace while it timed (-18.6 %)",
        "Self-check of this machine",
        "1 of 2 ops can be gated on this machine",
        "+2.0 % in 19 of 20",
        "0 of 20 (< 13.9 %)",
        "3 h ago",
        "give each decision more time",
        "EPYC 7B13",
        "git checkout 0123456789abcdef",
        "no GPU took part",
        "a note",
        "save one",
    ):
        assert words in text, words


def test_every_outcome_has_its_sign_beside_its_colour() -> None:
    text = Page(render_html(a_full_run())).text
    assert {"✓", "✗", "?", "○"} <= set(text)


def embedded(page: str) -> bytes:
    return extract(page.encode(), source="page", largest=2**20)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
def test_the_run_itself_can_be_read_back_from_the_page(run: Run) -> None:
    assert decode_run(embedded(render_html(run)), source="page") == run


def with_text(text: str) -> Run:
    """A run in which everything that can be foreign is ``text``."""
    line = TrafficLine(api=text, count=2, blocking=True, site=Site(text, 1, text), regions=(text,))
    failed = a_check(
        check=text,
        outcome=Outcome.FAILED,
        summary=text,
        evidence=text,
        details=(text,),
        next_step=text,
    )
    verdict = a_verdict(
        failed,
        workload=text,
        case=text,
        parameters={text: text},
        traffic=a_record(label=text, lines=(line,), probe=text, regions={text: TrafficCounts()}),
        controls=(a_defective_record(label=text),),
        call_time=an_estimate(),
        throughput=Throughput(unit=text, units_per_call=1, bytes_per_call=1),
        timing_device=text,
    )
    return a_run(
        verdict,
        run_id=text,
        command=text,
        baseline=text,
        checks=(failed,),
        notes=(text,),
        copy_bandwidth=a_copy_bandwidth(device=text),
        self_checks=(
            a_self_check(key=text, summary=text, next_step=text, device=text, created=text),
            replace(a_self_check(key=f"{text} unchecked", summary=text), decisions=0),
        ),
    )


def structure(run: Run) -> list[str]:
    return [tag for tag, _ in Page(render_html(run)).elements]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_and_changes_nothing_else(text: str) -> None:
    run = with_text(text)
    page = Page(render_html(run))
    assert visible(text) in page.text
    assert structure(run) == structure(with_text("x"))
    assert page.named("script") == [{"type": "application/gzip", "id": "run-data"}]
    assert json.loads(embedded(render_html(run)))["run_id"] == text


@given(st.text(st.characters(), min_size=1, max_size=30))
@settings(max_examples=50)
def test_no_text_at_all_becomes_markup(text: str) -> None:
    run = with_text(text)
    page = Page(render_html(run))
    assert visible(text) in page.text
    assert page.open == []
    assert structure(run) == structure(with_text("x"))
    assert json.loads(embedded(render_html(run)))["run_id"] == text


def section(run: Run, name: str) -> str:
    text = render_html(run)
    return text[text.index(f'<section id="{name}"') :].partition("</section>")[0]


def test_notes_stand_with_the_next_steps_and_all_of_them_are_there() -> None:
    notes = tuple(f"case {n}: first call 3 H2D" for n in range(7))
    text = section(a_run(a_verdict(), notes=notes), "next")
    assert all(note in text for note in notes)
    assert "<summary>2 more</summary>" in text


def test_a_first_call_over_the_budget_is_told_in_the_case_table() -> None:
    cold = {WHOLE_RUN: TrafficCounts(), "forward": TrafficCounts(d2h=1, syncs=1)}
    run = a_run(a_verdict(traffic=a_record(first_call=cold)))
    told = Page(section(run, "cases")).text
    assert "first call forward D2H 1 / 0 syncs 1 / 0" in told


def test_a_test_body_that_ran_once_is_never_called_warm_or_cold() -> None:
    once = replace(a_defective_record(), runs=1, first_call={})
    text = Page(render_html(a_run(a_verdict(traffic=once)))).text
    assert "in the one recorded run" in text
    assert "warm" not in text
    assert "cold" not in text


def test_a_case_without_traffic_needs_no_table_of_zeros() -> None:
    still = section(a_run(a_verdict(traffic=a_record())), "details")
    assert "no copy, no wait in forward, whole call" in still
    assert "<table" not in still
    noisy = section(a_run(a_verdict(traffic=a_defective_record())), "details")
    assert noisy.count("<table") == 1


def test_what_passed_is_folded_together_and_what_did_not_is_open() -> None:
    failed = a_verdict(a_check(outcome=Outcome.FAILED), case="bad")
    text = section(a_run(*(a_verdict(case=f"c{n}") for n in range(9)), failed), "details")
    assert "<summary>9 cases that passed</summary>" in text
    assert text.count('<details class="case" open>') == 1
    assert text.count('<details class="case">') == 9


def test_cases_that_passed_in_part_are_not_said_to_have_passed() -> None:
    skipped = a_check(check="throughput", outcome=Outcome.SKIPPED)
    run = a_run(*(a_verdict(a_check(), skipped, case=f"c{n}") for n in range(4)))
    assert "4 cases that passed or were skipped" in section(run, "details")
    assert section(run, "cases").count("passed with skips") == 4


def test_foreign_text_keeps_its_blanks_though_templates_lose_theirs() -> None:
    run = a_run(a_verdict(a_failed_traffic_check()))
    assert "\n  allowed   0 D2H   (the loss stays on the device: SINGA-502)\n" in render_html(run)


def test_a_timed_run_on_an_unchecked_machine_says_so_with_the_command() -> None:
    text = section(a_run(a_verdict(call_time=an_estimate())), "self-check")
    assert "none was made on this machine" in text
    assert ">harness selfcheck</pre>" in text
    assert "<table" not in text


def test_an_op_that_could_not_be_checked_says_why_instead_of_figures() -> None:
    broken = replace(
        a_self_check(outcome=Outcome.FAILED, summary="not checked: it raised"), decisions=0
    )
    text = section(a_run(a_verdict(), self_checks=(broken,)), "self-check")
    assert "not checked: it raised" in text
    assert "13.9 %" not in text


def test_a_run_that_timed_nothing_has_no_section_about_it() -> None:
    assert 'id="self-check"' not in render_html(a_run(a_verdict()))
    assert "copy bandwidth" not in render_html(a_run(a_verdict()))
