"""What every traced test of a session found: one entry per test, one report per session.

An entry travels as plain data on the test's own report, so it reaches the controller of pytest-xdist the
way every report does: in order, and also from a worker that crashes later.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import OutputError
from harness.pytest_plugin.speed_settings import SPEED_CHECKS

if TYPE_CHECKING:
    from harness.model.event import Site
    from harness.model.outcome import Outcome
    from harness.model.verdict import CheckResult, Run, Verdict

__all__ = ["ENTRY", "Ledger", "write_report", "write_whole"]

ENTRY = "harness_entry"
"""The attribute of a test's report that holds its entry: a ``Verdict`` as built-in types."""


class Ledger:
    """The entries of a session by test, in the order in which the tests ended."""

    def __init__(self, started: datetime) -> None:
        self.started = started
        self._verdicts: dict[str, Verdict] = {}
        self._sites: dict[str, tuple[str, int, str]] = {}
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
        file, line, name = report.location
        self._sites[verdict.key] = (file, (line or 0) + 1, name)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What was found so far, in the order in which the tests ended."""
        return tuple(self._verdicts.values())

    @property
    def sites(self) -> Mapping[str, Site]:
        """Where each test is written, by ``Verdict.key``."""
        from harness.model.event import Site

        return {key: Site(*place) for key, place in self._sites.items()}

    def run(
        self,
        config: pytest.Config,
        *,
        checks: Sequence[CheckResult] = (),
        notes: Sequence[str] = (),
        baseline: str | None = None,
        status: int | None = None,
    ) -> Run:
        """Everything gathered, as the record that reports are made of; ``status`` is what pytest ends with."""
        import harness
        from harness.environment import fingerprint
        from harness.environment.pynvml import gpu_facts
        from harness.model.verdict import Run

        verdicts = self.verdicts
        names = [verdict.traffic_device for verdict in verdicts]
        names += [verdict.timing_device for verdict in verdicts if verdict.timing_device]
        once = "A test body runs once, so its counts were not held against a repeated run."
        traced = any(verdict.traffic is not None for verdict in verdicts)
        devices = list(dict.fromkeys(names))
        now = datetime.now(UTC)
        return Run(
            run_id=self.started.strftime("%Y%m%dT%H%M%S")
            + f"{self.started.microsecond // 1000:03d}Z",
            created=self.started.isoformat(timespec="seconds"),
            command=shlex.join(["pytest", *(str(part) for part in config.invocation_params.args)]),
            harness_version=harness.__version__,
            seed=0,
            environment=fingerprint(devices, repository=config.rootpath, more=[gpu_facts]),
            verdicts=verdicts,
            checks=(*(_lost(text) for text in self._lost), *checks),
            baseline=baseline,
            notes=(*([once] if traced else []), *notes),
            ended_with=status,
            duration_s=(now - self.started).total_seconds(),
        )

    def summary(self) -> Iterator[str]:
        """How many tests ended how, and on what evidence, in a line or two; nothing when none was traced."""
        from harness.units import count_text

        for text in self._lost:
            yield f"what one test did is not known: {text}"
        traced = [verdict for verdict in self.verdicts if not _only_timed(verdict)]
        if traced:
            ended = Counter(verdict.outcome for verdict in traced)
            yield f"{count_text(len(traced), 'traced test')}: {_counts(ended)}"
        speeds = [speed for verdict in self.verdicts for speed in _speeds(verdict)]
        if speeds:
            judged = Counter(speed.outcome for speed in speeds)
            yield f"{count_text(len(speeds), 'comparison of speed', plural='comparisons of speed')}: {_counts(judged)}"
        yield from _shown(self.verdicts)
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

    write_whole(render_html(run).encode(), path)


def write_whole(data: bytes, path: Path) -> None:
    """Write a file whole or not at all; ``OutputError`` when it cannot be written."""
    from harness.report.writing import put

    try:
        put(path, data)
    except OSError as error:
        raise OutputError(f"{path} was not written: {error.strerror or error}") from None


_MOST_SHOWN = 5
"""Raw comparisons in the terminal; the report has all."""


def _counts(ended: Counter[Outcome]) -> str:
    from harness.model.outcome import Outcome

    return ", ".join(f"{ended[each]:,} {each.value}" for each in Outcome if ended[each])


def _speeds(verdict: Verdict) -> list[CheckResult]:
    return [check for check in verdict.checks if check.check in SPEED_CHECKS]


def _only_timed(verdict: Verdict) -> bool:
    """Whether nothing of a test was about its traffic."""
    return not verdict.traffic_device and bool(_speeds(verdict) or verdict.sample)


def _shown(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What was seen of speed and decided nothing, a line each; a skipped test does not show its reason by itself."""
    from harness.model.outcome import Outcome
    from harness.units import count_text

    lines = [
        f"{verdict.workload}::{verdict.case}: {check.summary}"
        for verdict in verdicts
        for check in _speeds(verdict)
        if check.outcome in (Outcome.SKIPPED, Outcome.INCONCLUSIVE) and check.waiver is None
    ]
    yield from lines[:_MOST_SHOWN]
    if len(lines) > _MOST_SHOWN:
        yield f"and {count_text(len(lines) - _MOST_SHOWN, 'more comparison')} that decided nothing"


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
