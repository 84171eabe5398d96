"""What a run adds to the history: one record per timed case."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import replace

from harness.baseline.promise import refuse_comparison
from harness.model.environment import Environment
from harness.model.history import HistoryRecord
from harness.model.measurement import Sample, Speed
from harness.model.verdict import Run, Verdict
from harness.stats.speed import speed_of

__all__ = ["comparable_of", "left_out", "present_records", "records_of"]

_DIGITS = 7
"""Significant digits of the quantiles: a thousandth of a change of 0.01 %, in half the bytes. The raw sample stays exact."""


def records_of(run: Run) -> tuple[HistoryRecord, ...]:
    """The timed cases of a run, whatever else was found about them: a history without slow runs shows no slowdown.

    A case whose timings are not all positive and finite is left out; ``left_out`` names those. Raises
    ``UsageError`` for a comparison.
    """
    refuse_comparison(run, "a history")
    return present_records(run)


def present_records(run: Run) -> tuple[HistoryRecord, ...]:
    """As ``records_of``, to be looked at beside older ones: of a comparison, whose ratios mean nothing there, the times alone."""
    return tuple(
        _record(verdict, verdict.sample, run)
        for verdict in run.verdicts
        if verdict.sample is not None and _is_usable(verdict.sample)
    )


def left_out(run: Run) -> tuple[str, ...]:
    """Keys of the timed cases of which ``records_of`` makes no record."""
    return tuple(
        verdict.key
        for verdict in run.verdicts
        if verdict.sample is not None and not _is_usable(verdict.sample)
    )


def comparable_of(verdict: Verdict, sample: Sample, environment: Environment) -> str:
    """The digest of all that must agree before the speeds of one key are compared: 32 hexadecimal digits.

    Hard facts of the environment, parameters, timing device, timer, and the work of one call.
    """
    work = verdict.throughput
    content = {
        "hard": dict(environment.hard),
        "parameters": dict(verdict.parameters),
        "device": verdict.timing_device,
        "timer": sample.timer,
        "work": None
        if work is None
        else [work.unit, float(work.units_per_call), int(work.bytes_per_call)],
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:32]


def _record(verdict: Verdict, sample: Sample, run: Run) -> HistoryRecord:
    kept = replace(sample, peer_ns=()) if run.paired_with else sample
    return HistoryRecord(
        key=verdict.key,
        comparable=comparable_of(verdict, sample, run.environment),
        run_id=run.run_id,
        created=run.created,
        commit=run.environment.commit,
        dirty=run.environment.dirty,
        speed=_shortened(speed_of(kept)),
        sample=kept,
    )


def _is_usable(sample: Sample) -> bool:
    paired = len(sample.peer_ns) in (0, len(sample.call_ns))
    return bool(sample.call_ns) and paired and _positive((*sample.call_ns, *sample.peer_ns))


def _positive(values: Iterable[float]) -> bool:
    return all(0 < value < math.inf for value in values)


def _shortened(speed: Speed) -> Speed:
    """With rounded quantiles, and without the commit and time that the record itself has."""
    return replace(
        speed,
        call_ns=tuple(float(f"{value:.{_DIGITS}g}") for value in speed.call_ns),
        relative=tuple(float(f"{value:.{_DIGITS}g}") for value in speed.relative),
        commit=None,
        created="",
    )
