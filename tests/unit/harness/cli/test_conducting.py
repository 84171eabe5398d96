"""What a quiet command still says of its waivers."""

from __future__ import annotations

import io

from builders import a_check, a_run, a_verdict
from rich.console import Console

from harness.cli.conducting import tell, with_waivers
from harness.model.waiver import Waiver

RUN = a_run(a_verdict(a_check()), notes=("something else",))
DAY = RUN.created[:10]


def told(*waivers: Waiver) -> str:
    stream = io.StringIO()
    covered = with_waivers(RUN, waivers, asked=())
    tell(covered.notes[len(RUN.notes) :], Console(file=stream, width=20))
    return stream.getvalue()


def a_waiver(case: str) -> Waiver:
    return Waiver(
        case=case, check="values", reason="known since the port", since=DAY, until="2999-01-01"
    )


def test_waivers_that_can_go_are_told_and_no_other_note_is() -> None:
    assert "is no longer needed by this run" in told(a_waiver("*"))
    assert "1 waiver matched nothing" in told(a_waiver("absent/*"))
    assert "something else" not in told(a_waiver("*"))
    assert told() == ""
