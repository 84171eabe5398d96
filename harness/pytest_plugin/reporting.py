"""The end of a session: the summary in the terminal and the files asked for, written by the controller."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO, cast

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.census import Census
from harness.pytest_plugin.ledger import Ledger, write_report, write_whole
from harness.pytest_plugin.settings import SETTINGS
from harness.pytest_plugin.speed_enforcement import SPEED_PROPERTY
from harness.pytest_plugin.speed_settings import SPEED_SETTINGS, UNJUDGED
from harness.pytest_plugin.waiving import (
    WAIVED,
    WAIVER_PROPERTY,
    waiver_lines,
    waiver_remarks,
)

if TYPE_CHECKING:
    from harness.model.verdict import CheckResult, Run

__all__ = ["Reporting"]


class _Terminal:
    """pytest's terminal as a stream: standard output itself may be captured."""

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"

    def __init__(self, terminalreporter: pytest.TerminalReporter) -> None:
        self._terminalreporter = terminalreporter

    def write(self, text: str) -> int:
        """As it is, from the start of a line."""
        self._terminalreporter.write(text)
        return len(text)


class Reporting:
    """Gathers the entries of all tests, its own process's and those of xdist workers alike.

    Registered as a plugin of its own where reports arrive, so never in a worker.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ledger = Ledger(datetime.now(UTC))
        self._census = Census(config)
        self._written: list[str] = []
        self._problems: list[str] = []
        self._remarks: tuple[str, ...] = ()
        self._run: Run | None = None
        self._status: int | None = None
        self._nothing: tuple[CheckResult, ...] = ()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Count a test."""
        self._census.collected(item)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test found."""
        self._ledger.add(report)
        self._census.ended(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show a test that passed by a waiver, or without a judgement on its speed, as what it is."""
        if report.when != "call" or not report.passed or hasattr(report, "wasxfail"):
            return None
        told = {each[0] for each in report.user_properties}
        if isinstance(report, pytest.SubtestReport):
            return None
        if WAIVER_PROPERTY in told:
            return "passed", "w", (f"PASSED ({WAIVED})", {"yellow": True})
        if SPEED_PROPERTY in told:
            return "passed", "u", (f"PASSED ({UNJUDGED})", {"yellow": True})
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Count what is missing and write the files; a session that was otherwise fine ends as a usage error when that fails."""
        if self._config.option.collectonly:
            return
        self._census.close(session, self._ledger.verdicts)
        self._status = int(session.exitstatus)
        self._remarks = waiver_remarks(session, self._ledger.verdicts)
        if not (self._ledger.verdicts or self._census.checks):
            self._nothing = (self._census.nothing(session),)
        report = self._config.stash[SETTINGS].report
        benchmarks = self._config.stash[SPEED_SETTINGS].json
        try:
            if report is not None:
                write_report(self._found(), report)
                self._written.append(f"report {report}")
            if benchmarks is not None:
                write_whole(self._benchmarks(), benchmarks)
                self._written.append(f"benchmarks {benchmarks}")
        except HarnessError as error:
            self._problems.append(str(error))
            if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many tests were traced and timed, on what evidence, what is missing, and where the files are."""
        lines = (*self._ledger.summary(), *waiver_lines(self._ledger.verdicts))
        told = [(line, False) for line in (*lines, *self._remarks, *self._census.notes)]
        told += self._census.lines()
        if told:
            from harness.report.wording import visible

            for line, failed in told:
                terminalreporter.write_line(f"harness: {visible(line)}", red=failed)
        for written in self._written:
            terminalreporter.write_line(f"harness: {written}")
        for problem in self._problems:
            terminalreporter.write_line(f"harness: {problem}", red=True)
        self._publish(terminalreporter)

    def _publish(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell a CI service what it shows beside the log, where there is anything to tell."""
        if not (self._ledger.verdicts or self._census.checks):
            return
        from harness.report.ci import is_wanted, publish

        if is_wanted(os.environ):
            terminalreporter.ensure_newline()
            stream = cast(TextIO, _Terminal(terminalreporter))
            publish(self._found(), os.environ, stream, sites=self._ledger.sites)

    def _found(self) -> Run:
        if self._run is None:
            baseline = self._config.stash[SPEED_SETTINGS].baseline
            self._run = self._ledger.run(
                self._config,
                checks=(*self._census.checks, *self._nothing),
                notes=(*self._census.notes, *self._remarks),
                baseline=None if baseline is None else baseline.name,
                status=self._status,
            )
        return self._run

    def _benchmarks(self) -> bytes:
        from harness.interchange.pytest_benchmark_writer import encode_benchmarks
        from harness.pytest_plugin.benchmark_facts import known_to_pytest_benchmark

        machine, commit = known_to_pytest_benchmark(self._config)
        return encode_benchmarks(self._found(), machine_info=machine, commit_info=commit)
