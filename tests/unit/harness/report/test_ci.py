"""Publishing to a CI service: only where it asks, within its limits, and without any effect on the run."""

from __future__ import annotations

import io
import os
from pathlib import Path

from builders import a_check, a_run, a_verdict

from harness.model.outcome import Outcome
from harness.report.ci import is_wanted, publish
from harness.report.markdown import LARGEST_SUMMARY_BYTES

RUN = a_run(a_verdict(a_check(outcome=Outcome.FAILED)))


def published(environ: dict[str, str], run=RUN) -> tuple[str, str]:
    stream, errors = io.StringIO(), io.StringIO()
    publish(run, environ, stream, errors=errors)
    return stream.getvalue(), errors.getvalue()


def test_elsewhere_nothing_happens():
    assert published({}) == ("", "")
    assert not is_wanted({})
    assert published({"GITHUB_ACTIONS": "false"}) == ("", "")


def test_annotations_are_printed_under_github_actions_only():
    out, errors = published({"GITHUB_ACTIONS": "true"})
    assert out.startswith("::error title=")
    assert errors == ""


def test_the_summary_is_appended(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("before")
    assert published({"GITHUB_STEP_SUMMARY": str(path)}) == ("", "")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n## ✗ FAILED")


def test_a_new_summary_is_created(tmp_path):
    path = tmp_path / "summary.md"
    published({"GITHUB_STEP_SUMMARY": str(path)})
    assert path.read_text(encoding="utf-8").startswith("## ✗ FAILED")


def test_what_others_wrote_counts_towards_the_limit(tmp_path):
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (LARGEST_SUMMARY_BYTES - 3000))
    published({"GITHUB_STEP_SUMMARY": str(path)})
    assert LARGEST_SUMMARY_BYTES - 3000 < path.stat().st_size <= LARGEST_SUMMARY_BYTES


def test_a_full_summary_is_left_alone_and_said_to_be_full(tmp_path):
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * LARGEST_SUMMARY_BYTES)
    _, errors = published({"GITHUB_STEP_SUMMARY": str(path)})
    assert path.stat().st_size == LARGEST_SUMMARY_BYTES
    assert errors.startswith("harness: the job summary ")
    assert "is full" in errors
    assert errors.count("\n") == 1


def test_a_summary_that_cannot_be_written_is_one_line_on_stderr(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, tmp_path / "no" / "summary.md", pipe, Path("a" * 300)):
        out, errors = published({"GITHUB_STEP_SUMMARY": str(path), "GITHUB_ACTIONS": "true"})
        assert errors.startswith("harness: the job summary ")
        assert errors.count("\n") == 1
        assert out.startswith("::error ")


def test_an_encoding_that_lacks_our_signs_is_no_obstacle():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    publish(
        a_run(a_verdict(a_check(outcome=Outcome.FAILED, summary="ü"))),
        {"GITHUB_ACTIONS": "true"},
        stream,
    )
    stream.flush()
    assert raw.getvalue().startswith(b"::error ")
