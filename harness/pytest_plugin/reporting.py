"""The end of a session: the summary in the terminal and the one report file, written by the controller."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from harness.errors import OutputError
from harness.pytest_plugin.ledger import Ledger, write_report
from harness.pytest_plugin.settings import SETTINGS

__all__ = ["Reporting"]


class Reporting:
    """Gathers the entries of all tests, its own process's and those of xdist workers alike.

    Registered as a plugin of its own where reports arrive, so never in a worker.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._ledger = Ledger(datetime.now(UTC))
        self._written = ""
        self._problem = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test found."""
        self._ledger.add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report; a session that was otherwise fine ends as a usage error when that fails."""
        path = self._config.stash[SETTINGS].report
        if path is None or self._config.option.collectonly:
            return
        try:
            write_report(self._ledger.run(self._config), path)
        except OutputError as error:
            self._problem = str(error)
            if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
        else:
            self._written = str(path)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many tests were traced, on what evidence, and where the report is."""
        for line in self._ledger.summary():
            terminalreporter.write_line(f"harness: {line}")
        if self._written:
            terminalreporter.write_line(f"harness: report {self._written}")
        if self._problem:
            terminalreporter.write_line(f"harness: {self._problem}", red=True)
