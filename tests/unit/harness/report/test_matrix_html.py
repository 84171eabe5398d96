"""The page of several runs: one file that holds them all, and gives itself again."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from builders import (
    a_check,
    a_compared_verdict,
    a_defective_record,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_sample,
    a_verdict,
    an_environment,
    an_estimate,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.html import content_security_policy
from harness.report.json import read_runs
from harness.report.matrix_html import render_matrix
from harness.report.matrix_markdown import matrix_markdown
from harness.report.wording import visible


def a_fleet(count: int, cases: int) -> list[Run]:
    """Runs that differ in their time, with what a case of a green run has."""
    return [
        replace(
            a_run(
                *(
                    a_verdict(
                        *(
                            a_check(check=f"check {n}", summary=f"found {n * case}")
                            for n in range(6)
                        ),
                        case=f"4096x{case}-float32",
                        traffic=a_record(),
                        sample=a_sample(call_ns=tuple(1e6 + 13.7 * n * case for n in range(80))),
                        call_time=an_estimate(value=1.25e6 + number),
                        throughput=Throughput(
                            unit="samples", units_per_call=4096.0, bytes_per_call=49_152_000
                        ),
                    )
                    for case in range(cases)
                ),
                run_id=f"run-{number}",
                environment=an_environment(commit=f"{number:016x}"),
            ),
            created=f"2025-11-{number + 1:02}T16:50:00+00:00",
        )
        for number in range(count)
    ]


def a_mixed_fleet() -> list[Run]:
    bad = a_verdict(a_failed_traffic_check(), traffic=a_defective_record(label="bad"))
    return [
        a_run(a_verdict(traffic=a_record(), call_time=an_estimate()), notes=("cold",)),
        a_run(bad, a_verdict(case="only here"), run_id="second"),
        a_run(a_compared_verdict(), run_id="third", paired_with="main"),
        a_run(run_id="empty"),
    ]


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("</head>")[2]).split())


def written(page: str, folder: Path, name: str = "page.html") -> Path:
    path = folder / name
    path.write_text(page, encoding="utf-8")
    return path


@pytest.mark.parametrize("runs", [a_fleet(3, 2), a_mixed_fleet()], ids=["green", "mixed"])
def test_what_the_page_holds_gives_the_same_page(runs: list[Run], tmp_path: Path) -> None:
    page = render_matrix(runs)
    assert render_matrix(read_runs(written(page, tmp_path))) == page


def test_it_says_outcomes_times_traffic_findings_and_what_is_missing() -> None:
    text = words(render_matrix(a_mixed_fleet()))
    for told in (
        "2 of 4 runs failed",
        "not in this run",
        "✗ D2H 1 / 0",
        "ops/host_roundtrip.py:31 in forward",
        "1.050x of main (0123456789ab), regressed",
        "cold",
        "What differs between the runs",
        "no GPU took part",
    ):
        assert told in text, told


def test_it_loads_nothing_and_runs_only_what_its_policy_names() -> None:
    page = render_matrix(a_mixed_fleet())
    assert f'content="{content_security_policy()}"'.replace("'", "&#39;") in page
    assert set(re.findall(r'(?:src|href)="([^"#]+)"', page)) == {"data:,"}
    assert page.count('<script type="application/gzip" id="run-data') == 4
    assert page.count("<script>") == 1


def test_every_link_has_a_target_and_every_cell_its_run_as_a_label() -> None:
    page = re.sub(r"(?s)<script.*?</script>|<style.*?</style>", "", render_matrix(a_mixed_fleet()))
    targets = re.findall(r'id="([^"]+)"', page)
    assert len(targets) == len(set(targets))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(targets)
    assert page.count('<td role="cell"') == page.count('data-label="')


def foreign(text: str) -> list[Run]:
    wrong = a_check(check=text, outcome=Outcome.FAILED, summary=text, evidence=text, next_step=text)
    verdict = a_verdict(wrong, workload=text, case=text, parameters={text: text})
    environment = replace(an_environment(commit=text), hard={text: text, "gpu.name": text})
    run = a_run(verdict, run_id=text, command=text, notes=(text,), environment=environment)
    return [run, a_run(a_verdict(wrong), environment=an_environment())]


def structure(page: str) -> list[str]:
    return [tag for tag in re.findall(r"<(/?[a-z0-9]+)", page) if tag not in ("code", "/code")]


@settings(max_examples=25)
@given(
    st.one_of(
        st.text(min_size=1, max_size=20),
        st.sampled_from(["</script><script>x", "\"'><img src=x>", "{{ 7 }}", "\0\x1b", "\ud800"]),
    )
)
def test_foreign_text_is_shown_and_never_becomes_markup(text: str) -> None:
    page = render_matrix(foreign(text), title=text)
    assert structure(page) == structure(render_matrix(foreign("x"), title="x"))
    page.encode()


def test_hostile_text_is_readable() -> None:
    text = "</td>\u202e\0"
    shown = visible(text).replace("<", "&lt;").replace(">", "&gt;")
    assert shown in render_matrix(foreign(text))


def test_a_cell_costs_what_keeps_twelve_runs_of_a_hundred_cases_below_a_megabyte() -> None:
    few, more = (len(render_matrix(a_fleet(3, cases)).encode()) for cases in (2, 22))
    each = (more - few) / 60
    assert few + each * 1_200 < 1_000_000
    assert few + each * 10_000 < 10_000_000


def test_the_same_in_markdown_is_a_table_of_runs_and_one_of_cases() -> None:
    text = matrix_markdown(a_mixed_fleet())
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert [token.type for token in tokens].count("table_open") == 2
    assert "not in this run" in text
    assert "✗ failed \\(traffic\\), D2H 1 / 0, syncs 1 / 0" in text
    assert text.index("### Cases") < text.index("### What to do next")


@settings(max_examples=15)
@given(st.integers(0, 6_000))
def test_markdown_of_several_runs_never_exceeds_its_limit(most_bytes: int) -> None:
    text = matrix_markdown(a_fleet(2, 12), most_bytes=most_bytes)
    assert len(text.encode()) <= most_bytes
    assert (
        not text
        or "| 4096x11" in text.replace("\\", "")
        or "Left out" in text
        or "/4096x11" in text
    )
