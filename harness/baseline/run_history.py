"""What a report says of the past of a run: the latest records of each of its cases, the run itself the last of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from harness.baseline.comparability import case_differences, differences, speed_differences
from harness.baseline.promise import promised_by
from harness.baseline.records import comparable_of, present_records
from harness.baseline.stores.base import Store
from harness.baseline.trend import trend_of
from harness.model.baseline import Baseline, BaselineCase
from harness.model.history import CaseHistory, HistoryChange, HistoryPoint, HistoryRecord
from harness.model.measurement import SPEED_PROBABILITIES, Speed
from harness.model.verdict import Run, Verdict

__all__ = ["POINTS_KEPT", "with_history", "with_promised_speeds"]

POINTS_KEPT = 50
"""Runs per case, the present one among them: ten weeks of a build every working day, and a picture in 400 bytes."""

_DIGITS = 4
"""Significant digits of a time: off by 0.005 % at most, a hundredth of what unchanged code differs by from run to run."""

_COMMIT_DIGITS = 12
"""As git abbreviates the commits of its largest repositories."""

_LOW, _MEDIAN, _HIGH = (SPEED_PROBABILITIES.index(place) for place in (0.25, 0.5, 0.75))
_DIRTY = "-dirty"


def with_history(run: Run, store: Store) -> Run:
    """The run with what a store knows of its timed cases up to the time it was made, in ``Run.history``.

    Each case has its own value as its last point, and no other where the store knows of no record that compares. Where
    every record has a frozen peer, times are at the pace of the machine in this run: the ratio to the peer, times what
    the peer takes now. Asks the store once; raises what that raises. Cost: 2 ms per case of 50 records.
    """
    present = {record.key: record for record in present_records(run)}
    wanted = {
        verdict.key: _comparables(verdict, run)
        for verdict in run.verdicts
        if verdict.key in present
    }
    tails = store.tails(wanted, run_id=run.run_id, created=run.created, limit=POINTS_KEPT - 1)
    found = {key: tails[key] for key in present if key in tails}
    return replace(
        run,
        history=tuple(
            _history((*found[key].records, now), earlier=found[key].earlier)
            if key in found
            else _history((now,))
            for key, now in present.items()
        ),
    )


def with_promised_speeds(run: Run, baseline: Baseline) -> Run:
    """The run with the anchor and the latest speeds of its baseline as the history of cases that have none yet.

    Speeds that may not be compared with those of the run are left out. Raises ``UsageError`` for a comparison.
    """
    known = {history.key for history in run.history if len(history.points) > 1}
    current = promised_by(run, baseline.name)
    if differences(baseline.environment, run.environment) or not run.environment.hard:
        return run
    cases = {case.key: case for case in current.cases}
    promised = {
        case.key: case
        for case in baseline.cases
        if case.key not in known and _compares(case, cases.get(case.key))
    }
    present = {record.key: record for record in present_records(run) if record.key in promised}
    added = {
        key: _history((*(_kept(speed, key) for speed in promised[key].speeds), now))
        for key, now in present.items()
    }
    others = tuple(history for history in run.history if history.key not in added)
    return replace(run, history=(*others, *added.values()))


def _comparables(verdict: Verdict, run: Run) -> Collection[str]:
    """The digests of records that compare with a case of this run.

    A comparison only times, while runs mostly watch on the simulated device besides; that device is part of the digest
    and no part of the time.
    """
    sample, environment = verdict.sample, run.environment
    if sample is None:
        return ()
    found = {comparable_of(verdict, sample, environment)}
    if run.paired_with:
        watched = " ".join(sorted({verdict.timing_device, "simulated"}))
        hard = {**environment.hard, "devices": watched}
        found.add(comparable_of(verdict, sample, replace(environment, hard=hard)))
    return found


def _compares(then: BaselineCase, now: BaselineCase | None) -> bool:
    """Whether both were timed, and alike."""
    if now is None or not (then.speeds and now.speeds):
        return False
    return not (case_differences(then, now) or speed_differences(then, now))


def _kept(speed: Speed, key: str) -> HistoryRecord:
    """A speed of a baseline as the record it came from."""
    commit = speed.commit
    return HistoryRecord(
        key=key,
        comparable="",
        run_id="",
        created=speed.created,
        commit=commit.removesuffix(_DIRTY) if commit is not None else None,
        dirty=commit.endswith(_DIRTY) if commit is not None else None,
        speed=speed,
    )


def _history(records: Sequence[HistoryRecord], *, earlier: int = 0) -> CaseHistory:
    trend = trend_of(records)
    pace = trend.times_ns()[-1] / trend.values[-1] if trend.relative else 1.0
    return CaseHistory(
        key=trend.key,
        points=tuple(_point(record, pace, relative=trend.relative) for record in records),
        changes=tuple(
            HistoryChange(index=change.index, ratio=_rounded(change.after / change.before))
            for change in trend.changes
        ),
        earlier=earlier,
    )


def _point(record: HistoryRecord, pace: float, *, relative: bool) -> HistoryPoint:
    values = record.speed.relative if relative else record.speed.call_ns
    low, median, high = (_rounded(values[place] * pace) for place in (_LOW, _MEDIAN, _HIGH))
    return HistoryPoint(
        created=record.created,
        commit=record.commit and record.commit[:_COMMIT_DIGITS],
        dirty=record.dirty,
        call_ns=median,
        low_ns=low,
        high_ns=high,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
