"""Other forms of a run: each where it was asked for, and standard output for one program alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from builders import a_run, a_verdict
from click.testing import CliRunner, Result

from harness.cli.forms import Forms, form_options
from harness.errors import UsageError

RUN = a_run(a_verdict())


@click.command()
@form_options
def tell(*, forms: Forms) -> int:
    """A command that finds one run."""
    forms.write(RUN)
    forms.console.print("told to people")
    print("a log", file=forms.stream)
    return 0


def told(*arguments: str) -> Result:
    return CliRunner().invoke(tell, arguments, standalone_mode=False)


def test_every_form_goes_to_its_file_and_people_read_standard_output(tmp_path: Path) -> None:
    files = {form: str(tmp_path / "new" / form) for form in ("json", "junit", "markdown")}
    result = told(*(each for form, file in files.items() for each in (f"--{form}", file)))
    assert result.stdout == "told to people\na log\n"
    assert json.loads(Path(files["json"]).read_text())["run_id"] == RUN.run_id
    assert ElementTree.parse(files["junit"]).getroot().tag == "testsuites"
    assert Path(files["markdown"]).read_text().startswith("## ✓ PASSED")


def test_on_standard_output_stands_the_record_and_nothing_else() -> None:
    result = told("--json", "-")
    assert json.loads(result.stdout)["run_id"] == RUN.run_id
    assert result.stderr == "told to people\na log\n"


def test_without_a_form_nothing_changes() -> None:
    assert Forms({}).stream is sys.stdout
    assert told().stdout == "told to people\na log\n"


@pytest.mark.parametrize("where", ["-", "same.txt"])
def test_two_forms_in_one_place_are_refused(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = told("--json", where, "--junit", where)
    assert isinstance(result.exception, UsageError)
    assert "--json and --junit both go to" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--json", "--junit", "--markdown"])
def test_a_file_of_another_kind_is_refused_before_any_work_and_our_own_is_replaced(
    option: str, tmp_path: Path
) -> None:
    path = tmp_path / "precious.txt"
    path.write_text("mine")
    result = told(option, str(path))
    assert isinstance(result.exception, UsageError)
    assert "exists and is no" in str(result.exception)
    assert (path.read_text(), result.stdout) == ("mine", "")
    path.write_text("")
    assert told(option, str(path)).exception is None
    assert told(option, str(path)).exception is None
