"""What every traced test of a session found: one entry per test, one report per session.

An entry travels as plain data on the test's own report, so it reaches the controller of pytest-xdist the
way every report does: in order, and also from a worker that crashes later.
"""

from __future__ import annotations

import os
import secrets
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import OutputError

if TYPE_CHECKING:
    from harness.model.verdict import CheckResult, Run, Verdict

__all__ = ["ENTRY", "Ledger"]

ENTRY = "harness_entry"
"""The attribute of a test's report that holds its entry: a ``Verdict`` as built-in types."""


class Ledger:
    """The entries of a session by test, in the order in which the tests ended."""

    def __init__(self, started: datetime) -> None:
        self.started = started
        self._verdicts: dict[str, Verdict] = {}
        self._failed_subtests: Counter[str] = Counter()
        self._lost: list[str] = []

    def add(self, report: pytest.TestReport) -> None:
        """Take the entry of a report that has one.

        A rerun of a test replaces what it found before; a failed teardown is added to it, and so are the
        subtests that failed, of which the test's own report knows nothing. A report of no phase is xdist's word
        for a worker that crashed: what its test would have found is not known.
        """
        if report.when not in ("setup", "call", "teardown"):
            self._lost.append(str(report.longrepr).partition("\n")[0])
            return
        if isinstance(report, pytest.SubtestReport):
            self._failed_subtests[report.nodeid] += report.failed
            return
        failed_subtests = self._failed_subtests.pop(report.nodeid, 0)
        entry = getattr(report, ENTRY, None)
        if entry is None:
            return
        verdict = _verdict(entry)
        if failed_subtests:
            verdict = replace(verdict, checks=(*verdict.checks, _subtests(failed_subtests)))
        before = self._verdicts.get(report.nodeid)
        if report.when == "teardown" and before is not None:
            verdict = replace(before, checks=(*before.checks, *verdict.checks))
        self._verdicts[report.nodeid] = verdict

    def run(self, config: pytest.Config) -> Run:
        """Everything gathered, as the record that reports are made of."""
        import harness
        from harness.environment import fingerprint
        from harness.model.verdict import Run

        verdicts = tuple(self._verdicts.values())
        devices = list(dict.fromkeys(verdict.traffic_device for verdict in verdicts))
        now = datetime.now(UTC)
        return Run(
            run_id=self.started.strftime("%Y%m%dT%H%M%S")
            + f"{self.started.microsecond // 1000:03d}Z",
            created=self.started.isoformat(timespec="seconds"),
            command=shlex.join(["pytest", *(str(part) for part in config.invocation_params.args)]),
            harness_version=harness.__version__,
            seed=0,
            environment=fingerprint(devices, repository=config.rootpath),
            verdicts=verdicts,
            checks=tuple(_lost(text) for text in self._lost),
            notes=("A test body runs once, so its counts were not held against a repeated run.",),
            duration_s=(now - self.started).total_seconds(),
        )

    def summary(self) -> Iterator[str]:
        """How many tests ended how, and on what evidence, in a line or two; nothing when none was traced."""
        from harness.model.outcome import Outcome
        from harness.units import count_text

        for text in self._lost:
            yield f"what one test did is not known: {text}"
        if not self._verdicts:
            return
        ended = Counter(verdict.outcome for verdict in self._verdicts.values())
        counts = ", ".join(
            f"{ended[outcome]:,} {outcome.value}" for outcome in Outcome if ended[outcome]
        )
        yield f"{count_text(len(self._verdicts), 'traced test')}: {counts}"
        evidence = Counter(
            result.evidence
            for verdict in self._verdicts.values()
            for result in verdict.checks
            if result.check == "traffic" and result.evidence
        )
        for text, count in evidence.most_common():
            yield f"evidence of {count_text(count, 'test')}: {text}"


def write_report(run: Run, path: Path) -> None:
    """Write the HTML report whole or not at all; ``OutputError`` when it cannot be written."""
    from harness.report.html import render_html

    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.unfinished")
    try:
        unfinished.write_text(render_html(run), encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise OutputError(f"{path} was not written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # what could not be created cannot be removed; that has been told
            unfinished.unlink(missing_ok=True)


def _subtests(failed: int) -> CheckResult:
    from harness.model.outcome import Outcome
    from harness.model.verdict import CheckResult
    from harness.units import count_text

    return CheckResult(
        check="subtests",
        outcome=Outcome.FAILED,
        summary=f"{count_text(failed, 'subtest')} failed",
        evidence="the outcome pytest gave them",
        next_step="see the output of pytest for this test",
    )


def _lost(text: str) -> CheckResult:
    from harness.model.outcome import Outcome
    from harness.model.verdict import CheckResult

    return CheckResult(
        check="worker",
        outcome=Outcome.INCONCLUSIVE,
        summary=text,
        evidence="the report of pytest-xdist",
        next_step="run this test alone, without -n, to see how the process ends",
    )


def _verdict(entry: Mapping[str, Any]) -> Verdict:
    import msgspec

    from harness.model.verdict import Verdict

    return msgspec.convert(entry, Verdict)
