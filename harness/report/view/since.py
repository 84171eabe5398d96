"""Since when: where the history of a project first shows what a run complains of, and how sure its speeds are."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.history import CaseHistory, HistoryPoint
from harness.model.measurement import SpeedChange
from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.wording import shortened
from harness.units import count_text, percent_text, ratio_text

__all__ = ["since_text", "speed_text"]

_DATE = len("2025-11-30")
_COMMIT = 12
"""As git abbreviates in large projects."""


def since_text(run: Run) -> str:
    """``2025-11-28 (commit 0123456789ab), 1.05x: mlp/float32``: of the worst slowdown that a history knows of.

    Empty where nothing became slower, or no history is there to ask.
    """
    histories = {history.key: history for history in run.history}
    failed = [
        (change, verdict.key)
        for verdict in run.verdicts
        for check in verdict.checks
        if (change := check.change) is not None and check.outcome is Outcome.FAILED
    ]
    worst_first = sorted(failed, key=lambda found: -found[0].ratio.value)
    found = next((key for _, key in worst_first if key in histories), None)
    return _since(histories[found], run) if found is not None else ""


def _since(history: CaseHistory, run: Run) -> str:
    case = shortened(history.key)
    before = [point for point in history.points if point.created != run.created]
    last = history.changes[-1] if history.changes else None
    if last is not None and last.ratio > 1 and 0 <= last.index < len(before):
        return f"{_when(before[last.index])}, {ratio_text(last.ratio)}: {case}"
    runs = len(before) + history.earlier
    if not runs:
        return f"this run, the first in the history of {case}"
    newest = f", the newest of {_when(before[-1])}" if before else ""
    return f"this run: the {count_text(runs, 'run')} before do not show it{newest}: {case}"


def _when(point: HistoryPoint) -> str:
    dirty = ", with uncommitted changes" if point.dirty else ""
    commit = f"commit {shortened(point.commit)[:_COMMIT]}{dirty}" if point.commit else "no commit"
    return f"{shortened(point.created[:_DATE])} ({commit})"


def speed_text(run: Run) -> str:
    """``12 cases side by side, 95.0 % intervals``; empty where no speed was held against another.

    ``none of 2 judged against a baseline`` where the check of every one was skipped.
    """
    found = [
        check for verdict in run.verdicts for check in verdict.checks if check.change is not None
    ]
    if not found:
        return ""
    how = "side by side" if run.paired_with else "against a baseline"
    judged = [
        check.change
        for check in found
        if check.change is not None
        and (check.outcome is not Outcome.SKIPPED or check.waiver is not None)
    ]
    if not judged:
        return f"none of {len(found):,} judged {how}"
    few = f"{len(judged):,} of " if len(judged) < len(found) else ""
    verb = " judged" if few else ""
    return f"{few}{count_text(len(found), 'case')}{verb} {how}, {_confidence(judged)} intervals"


def _confidence(changes: Iterable[SpeedChange]) -> str:
    """The lowest: how sure the least sure of them is."""
    return percent_text(min(change.ratio.confidence for change in changes))
