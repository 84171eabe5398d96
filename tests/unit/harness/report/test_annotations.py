"""Annotations: at the line that caused it, escaped as GitHub reads them, never more than it shows."""

from __future__ import annotations

import re
from pathlib import Path

from builders import (
    A_SITE,
    a_check,
    a_failed_traffic_check,
    a_run,
    a_transfer,
    a_verdict,
    a_violation,
)
from hypothesis import given
from hypothesis import strategies as st

from harness.model.event import Site
from harness.model.outcome import Outcome
from harness.report.annotations import MOST_ANNOTATIONS, annotation_lines
from harness.report.wording import visible

FAILED = a_check(outcome=Outcome.FAILED, summary="loss is wrong")

_COMMAND = re.compile(r"::(error|warning) ([^:]*)::(.*)")


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """An annotation as GitHub's runner reads it."""
    match = _COMMAND.fullmatch(line)
    assert match is not None, line
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    unescaped = {name: unescape(text) for name, text in properties.items()}
    return match[1], unescaped, unescape(match[3])


def unescape(text: str) -> str:
    for escape, character in (
        ("%3A", ":"),
        ("%2C", ","),
        ("%0A", "\n"),
        ("%0D", "\r"),
        ("%25", "%"),
    ):
        text = text.replace(escape, character)
    return text


def test_a_violation_is_told_at_the_line_of_its_first_event():
    (line,) = annotation_lines(a_run(a_verdict(a_failed_traffic_check())))
    level, properties, message = parsed(line)
    assert level == "error"
    assert properties["file"] == A_SITE.file
    assert properties["line"] == str(A_SITE.line)
    assert properties["title"].startswith("traffic failed in softmax_cross_entropy/")
    assert message.startswith("transfer limit exceeded within 'forward'\n  allowed   0 D2H")


def test_another_failure_is_told_where_its_case_is_written():
    verdict = a_verdict(FAILED)
    sites = {verdict.key: Site("tests/test_op.py", 7, "test_op")}
    _, properties, message = parsed(annotation_lines(a_run(verdict), sites=sites)[0])
    assert (properties["file"], properties["line"]) == ("tests/test_op.py", "7")
    assert "loss is wrong" in message


def test_without_a_place_there_is_none():
    _, properties, _ = parsed(annotation_lines(a_run(a_verdict(FAILED)))[0])
    assert list(properties) == ["title"]


def test_files_are_relative_to_the_workspace_where_they_are_in_it():
    violation = a_violation(a_transfer(site=Site("/work/repo/ops/loss.py", 3, "loss")))
    run = a_run(a_verdict(a_failed_traffic_check(violation)))
    inside = parsed(annotation_lines(run, workspace=Path("/work/repo"))[0])[1]
    outside = parsed(annotation_lines(run, workspace=Path("/elsewhere"))[0])[1]
    assert inside["file"] == "ops/loss.py"
    assert outside["file"] == "/work/repo/ops/loss.py"


def test_what_passed_was_skipped_or_is_pytests_own_is_not_annotated():
    checks = [
        a_check(),
        a_check(outcome=Outcome.SKIPPED),
        a_check(check="test", outcome=Outcome.FAILED),
    ]
    assert annotation_lines(a_run(a_verdict(*checks))) == ()


def test_what_is_inconclusive_is_a_warning():
    run = a_run(a_verdict(a_check(outcome=Outcome.INCONCLUSIVE)))
    assert parsed(annotation_lines(run)[0])[0] == "warning"


def test_there_are_never_more_than_github_shows_and_the_rest_is_counted():
    verdicts = [a_verdict(FAILED, case=str(number)) for number in range(25)]
    lines = annotation_lines(a_run(*verdicts))
    assert len(lines) == MOST_ANNOTATIONS
    assert "and 16 more errors: see the summary of this job" in lines[-1]


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_hostile_text_can_neither_end_the_command_nor_start_another(name, summary, file):
    failed = a_check(outcome=Outcome.FAILED, summary=f"{summary}\n::set-output::{summary}")
    verdict = a_verdict(failed, workload=name)
    lines = annotation_lines(a_run(verdict), sites={verdict.key: Site(f"{file},line=9", 7, "f")})
    for line in lines:
        assert line == visible(line)
        level, properties, _ = parsed(line)
        assert level == "error"
        assert set(properties) == {"file", "line", "title"}
        assert properties["line"] == "7"
