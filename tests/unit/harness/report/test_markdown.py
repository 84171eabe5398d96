"""The job summary: whole within its limit, and foreign text in it is only ever text."""

from __future__ import annotations

from dataclasses import replace

from builders import (
    a_check,
    a_compared_verdict,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_verdict,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.model.outcome import Outcome
from harness.model.waiver import Waiver
from harness.report.markdown import fenced, markdown_summary, markdown_text
from harness.report.wording import visible

HOSTILE = [
    "a|b",
    "`code` ``more``",
    "line\nbreak\r\n# heading",
    "<img src=x onerror=1>",
    "[link](http://x)",
    "\u202eturned",
    "nul\x00",
    "::error::x",
    "@someone #1 :smile: $x$",
    "| --- |",
    "\ud800",
    "*bold* _it_ ~~gone~~",
    "\\",
]

hostile_text = st.one_of(
    st.text(max_size=40), st.lists(st.sampled_from(HOSTILE), max_size=4).map("".join)
)


def shown(markdown: str) -> list[str]:
    """The plain text of each inline run of a document, failing where anything is more than text."""
    texts = []
    for token in MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(markdown):
        if token.type == "inline":
            assert {child.type for child in token.children} <= {"text", "text_special"}, token
            texts.append("".join(child.content for child in token.children))
    return texts


@given(hostile_text)
def test_foreign_text_reads_as_it_stands(text):
    wanted = visible(text).strip()
    assert shown(f"| {markdown_text(text)} |\n| --- |\n") == [wanted]


@given(st.lists(hostile_text, min_size=1, max_size=4).map("\n".join))
def test_a_block_of_code_holds_its_lines_and_nothing_ends_it(text):
    tokens = MarkdownIt("commonmark").parse(fenced(text))
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content == "".join(f"{visible(line)}\n" for line in text.split("\n"))


@settings(max_examples=30)
@given(hostile_text, hostile_text)
def test_hostile_names_leave_the_table_as_it_is(workload, summary):
    failed = a_check(outcome=Outcome.FAILED, summary=summary, next_step=summary)
    text = markdown_summary(a_run(a_verdict(failed, workload=workload, traffic=a_record())))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    rows = [token for token in tokens if token.type == "tr_open"]
    cells = [token for token in tokens if token.type in ("td_open", "th_open")]
    assert len(rows) == 2
    assert len(cells) % 2 == 0
    assert [token.content for token in tokens if token.type == "heading_open"] == [
        ""
    ] * 4  # the verdict, cases, next steps, how to get it again
    assert not any(token.type == "html_block" for token in tokens)
    text.encode()


def test_it_says_verdict_cases_failures_and_next_steps():
    text = markdown_summary(
        a_run(a_verdict(a_failed_traffic_check(), traffic=a_record()), a_verdict(case="b"))
    )
    assert text.startswith("## ✗ FAILED\n")
    assert "exit 1" in text
    assert "transfer limit exceeded within 'forward'" in text
    assert "next: remove the copy or wait" in text
    assert text.index("### Cases") < text.index("### What to do next")


def test_a_run_that_passed_says_so():
    assert markdown_summary(a_run(a_verdict())).startswith("## ✓ PASSED\n")


@given(st.integers(0, 20_000))
@settings(max_examples=30)
def test_it_never_exceeds_its_limit(most_bytes):
    verdicts = [
        a_verdict(a_check(outcome=Outcome.FAILED, summary=f"ü{number}" * 9), case=f"ö{number}")
        for number in range(30)
    ]
    assert len(markdown_summary(a_run(*verdicts), most_bytes=most_bytes).encode()) <= most_bytes


def test_what_was_left_out_is_counted():
    verdicts = [
        a_verdict(a_check(outcome=Outcome.FAILED, summary=f"broken {number}"), case=str(number))
        for number in range(3000)
    ]
    text = markdown_summary(a_run(*verdicts), most_bytes=60_000)
    rows, steps = text.count("\n| ✗ |"), text.count("\n**")
    assert f"{3000 - rows:,} rows of the table and {3000 - steps:,} steps" in text
    assert rows > 100
    assert steps > 100


def test_ten_thousand_cases_are_cut_to_a_mebibyte_and_what_is_missing_is_counted():
    failed = a_check(outcome=Outcome.FAILED, summary="x" * 300)
    verdicts = [a_verdict(failed, case=str(number)) for number in range(10_000)]
    text = markdown_summary(a_run(*verdicts))
    assert len(text.encode()) <= 2**20
    assert f"{10_000 - text.count(chr(10) + '| ✗ |'):,} rows of the table" in text


def test_the_same_run_always_gives_the_same_text():
    run = a_run(a_verdict(a_failed_traffic_check(), traffic=a_record()), a_compared_verdict())
    assert markdown_summary(run) == markdown_summary(run)


def test_a_comparison_shows_the_ratio_with_its_interval_and_what_it_decides():
    text = markdown_summary(a_run(a_compared_verdict(), paired_with="main"))
    assert "| baseline | call time | ratio |" in text
    assert r"| 1.20 ms | 1.25 ms 1.20 to 1.30 ms | 1.050x \(1.045 to 1.055\) regressed |" in text


def test_what_was_waived_is_counted_beside_the_verdict():
    waiver = Waiver(case="*", check="values", reason="known", since="2025-11-01")
    waived = replace(a_check(outcome=Outcome.SKIPPED), waiver=waiver)
    assert r"1 skipped \(waived\)" in markdown_summary(a_run(a_verdict(waived)))
    assert "waived" not in markdown_summary(a_run(a_verdict()))


def test_how_to_get_the_run_and_its_page_again_comes_last():
    text = markdown_summary(a_run(a_verdict(), command="harness run --seed 7"))
    assert text.index("harness run --seed 7") < text.index("`harness report FILE`")
    assert text.endswith("`harness report FILE`\n")
