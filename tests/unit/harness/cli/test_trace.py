"""``harness trace``: a trace of what was asked for, or one line that says why there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from builders import (
    a_check,
    a_defective_record,
    a_kernel,
    a_record,
    a_run,
    a_sync,
    a_trace,
    a_transfer,
    a_verdict,
)

from harness.cli import main
from harness.model.outcome import Outcome
from harness.model.verdict import Verdict
from harness.report.files import write_report
from harness.report.html import render_html
from harness.report.json import encode_run
from harness.session.timeline import timeline_of


def a_watched(case: str, workload: str = "loss") -> Verdict:
    return a_verdict(
        workload=workload,
        case=case,
        traffic=replace(a_record(), timeline=timeline_of(a_trace(a_kernel()))),
        controls=(
            replace(
                a_defective_record(),
                timeline=timeline_of(a_trace(a_kernel(), a_transfer(), a_sync())),
            ),
        ),
    )


RUN = a_run(a_watched("64x10"), a_watched("4096x1000"), a_watched("toy", workload="mlp"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_bytes(encode_run(RUN))
    return path


def processes(path: Path) -> list[str]:
    events = json.loads(path.read_text())["traceEvents"]
    return [event["args"]["name"] for event in events if event["name"] == "process_name"]


def test_every_case_and_its_defect_are_written(run: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "t.json"
    assert main(["trace", str(run), "-o", str(path)]) == 0
    assert len(processes(path)) == 6
    assert capsys.readouterr().out == (
        f"wrote {path} (6 timelines, 12 events); open it in https://ui.perfetto.dev\n"
    )


@pytest.mark.parametrize(
    ("patterns", "cases"),
    [
        (["loss/64x10"], ["loss/64x10"]),
        (["64*"], ["loss/64x10"]),
        (["loss/*"], ["loss/64x10", "loss/4096x1000"]),
        (["mlp", "4096x1000"], ["loss/4096x1000", "mlp/toy"]),
    ],
)
def test_cases_are_chosen_by_key_by_name_or_by_workload(
    run: Path, tmp_path: Path, patterns, cases
) -> None:
    path = tmp_path / "t.json"
    options = [word for pattern in patterns for word in ("--case", pattern)]
    assert main(["trace", str(run), *options, "-o", str(path)]) == 0
    assert [name.split(" (")[0] for name in processes(path) if "roundtrip" not in name] == cases


def test_the_page_of_a_run_is_as_good_as_its_file(tmp_path: Path) -> None:
    page, path = tmp_path / "report.html", tmp_path / "t.json"
    page.write_text(render_html(RUN), encoding="utf-8")
    assert main(["trace", str(page), "-o", str(path)]) == 0
    assert len(processes(path)) == 6


def test_standard_output_holds_the_trace_and_nothing_else(run: Path, capsys) -> None:
    assert main(["trace", str(run), "-o", "-"]) == 0
    told = capsys.readouterr()
    assert len(json.loads(told.out)["traceEvents"]) > 6
    assert told.err.startswith("wrote standard output (6 timelines")


@pytest.mark.parametrize(
    ("verdict", "options"),
    [(a_verdict(traffic=a_record()), []), (a_verdict(), ["--case", "4096x1000-float32"])],
)
def test_a_run_without_a_timeline_is_one_line_and_a_usage_error(
    tmp_path: Path, capsys, verdict, options
) -> None:
    file, path = tmp_path / "old.json", tmp_path / "t.json"
    file.write_bytes(encode_run(a_run(verdict)))
    assert main(["trace", str(file), *options, "-o", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "has no timeline of" in line
    assert "harness run" in line
    assert not path.exists()


def test_a_pattern_that_names_nothing_says_what_comes_near(run: Path, tmp_path: Path, capsys):
    path = tmp_path / "t.json"
    assert main(["trace", str(run), "--case", "64x1O", "-o", str(path)]) == 2
    assert "'64x1O'; did you mean '64x10'?" in capsys.readouterr().err
    assert not path.exists()


def test_a_pattern_like_no_name_lists_the_cases(run: Path, tmp_path: Path, capsys) -> None:
    assert main(["trace", str(run), "--case", "zzz", "-o", str(tmp_path / "t.json")]) == 2
    assert "it has loss/64x10, loss/4096x1000, mlp/toy" in capsys.readouterr().err


def test_the_folder_of_a_run_is_as_good_as_its_file(tmp_path: Path) -> None:
    folder, path = write_report(RUN, tmp_path), tmp_path / "t.json"
    assert main(["trace", str(folder), "-o", str(path)]) == 0
    assert len(processes(path)) == 6


def test_of_a_run_that_crashed_the_advice_names_what_to_run_again(tmp_path: Path, capsys) -> None:
    crashed = a_verdict(a_check(check="run", outcome=Outcome.FAILED), workload="loss", case="a")
    file = tmp_path / "run.json"
    file.write_bytes(encode_run(a_run(crashed)))
    assert main(["trace", str(file), "-o", str(tmp_path / "t.json")]) == 2
    told = capsys.readouterr().err
    assert "raised or died" in told
    assert told.endswith("mend that, then harness run loss --device auto\n")


def test_an_earlier_trace_is_replaced(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    main(["trace", str(run), "-o", str(path)])
    assert main(["trace", str(run), "--case", "mlp", "-o", str(path)]) == 0
    assert len(processes(path)) == 2


def test_what_is_no_trace_is_not_overwritten(run: Path, tmp_path: Path, capsys) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")
    for target in (notes, run):
        before = target.read_bytes()
        assert main(["trace", str(run), "-o", str(target)]) == 2
        assert target.read_bytes() == before
    assert "is no trace of the harness" in capsys.readouterr().err.splitlines()[0]


def test_a_file_that_is_no_run_is_refused_by_name(tmp_path: Path, capsys) -> None:
    file = tmp_path / "other.json"
    file.write_text("{}")
    assert main(["trace", str(file), "-o", str(tmp_path / "t.json")]) == 2
    assert str(file) in capsys.readouterr().err
