"""What ``harness selfcheck`` prints."""

from __future__ import annotations

import io

from builders import a_self_check, an_environment
from rich.console import Console

from harness.model.outcome import Outcome
from harness.model.selfcheck import SelfCheck, SelfCheckRun
from harness.report.selfcheck_text import print_self_checks, self_check_lines

NOW = "2025-11-30T13:21:00+00:00"


def lines_of(*checks: SelfCheck, planned: int = 0, interrupted: bool = False) -> list[str]:
    run = SelfCheckRun(
        environment=an_environment(),
        checks=checks,
        planned=planned or len(checks),
        duration_s=1.0,
        interrupted=interrupted,
        notes=("no GPU was used",),
    )
    return [line.text for line in self_check_lines(run, now=NOW)]


def test_a_machine_that_may_gate_reads_as_designed() -> None:
    assert lines_of(a_self_check(key="toys/op")) == [
        "✓ PASSED  exit 0",
        "  1 of 1 op can be gated on this machine; 0 false alarms in 20 decisions on identical code; "
        "smallest slowdown found +1.4 %; just now",
        "",
        "    op       call time  false alarms        spread  slowdowns found"
        "                         smallest found",
        "  ✓ toys/op  1.25 ms    0 of 20 (< 13.9 %)  0.14 %  +1.4 % in 18 of 20; +2.0 % in 19 of 20  +1.4 %",
        "note  no GPU was used",
    ]


def test_what_must_not_be_gated_comes_with_what_to_do() -> None:
    bad = a_self_check(
        key="toys/bad", outcome=Outcome.INCONCLUSIVE, summary="it is noisy", next_step="quiet it"
    )
    lines = lines_of(a_self_check(key="toys/op"), bad)
    assert lines[0] == "? INCONCLUSIVE  exit 4"
    assert lines[-5:-1] == [
        "what to do next",
        "  1. ? toys/bad",
        "     it is noisy",
        "     next      quiet it",
    ]


def test_an_interrupted_one_says_what_was_done() -> None:
    lines = lines_of(a_self_check(), planned=8, interrupted=True)
    assert lines[0] == "? INTERRUPTED  exit 130"
    assert "interrupted after 1 of 8 ops" in lines[1]
    assert lines_of(planned=8, interrupted=True)[-1] == "note  no GPU was used"


def test_nothing_foreign_moves_the_terminal() -> None:
    hostile = a_self_check(
        key="a\x1b[31m\u202e", summary="b\x1b]8;;", next_step="c\r", outcome=Outcome.FAILED
    )
    text = "\n".join(lines_of(hostile))
    assert not {"\x1b", "\u202e", "\r"} & set(text)


def test_an_old_terminal_gets_stand_ins() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    run = SelfCheckRun(
        environment=an_environment(), checks=(a_self_check(),), planned=1, duration_s=1.0
    )
    print_self_checks(run, Console(file=stream), now=NOW)
    stream.flush()
    assert raw.getvalue().startswith(b"+ PASSED")
