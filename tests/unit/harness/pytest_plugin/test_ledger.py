import os
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest
from builders import a_check, a_run, a_verdict

from harness.errors import OutputError
from harness.model.outcome import Outcome
from harness.pytest_plugin.ledger import ENTRY, Ledger, write_report

STARTED = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def a_report(verdict, *, nodeid="test_op.py::test_forward", when="call"):
    entry = None if verdict is None else msgspec.to_builtins(verdict)
    location = ("test_op.py", 6, "test_forward")
    found = {ENTRY: entry} if entry else {}
    return SimpleNamespace(nodeid=nodeid, when=when, location=location, **found)


@pytest.fixture
def config(pytestconfig):
    return SimpleNamespace(
        rootpath=pytestconfig.rootpath, invocation_params=SimpleNamespace(args=("-k", "a b"))
    )


def test_an_entry_arrives_as_it_was_sent(config):
    ledger, verdict = Ledger(STARTED), a_verdict()
    ledger.add(a_report(verdict))
    run = ledger.run(config)
    assert run.verdicts == (verdict,)
    assert run.created == "2026-05-04T03:02:01+00:00"
    assert run.command == "pytest -k 'a b'"


def test_reports_without_an_entry_are_passed_over(config):
    ledger = Ledger(STARTED)
    ledger.add(a_report(None))
    assert ledger.run(config).verdicts == ()
    assert list(ledger.summary()) == []


def test_a_session_that_traced_nothing_is_inconclusive(config):
    assert Ledger(STARTED).run(config).outcome is Outcome.INCONCLUSIVE


def test_a_rerun_replaces_what_it_repeats(config):
    ledger = Ledger(STARTED)
    ledger.add(a_report(a_verdict(a_check(outcome=Outcome.FAILED))))
    ledger.add(a_report(a_verdict(a_check())))
    assert ledger.run(config).outcome is Outcome.PASSED


def test_a_failed_teardown_is_added_to_what_was_found_before(config):
    ledger = Ledger(STARTED)
    ledger.add(a_report(a_verdict(a_check())))
    ledger.add(a_report(a_verdict(a_check(outcome=Outcome.FAILED)), when="teardown"))
    (verdict,) = ledger.run(config).verdicts
    assert [result.outcome for result in verdict.checks] == [Outcome.PASSED, Outcome.FAILED]


def test_a_test_lost_with_its_worker_leaves_the_run_inconclusive(config):
    ledger = Ledger(STARTED)
    ledger.add(a_report(a_verdict()))
    crash = "worker 'gw0' crashed while running 'test_op.py::test_last'"
    ledger.add(SimpleNamespace(nodeid="test_op.py", when="???", longrepr=crash))
    run = ledger.run(config)
    assert run.outcome is Outcome.INCONCLUSIVE
    assert run.checks[0].summary == crash
    assert crash in next(iter(ledger.summary()))


def test_the_summary_counts_outcomes_and_names_the_evidence():
    ledger = Ledger(STARTED)
    for number, outcome in enumerate([Outcome.PASSED, Outcome.PASSED, Outcome.FAILED]):
        check = a_check(check="traffic", outcome=outcome, evidence="PROVEN (cupti 13.4)")
        ledger.add(a_report(a_verdict(check), nodeid=f"test_op.py::test_{number}"))
    assert list(ledger.summary()) == [
        "3 traced tests: 2 passed, 1 failed",
        "evidence of 3 tests: PROVEN (cupti 13.4)",
    ]


def test_a_report_replaces_the_old_one_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(a_run(), path)
    assert "<html" in path.read_text(encoding="utf-8")
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_report_that_cannot_be_written_is_an_error_in_one_line(tmp_path):
    path = tmp_path / "report.html"
    path.mkdir()
    with pytest.raises(OutputError, match=r"report\.html was not written") as caught:
        write_report(a_run(), path)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["report.html"]


def test_the_line_of_each_test_is_known_as_people_count_lines():
    ledger, verdict = Ledger(STARTED), a_verdict()
    ledger.add(a_report(verdict))
    site = ledger.sites[verdict.key]
    assert (site.file, site.line) == ("test_op.py", 7)
