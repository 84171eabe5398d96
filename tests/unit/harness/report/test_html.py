"""The page is one file, loads nothing, and shows foreign text as text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_condition,
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_history,
    a_matmul_rate,
    a_record,
    a_run,
    a_sample,
    a_self_check,
    a_timeline,
    a_training,
    a_verdict,
    an_environment,
    an_error_map,
    an_estimate,
    an_event,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.model.budget import WHOLE_RUN
from harness.model.environment import Environment
from harness.model.event import Site
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.traffic import TrafficLine
from harness.model.training import Stage, Training
from harness.model.verdict import Run
from harness.model.waiver import Waiver
from harness.report import html
from harness.report.embedding import extract
from harness.report.html import content_security_policy, prose, render_html
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
    "compared": a_run(
        a_compared_verdict(case="slower"),
        a_compared_verdict(
            case="same",
            change=a_change(ratio=1.0, decision="unchanged"),
            outcome=Outcome.PASSED,
            ratios=(1.0, 1.0),
            process_starts=(0,),
        ),
        a_compared_verdict(case="far", change=a_change(ratio=2.0)),
        a_verdict(case="not timed"),
        baseline="main",
        paired_with="main",
    ),
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


def test_only_our_own_script_runs_and_the_policy_forbids_all_loading(page: Page) -> None:
    typed = [script for script in page.named("script") if "type" in script]
    assert typed == [{"type": "application/gzip", "id": "run-data"}]
    assert all(script == {} for script in page.named("script") if script not in typed)
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert {
        "http-equiv": "Content-Security-Policy",
        "content": content_security_policy(),
    } in page.named("meta")
    assert content_security_policy().startswith("default-src 'none'; script-src 'sha256-")
    assert "script-src 'unsafe-inline'" not in content_security_policy()


@pytest.mark.parametrize("element", ["script", "style"])
def test_what_is_embedded_is_what_the_policy_names(element: str) -> None:
    (text,) = re.findall(f"<{element}>(.*?)</{element}>", render_html(a_run()), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"{element}-src 'sha256-{digest}';" in content_security_policy()


def test_the_script_is_small_plain_and_asks_for_nothing() -> None:
    script = str(html.script())
    assert script.count("\n") <= 300
    for word in (
        "fetch(",
        "XMLHttp",
        "import",
        "eval(",
        "innerHTML",
        "http:",
        "https:",
        "Function(",
    ):
        assert word not in script


def test_every_style_sheet_of_a_section_is_embedded_and_that_of_the_page_comes_first() -> None:
    folder = Path(html.__file__).parent / "assets"
    sheets = [path.read_text("utf-8") for path in sorted(folder.glob("*.css"))]
    style = str(html.style())
    assert all(sheet in style for sheet in sheets)
    assert style.startswith((folder / "report.css").read_text("utf-8"))


def test_no_element_has_a_style_of_its_own_which_the_policy_would_forbid(page: Page) -> None:
    assert not any("style" in attributes for _, attributes in page.elements)


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
    pictures = [attributes for attributes in page.named("svg") if "role" in attributes]
    assert len(page.named("title")) == 1 + len(pictures)  # each picture has one of its own


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
    return extract(page.encode(), source="page", largest=2**24)


@pytest.mark.parametrize("run", RUNS.values(), ids=list(RUNS))
def test_the_run_itself_can_be_read_back_from_the_page(run: Run) -> None:
    assert decode_run(embedded(render_html(run)), source="page") == run


def with_text(text: str) -> Run:
    """A run in which every field of the model that can hold foreign text holds ``text``."""
    site = Site(text, 1, text)
    line = TrafficLine(api=text, count=2, blocking=True, site=site, regions=(text,))
    drawn = a_timeline(replace(an_event(api=text, regions=(text,)), site=site))
    failed = a_check(
        check=text,
        outcome=Outcome.FAILED,
        summary=text,
        evidence=text,
        details=(text,),
        next_step=text,
        change=a_change(decision=text, against=text),
    )
    waiver = Waiver(case=text, check=text, reason=text, since=text, until=text)
    verdict = a_verdict(
        failed,
        replace(failed, outcome=Outcome.SKIPPED, change=None, waiver=waiver),
        workload=text,
        case=text,
        parameters={text: text},
        traffic=a_record(
            label=text, lines=(line,), probe=text, regions={text: TrafficCounts()}, timeline=drawn
        ),
        controls=(replace(a_defective_record(label=text), timeline=drawn),),
        call_time=an_estimate(),
        throughput=Throughput(unit=text, units_per_call=1, bytes_per_call=1),
        timing_device=text,
        flops_per_call=1e6,
        errors=(an_error_map(output=text, dtype=text),),
        conditions=(a_condition(), a_condition(at_s=1.0, limited=(text,))),
        training=training_of(text),
    )
    elsewhere = Environment(hard={text: text}, soft={text: text}, commit=text, dirty=True)
    history = a_history(key=verdict.key, change_at=6, commit=text)
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
        environment=elsewhere,
        baseline_environment=replace(elsewhere, hard={text: f"{text} then"}),
        history=(replace(history, points=tuple(replace(p, created=text) for p in history.points)),),
        matmul_rate=a_matmul_rate(device=text),
    )


def training_of(text: str) -> Training:
    usual = a_training(program=text, data=text, notes=(text,))
    (curve,), (timing,) = usual.curves, usual.timings
    assert curve.band is not None
    return replace(
        usual,
        curves=(
            replace(
                curve, name=text, x_unit=text, unit=text, band=replace(curve.band, source=text)
            ),
        ),
        timings=(replace(timing, label=text, unit=text, stages=(Stage(name=text, seconds=0.1),)),),
        published=text,
    )


@cache
def usual_structure() -> list[tuple[str, tuple[str, ...]]]:
    return structure(Page(render_html(with_text("x"))))


def structure(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """Every element with the names of its attributes, but the code that a pair of backticks makes."""
    return [(tag, tuple(named)) for tag, named in page.elements if tag != "code" or named]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_and_changes_nothing_else(text: str) -> None:
    rendered = render_html(with_text(text))
    page = Page(rendered)
    assert visible(text) in page.text
    assert structure(page) == usual_structure()
    assert page.named("script") == [{"type": "application/gzip", "id": "run-data"}, {}]
    assert json.loads(embedded(rendered))["run_id"] == text


@given(st.text(st.characters(), min_size=1, max_size=30))
@settings(max_examples=50)
def test_no_text_at_all_becomes_markup(text: str) -> None:
    rendered = render_html(with_text(text))
    page = Page(rendered)
    assert visible(text) in page.text
    assert page.open == []
    assert structure(page) == usual_structure()
    assert json.loads(embedded(rendered))["run_id"] == text


def test_what_stands_between_backticks_is_code_and_nothing_but_code() -> None:
    assert prose("give it a `margin` or two") == "give it a <code>margin</code> or two"
    assert prose("`<b>`&`") == "<code>&lt;b&gt;</code>&amp;`"
    assert prose("``") == "``"


def test_no_backtick_of_a_message_is_left_raw() -> None:
    page = Page(render_html(RUNS["compared"]))
    assert "give the case a margin if" in page.text
    assert "`" not in page.text


def test_a_comparison_shows_both_times_the_ratio_and_a_bar_with_its_words() -> None:
    table = section(RUNS["compared"], "cases")
    for heading in ("baseline", "now", "ratio"):
        assert f'class="of-{heading}">{heading}</th>' in table
    assert "of-traffic" not in table
    text = Page(table).text
    assert "1.20 ms" in text
    assert "1.050x 1.045 to 1.055 regressed" in " ".join(text.split())
    assert table.count('<svg class="ratio') == 3
    assert table.count('data-label="ratio" data-by="') == 3
    assert "against the margin of 1.0 % (the band)" in text
    assert table.count('class="arrow"') == 1  # the case at twice the time lies beyond the axis


def test_the_details_of_a_comparison_show_every_process_and_the_drift() -> None:
    details = section(RUNS["compared"], "details")
    assert "<title>ratio of each process: 1.050x, 1.050x</title>" in details
    assert details.count('<svg class="drift"') == 3
    assert details.count('<svg class="processes"') == 2  # one of them ran in a single process
    assert 'class="boundary"' in details


def test_a_long_message_is_cut_with_its_true_length_in_headline_and_next_steps() -> None:
    failed = a_check(outcome=Outcome.FAILED, summary="y" * 10_001, next_step="look")
    run = a_run(a_verdict(failed, case="x" * 10_001))
    banner = render_html(run).partition("</header>")[0].partition("<header")[2]
    assert "(10,001 characters)" in banner
    assert "y" * 300 not in banner
    assert "y" * 601 not in section(run, "next")
    assert "y" * 10_001 in section(run, "details")


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


def test_a_case_nobody_has_to_look_at_is_told_without_pictures_and_loses_no_word() -> None:
    told = a_verdict(
        a_check(summary="loss 0.12 of the allowed error", details=("float32, 4,096 terms",)),
        a_check(check="inputs", summary="logits unchanged", evidence="bits before and after"),
        case="told",
        traffic=a_record(),
        call_time=an_estimate(),
        sample=a_sample(),
        errors=(an_error_map(output="gradient"),),
    )
    worse = (a_verdict(a_check(outcome=Outcome.FAILED), case=f"c{n}") for n in range(50))
    text = section(a_run(*worse, told), "details")
    assert "drawn for the 50 cases that need a look most" in text
    in_words = text[text.index('<p id="case-softmax-cross-entropy-told"') :].partition(
        "</details>"
    )[0]
    assert "<svg" not in in_words
    words = Page(in_words).text
    for each in (
        "float32, 4,096 terms",
        "logits unchanged bits before and after",
        "gradient 4x6 float32",
        "times the allowed",
        "median 1.25 ms",
        "no copy, no wait in forward, whole call",
    ):
        assert each in words, each


def test_what_failed_beyond_the_pictured_keeps_its_box_and_its_next_step() -> None:
    many = [a_verdict(a_failed_traffic_check(), case=f"c{n}") for n in range(52)]
    text = section(a_run(*many), "details")
    assert text.count("transfer limit exceeded within &#39;forward&#39;") == 52
    assert text.count("<b>Next:</b> remove the copy or wait") == 52
