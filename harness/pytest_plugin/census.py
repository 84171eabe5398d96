"""Tests that a baseline keeps and that did not show up, and sessions in which nothing could be judged."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.pytest_plugin.policy import Action, Situation
from harness.pytest_plugin.speed_settings import SPEED_CHECKS, SPEED_MARK, SPEED_SETTINGS

if TYPE_CHECKING:
    from harness.model.verdict import CheckResult, Verdict

__all__ = ["UNJUDGED_ENTRY", "Absence", "Census", "absences", "nothing_found"]

UNJUDGED_ENTRY = "harness_unjudged"
"""The attribute of a test's report that holds what ``speed_enforcement.unjudged`` says of it."""

_ALIKE = 0.75
"""``test_softmax`` and ``test_softmax_f32`` are alike, ``test_softmax`` and ``test_matmul`` are not."""

_WHOLE = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
"""Sessions that collected all they set out to; where a file could not even be imported, its tests are not missing."""

_Choice = Callable[[Situation], Action]


@dataclass(frozen=True, slots=True)
class Absence:
    """A test of the baseline that is not there any more; ``now`` is the new one it is taken for, if any."""

    nodeid: str
    now: str | None


class Census:
    """Counts the tests of a session: those collected, those skipped, and what was found of their speed.

    Kept where reports arrive, so never in a worker of pytest-xdist.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._collected: dict[str, bool] = {}
        self._skipped: set[str] = set()
        self._old_names: set[str] = set()
        self._raw: dict[str, Mapping[str, Any]] = {}
        self.checks: tuple[CheckResult, ...] = ()
        self.notes: tuple[str, ...] = ()

    def collected(self, item: pytest.Item) -> None:
        """Note a test, whether it will be deselected or not."""
        self._collected[item.nodeid] = "benchmark" in getattr(item, "fixturenames", ())
        names = (mark.kwargs.get("renamed_from") for mark in item.iter_markers(SPEED_MARK))
        self._old_names.update(name for name in names if isinstance(name, str))

    def ended(self, report: pytest.TestReport) -> None:
        """Note a test that was skipped, and one whose speed was held against raw times alone; its last run counts."""
        if report.when == "call" and not isinstance(report, pytest.SubtestReport):
            raw = getattr(report, UNJUDGED_ENTRY, None)
            self._raw.pop(report.nodeid, None)
            if raw is not None:
                self._raw[report.nodeid] = raw
        if report.skipped and not hasattr(report, "wasxfail") and report.when != "teardown":
            self._skipped.add(report.nodeid)

    def close(self, session: pytest.Session, verdicts: Sequence[Verdict]) -> None:
        """Find what is missing and what could not be judged, and let the exit status say so where the policy does."""
        if session.exitstatus not in _WHOLE:
            return
        self.checks = (*self._absent(verdicts), *self._unjudged(verdicts))
        fails = any(check.outcome.value == "failed" for check in self.checks)
        if fails and session.exitstatus in (
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def nothing(self, session: pytest.Session) -> CheckResult:
        """What the page of a session says in which no test was traced or timed, with the status pytest ended with."""
        return nothing_found(
            len(self._collected), selected=session.testscollected, status=int(session.exitstatus)
        )

    def lines(self) -> Iterator[tuple[str, bool]]:
        """What was found, a line each with what to do, and whether it failed the session."""
        for check in self.checks:
            yield f"{check.summary}; {check.next_step}", check.outcome.value == "failed"

    def _action(self, case: Situation) -> Action:
        return self._config.stash[SPEED_SETTINGS].policy[case]

    def _absent(self, verdicts: Sequence[Verdict]) -> Iterator[CheckResult]:
        path = self._config.stash[SPEED_SETTINGS].baseline
        if path is None:
            return
        from harness.pytest_plugin.stored import stored_of

        stored = stored_of(self._config, path)
        if self._config.getoption("dist", "no") != "no":
            self.notes = (
                "missing tests were not looked for: pytest-xdist has the workers collect",
            )
            return
        asked = [
            nodeid
            for nodeid in stored.benchmarks
            if nodeid not in self._old_names and _was_asked_for(nodeid, self._config)
        ]
        new = [
            nodeid
            for nodeid, timed in self._collected.items()
            if timed and nodeid not in stored.benchmarks
        ]
        for absence in absences(asked, self._collected, new):
            yield _absent(absence, stored.name, self._action)
        judged = {_nodeid(verdict) for verdict in verdicts if _speeds(verdict)}
        for nodeid in stored.benchmarks:
            if nodeid in self._skipped and nodeid not in judged:
                yield _skipped(nodeid, stored.name, self._action(Situation.SKIPPED))

    def _unjudged(self, verdicts: Sequence[Verdict]) -> Iterator[CheckResult]:
        """One result where tests are limited and not one was judged: a gate that sees nothing must not look open."""
        from harness.model.outcome import Outcome
        from harness.model.verdict import CheckResult
        from harness.units import count_text

        others = [each for each in verdicts if _nodeid(each) not in self._raw]
        speeds = [check for verdict in others for check in _speeds(verdict)]
        blind = [
            (check.summary, check.next_step)
            for check in speeds
            if check.outcome is Outcome.INCONCLUSIVE and not check.evidence
        ]
        blind += [
            (raw["summary"], raw["next_step"]) for raw in self._raw.values() if raw["limited"]
        ]
        if not blind or any(check.evidence for check in speeds):
            return
        fails = self._action(Situation.UNJUDGED) is Action.FAIL
        summary, next_step = blind[0]
        yield CheckResult(
            check="speed",
            outcome=Outcome.FAILED if fails else Outcome.SKIPPED,
            summary=f"no speed was judged, of {count_text(len(blind), 'test')} that should have been: {summary}",
            evidence="",
            next_step=f"{next_step}; to allow it: --harness-policy unjudged=pass",
        )


def nothing_found(collected: int, *, selected: int, status: int) -> CheckResult:
    """A session without a finding: of ``collected`` tests (0 where workers collect) it ran ``selected``."""
    from harness.model.outcome import Outcome
    from harness.model.verdict import CheckResult
    from harness.units import count_text

    deselected = collected and not selected
    why = f": {count_text(collected, 'test')} collected, none selected" if deselected else ""
    return CheckResult(
        check="tests",
        outcome=Outcome.INCONCLUSIVE,
        summary=f"no test was traced or timed{why}; pytest ended with exit status {status}",
        evidence="the session of pytest",
        next_step="see what -k, -m and the paths given to pytest leave"
        if deselected
        else "see that -k, -m and the paths given to pytest leave tests that use limit_transfers, limit_slowdown, "
        "device_trace or benchmark",
    )


def absences(
    asked: Sequence[str], collected: Collection[str], new: Sequence[str]
) -> tuple[Absence, ...]:
    """Tests of the baseline that were asked for and not collected, each with the new test it is taken for.

    Taken for the same are: the same function and parameters in another file, then other parameters of the same
    function, then a function of the same file whose name is much alike. Each new test is taken once. It is a guess
    and is told as one.
    """
    free = list(new)
    found = []
    for nodeid in asked:
        if nodeid in collected:
            continue
        twin = _twin(nodeid, free)
        if twin is not None:
            free.remove(twin)
        found.append(Absence(nodeid, twin))
    return tuple(found)


def _twin(nodeid: str, new: Sequence[str]) -> str | None:
    file, _, name = nodeid.partition("::")
    function = name.partition("[")[0]
    for candidate in new:
        if candidate.partition("::")[2] == name:
            return candidate
    in_file = [each for each in new if each.partition("::")[0] == file]
    for candidate in in_file:
        if candidate.partition("::")[2].partition("[")[0] == function:
            return candidate
    names = {candidate.partition("::")[2]: candidate for candidate in in_file}
    close = difflib.get_close_matches(name, names, n=1, cutoff=_ALIKE)
    return names[close[0]] if close else None


def _was_asked_for(nodeid: str, config: pytest.Config) -> bool:
    """Whether this session set out to run the whole file that a test was in.

    Not where single tests were named, nor where pytest itself leaves files out (``--lf``, ``--ignore``). Tests that
    ``-k`` or ``-m`` deselect are collected, so never absent.
    """
    option = config.option
    if getattr(option, "lf", False) or getattr(option, "pyargs", False):
        return False
    file = config.rootpath / nodeid.partition("::")[0]
    ignored = [Path(os.path.abspath(path)) for path in getattr(option, "ignore", None) or ()]
    if any(file == path or path in file.parents for path in ignored):
        return False
    if any(file.match(pattern) for pattern in getattr(option, "ignore_glob", None) or ()):
        return False
    for argument in config.args:
        if "::" in argument:
            continue
        path = Path(os.path.abspath(config.invocation_params.dir / argument))
        if path == file or path in file.parents:
            return True
    return False


def _absent(absence: Absence, baseline: str, action: _Choice) -> CheckResult:
    from harness.model.outcome import Outcome
    from harness.model.verdict import CheckResult

    case = Situation.MISSING if absence.now is None else Situation.RENAMED
    chosen = action(case)
    if absence.now is None:
        summary = f"missing: {absence.nodeid} is in baseline {baseline!r} and was not collected"
        step = "bring it back, or write the baseline again without it; to allow it: --harness-policy missing=pass"
    else:
        summary = f"renamed: {absence.nodeid} is in baseline {baseline!r} and was not collected, while {absence.now} is new"
        step = (
            f"if they are the same, mark it limit_slowdown(renamed_from={absence.nodeid!r}), or write the baseline "
            "again; to allow it: --harness-policy renamed=pass"
        )
    return CheckResult(
        check="baseline",
        outcome=Outcome.FAILED if chosen is Action.FAIL else Outcome.SKIPPED,
        summary=summary,
        evidence="",
        next_step=step,
    )


def _skipped(nodeid: str, baseline: str, action: Action) -> CheckResult:
    from harness.model.outcome import Outcome
    from harness.model.verdict import CheckResult

    return CheckResult(
        check="baseline",
        outcome=Outcome.FAILED if action is Action.FAIL else Outcome.SKIPPED,
        summary=f"skipped: {nodeid} is in baseline {baseline!r} and was not timed",
        evidence="",
        next_step="run it where it can run, or write the baseline again without it",
    )


def _speeds(verdict: Verdict) -> list[CheckResult]:
    return [check for check in verdict.checks if check.check in SPEED_CHECKS]


def _nodeid(verdict: Verdict) -> str:
    return f"{verdict.workload}::{verdict.case}"
