"""What a command that ran cases says at its end, and the files it leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import a_check, a_run, a_verdict

from harness.cli.concluding import Known, conclude
from harness.cli.forms import Forms
from harness.model.waiver import Waiver

RUN = a_run(a_verdict(a_check()), notes=("something else",))
DAY = RUN.created[:10]

Concluded = Callable[..., str]


@pytest.fixture
def concluded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Concluded:
    """Conclude ``RUN`` with some waivers; what was printed."""

    def conclude_with(*waivers: Waiver, quiet: bool, **options: Any) -> str:
        known = Known(waivers=waivers, history=None)
        forms = Forms({})
        reports = tmp_path / f"reports-{len(list(tmp_path.iterdir()))}"
        status = conclude(
            RUN, known, asked=(), reports=reports, forms=forms, quiet=quiet, **options
        )
        assert status == int(RUN.exit_code)
        return capsys.readouterr().out

    return conclude_with


def a_waiver(case: str) -> Waiver:
    return Waiver(
        case=case, check="values", reason="known since the port", since=DAY, until="2999-01-01"
    )


def test_waivers_that_can_go_are_told_quietly_too_and_no_other_note_is(
    concluded: Concluded,
) -> None:
    assert "note  " in concluded(a_waiver("*"), quiet=True)
    assert "is no longer needed by this run" in concluded(a_waiver("*"), quiet=True)
    assert "1 waiver matched nothing" in concluded(a_waiver("absent/*"), quiet=True)
    assert "something else" not in concluded(a_waiver("*"), quiet=True)
    assert "something else" in concluded(quiet=False)


def test_a_quiet_pass_says_where_its_report_is_and_nothing_else(
    concluded: Concluded, tmp_path: Path
) -> None:
    (line,) = concluded(quiet=True, more=["  [figures]"]).splitlines()
    assert line.startswith(f"report  {tmp_path}/")
    assert Path(line.removeprefix("report  ")).is_file()


def test_lines_below_the_summary_are_printed_as_they_are(concluded: Concluded) -> None:
    printed = concluded(quiet=False, more=["  [figures] " + "x" * 200]).splitlines()
    assert printed[-3:-1] == ["", "  [figures] " + "x" * 200]
