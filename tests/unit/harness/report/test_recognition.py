"""A form of a run replaces files of that form, and no other file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_check, a_run, a_verdict

from harness.errors import UsageError
from harness.interchange.pytest_benchmark_writer import encode_benchmarks
from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.html import render_html
from harness.report.json import encode_run
from harness.report.junit import junit_xml
from harness.report.markdown import markdown_summary
from harness.report.matrix_html import render_matrix
from harness.report.matrix_markdown import matrix_markdown
from harness.report.recognition import (
    BENCHMARKS,
    JUNIT,
    MARKDOWN,
    PAGE,
    RECORD,
    Form,
    refuse_foreign,
)

RUNS = [a_run(a_verdict(a_check(outcome=outcome))) for outcome in Outcome]

ENCODERS: list[tuple[Form, Callable[[Run], bytes]]] = [
    (PAGE, lambda run: render_html(run).encode()),
    (PAGE, lambda run: render_matrix([run, replace(run, run_id="b")]).encode()),
    (RECORD, encode_run),
    (JUNIT, lambda run: junit_xml([run])),
    (MARKDOWN, lambda run: markdown_summary(run).encode()),
    (MARKDOWN, lambda run: matrix_markdown([run, replace(run, run_id="b")]).encode()),
    (BENCHMARKS, encode_benchmarks),
]


@pytest.mark.parametrize(("form", "encode"), ENCODERS)
def test_what_was_written_in_a_form_is_replaced_by_that_form_alone(
    form: Form, encode: Callable[[Run], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "out"
    for run in RUNS:
        path.write_bytes(encode(run))
        refuse_foreign(path, form)
        for other in (PAGE, RECORD, JUNIT, MARKDOWN, BENCHMARKS):
            if other is not form:
                with pytest.raises(UsageError, match=f"exists and is no {other.name}; remove it"):
                    refuse_foreign(path, other)


@pytest.mark.parametrize("form", [PAGE, RECORD, JUNIT, MARKDOWN, BENCHMARKS])
@pytest.mark.parametrize(
    "text",
    [
        "# A readme\n",
        "## Passed tests\n",
        "<!doctype html><p>mine",
        '<?xml version="1.0"?><testsuites name="pytest tests"/>',
        '{"format": "ondevice-harness baseline"}',
        "{}",
        "\0",
    ],
)
def test_a_foreign_file_is_refused_and_an_empty_one_or_none_is_not(
    form: Form, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    refuse_foreign(path, form)
    path.touch()
    refuse_foreign(path, form)
    path.write_text(text)
    with pytest.raises(UsageError, match="remove it or name another file"):
        refuse_foreign(path, form)
