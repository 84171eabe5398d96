"""``harness report``: the same page again, one page of several runs, and no file lost to a slip."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from builders import a_check, a_record, a_run, a_sample, a_verdict, an_environment
from click.testing import CliRunner, Result

from harness.baseline.promise import promised_by
from harness.baseline.stores.opening import open_store
from harness.cli.report import report_command
from harness.errors import FileFormatError, HarnessError, UsageError
from harness.model.outcome import Outcome
from harness.report.files import write_report
from harness.report.json import encode_run, read_runs

FIRST = a_run(a_verdict(traffic=a_record(), sample=a_sample()), run_id="first")
SECOND = a_run(
    a_verdict(a_check(outcome=Outcome.FAILED)),
    run_id="second",
    environment=an_environment(commit="fedcba9876543210"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two runs as ``harness run`` leaves them."""
    monkeypatch.chdir(tmp_path)
    for run in (FIRST, SECOND):
        write_report(run, tmp_path / "reports")
    return tmp_path


def report(*arguments: str) -> Result:
    return CliRunner().invoke(report_command, arguments, standalone_mode=False)


def refusal(*arguments: str) -> HarnessError:
    error = report(*arguments).exception
    assert isinstance(error, HarnessError)
    assert "\n" not in str(error)
    return error


@pytest.mark.parametrize(
    "source", ["reports/first", "reports/first/run.json", "reports/first/report.html"]
)
def test_the_page_of_one_run_is_the_very_page_the_run_wrote(source: str, folder: Path) -> None:
    result = report(source)
    assert result.return_value == 0
    assert result.stdout.startswith("wrote harness-report.html (")
    written = (folder / "reports/first/report.html").read_bytes()
    assert (folder / "harness-report.html").read_bytes() == written


def test_several_runs_make_one_page_that_holds_them_and_gives_itself_again(folder: Path) -> None:
    assert report("reports/first", "reports/second", "-o", "both.html").return_value == 0
    assert [run.run_id for run in read_runs(folder / "both.html")] == ["first", "second"]
    report("both.html", "-o", "again.html")
    assert (folder / "again.html").read_bytes() == (folder / "both.html").read_bytes()


def test_the_exit_status_is_that_of_the_rendering_and_not_of_the_runs() -> None:
    assert report("reports/second").return_value == 0


def test_a_run_given_twice_is_said_and_kept_once_with_its_raw_timings(folder: Path) -> None:
    report("reports/first", "reports/second", "-o", "both.html")
    result = report("both.html", "reports/first", "reports/second/report.html", "-o", "again.html")
    assert result.stderr.splitlines() == [
        "harness: reports/first/run.json: run first is given twice, kept once",
        "harness: reports/second/report.html: run second is given twice, kept once",
    ]
    assert (folder / "again.html").read_bytes() == (folder / "both.html").read_bytes()


def test_a_run_alone_beside_its_copy_in_another_page_has_its_own_page(folder: Path) -> None:
    report("reports/first", "reports/first/report.html", "-o", "one.html")
    written = (folder / "reports/first/report.html").read_bytes()
    assert (folder / "one.html").read_bytes() == written


def test_runs_made_in_the_same_moment_on_two_machines_are_both_kept(folder: Path) -> None:
    twin = replace(FIRST, environment=an_environment(commit="0" * 16))
    (folder / "twin.json").write_bytes(encode_run(twin))
    report("reports/first", "twin.json", "-o", "both.html")
    assert len(read_runs(folder / "both.html")) == 2


def test_other_forms_are_of_all_runs(folder: Path) -> None:
    report("reports/first", "reports/second", "--junit", "j.xml", "--markdown", "m.md")
    assert len(ElementTree.parse(folder / "j.xml").getroot()) == 2
    assert "1 of 2 runs failed" in (folder / "m.md").read_text()
    report("reports/first", "--markdown", "m.md")
    assert (folder / "m.md").read_text().startswith("## ✓ PASSED")


def test_standard_output_has_the_page_and_nothing_else(folder: Path) -> None:
    result = report("reports/first", "-o", "-")
    assert result.stdout == (folder / "reports/first/report.html").read_text()
    assert result.stderr.startswith("wrote standard output (")


def test_the_title_names_the_page_of_several_runs(folder: Path) -> None:
    report("reports/first", "reports/second", "--title", "The <fleet>", "-o", "both.html")
    assert "<title>The &lt;fleet&gt;</title>" in (folder / "both.html").read_text()


def test_the_title_names_the_page_of_one_run_too_as_behind_a_glob_that_finds_one(
    folder: Path,
) -> None:
    assert report("reports/first", "--title", "Nightly <1>", "-o", "one.html").return_value == 0
    page = (folder / "one.html").read_text()
    assert "<title>Nightly &lt;1&gt;</title>" in page
    assert '<p class="eyebrow">harness report · Nightly &lt;1&gt; · ' in page
    assert read_runs(folder / "one.html") == (FIRST,)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("absent.json",), "absent.json cannot be read: No such file"),
        (
            ("reports",),
            "reports is a folder without run.json or report.html; it has 2 folders with one",
        ),
        (("reports/first", "reports/second", "--history", "db"), "--history is told of one run"),
        (
            ("reports/first", "--junit", "x", "--markdown", "x"),
            "--junit and --markdown both go to x",
        ),
        (("reports/first", "-o", "-", "--junit", "-"), "both go to standard output"),
        (("reports/first", "-o", "reports"), "reports cannot be written: it is a folder"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name_and_nothing_is_written(
    arguments: tuple[str, ...], problem: str, folder: Path
) -> None:
    error = refusal(*arguments)
    assert problem in str(error)
    assert error.exit_code == 2
    assert [each.name for each in folder.iterdir()] == ["reports"]


def test_a_bad_file_among_good_ones_is_named_and_nothing_is_written(folder: Path) -> None:
    (folder / "bad.json").write_bytes(b'{"format": "other"}')
    error = refusal("reports/first", "bad.json", "--junit", "j.xml")
    assert isinstance(error, FileFormatError)
    assert str(error).startswith("bad.json: ")
    assert {each.name for each in folder.iterdir()} == {"reports", "bad.json"}


@pytest.mark.parametrize("option", ["--output", "--junit", "--markdown"])
def test_an_input_is_never_overwritten_by_whatever_name(option: str, folder: Path) -> None:
    before = (folder / "reports/first/report.html").read_bytes()
    (folder / "link.html").symlink_to("reports/first/report.html")
    error = refusal("reports/first/report.html", "reports/second", option, "link.html")
    assert "is one of the runs to read" in str(error)
    assert (folder / "reports/first/report.html").read_bytes() == before


def test_a_page_of_the_harness_is_replaced_and_any_other_file_is_not(folder: Path) -> None:
    report("reports/first")
    assert report("reports/second").return_value == 0
    (folder / "notes.html").write_text("<!doctype html><p>mine")
    error = refusal("reports/first", "-o", "notes.html")
    assert isinstance(error, UsageError)
    assert (folder / "notes.html").read_text() == "<!doctype html><p>mine"


def test_the_history_of_a_run_is_read_where_it_is_asked_for(folder: Path) -> None:
    store = open_store(str(folder / "baselines"))
    store.save(promised_by(FIRST, "main"))
    report("reports/first", "--history", "baselines", "-o", "past.html")
    (run,) = read_runs(folder / "past.html")
    assert [history.key for history in run.history] == [FIRST.verdicts[0].key]
    assert replace(run, history=()) == FIRST
