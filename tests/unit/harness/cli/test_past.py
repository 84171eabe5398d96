"""The past of a run is looked up before its report is written, and never costs the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import a_check, a_failed_traffic_check, a_run, a_sample, a_verdict

from harness.baseline.promise import promised_by
from harness.baseline.records import records_of
from harness.baseline.stores.opening import open_store
from harness.cli import main
from harness.cli.concluding import with_waivers
from harness.cli.history import with_past
from harness.errors import UnavailableError
from harness.model.outcome import Outcome
from harness.model.waiver import Waiver

RUN = replace(a_run(a_verdict(sample=a_sample()), run_id="now"), notes=("first",))


class Broken:
    """A store that answers every question with an error."""

    where = "postgresql://somewhere"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (UnavailableError("postgresql://somewhere cannot be reached"), "cannot be reached"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_a_store_that_fails_or_hangs_costs_the_history_and_not_the_run(error, says) -> None:
    run = with_past(RUN, Broken(error))
    assert run.history == ()
    assert run.notes[0] == "first"
    assert run.notes[1].startswith("the history was not read: ")
    assert run.notes[1].endswith(says)
    assert replace(run, notes=RUN.notes) == RUN


def test_a_defect_of_the_harness_itself_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        with_past(RUN, Broken(ZeroDivisionError()))


def test_a_store_is_asked_first_and_the_baseline_where_that_knows_nothing(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    baseline = promised_by(replace(RUN, run_id="old", created="2025-01-01T00:00:00+00:00"), "main")
    assert with_past(RUN, None) == RUN
    (history,) = with_past(RUN, store, baseline).history
    assert [point.created[:4] for point in history.points] == ["2025", "2025"]
    for number in (1, 2):
        earlier = replace(RUN, run_id=f"run-{number}", created=f"2025-02-0{number}T00:00:00+00:00")
        store.append(records_of(earlier))
    (history,) = with_past(RUN, store, baseline).history
    assert [point.created[:7] for point in history.points] == ["2025-02", "2025-02", "2025-11"]


def test_waivers_count_as_of_the_day_of_the_run() -> None:
    seen = a_check(check="positive control")
    run = a_run(a_verdict(seen, a_failed_traffic_check()))
    waiver = Waiver(
        case="*",
        check="traffic",
        reason="accepted until the day of the run",
        since="2025-11-01",
        until=run.created[:10],
    )
    assert with_waivers(run, [waiver], asked=()).outcome is Outcome.SKIPPED
    ended = replace(waiver, until="2025-11-29")
    assert with_waivers(run, [ended], asked=()).outcome is Outcome.FAILED
    gone = replace(waiver, case="gone/*")
    assert with_waivers(run, [gone], asked=("softmax",)).notes
    assert not with_waivers(run, [gone], asked=("softmax/4096*",)).notes


@pytest.mark.parametrize("command", [["run"], ["compare", "--against", "HEAD"]])
def test_a_bad_file_of_waivers_ends_the_command_before_anything_runs(
    tmp_path: Path, capsys, command
) -> None:
    path = tmp_path / "w.toml"
    path.write_text('[[waiver]]\ncase = "*"\ncheck = "run"\nreason = "x"\nsince = 2026-01-01\n')
    output = tmp_path / "reports"
    assert main([*command, "--waivers", str(path), "--output", str(output)]) == 2
    said = capsys.readouterr()
    assert said.err == (
        f"harness: {path}, waiver 1 ('*'): check 'run' cannot be waived: a crash or a broken contract leaves the "
        "case unchecked, so there is no finding to accept\n"
    )
    assert not output.exists()
