"""A run turned into a promise: what of it is kept, and which of its timings one may doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.errors import UsageError
from harness.model.baseline import Baseline, BaselineCase
from harness.model.environment import Environment
from harness.model.measurement import Sample, Speed
from harness.model.outcome import Outcome
from harness.model.verdict import TIMING_CONDITIONS, Run, Verdict
from harness.stats.speed import speed_of

__all__ = ["commit_of", "kept_speed", "promised_by", "refuse_comparison", "timing_doubts"]

_DIGITS = 5
"""Significant digits of what is kept: off by 0.005 % at most, where unchanged code differs by 0.6 % from run to run."""


def promised_by(run: Run, name: str) -> Baseline:
    """The baseline that promises what ``run`` showed; it is dated as the run was.

    Raises ``UsageError`` for a comparison, whose samples are paired with something else than a frozen peer, and for
    a sample no timer gives, in which the peer was not timed as often as the call.
    """
    refuse_comparison(run, "a baseline")
    cases = tuple(_case(verdict, run) for verdict in run.verdicts)
    return Baseline(name=name, created=run.created, environment=run.environment, cases=cases)


def refuse_comparison(run: Run, what: str) -> None:
    """Raise ``UsageError`` where a run is a comparison: its ratios are to another version, and mean nothing later."""
    if run.paired_with:
        raise UsageError(
            f"run {run.run_id} compared with {run.paired_with}, so its timings cannot go into {what}; "
            "measure it with: harness run"
        )


def timing_doubts(run: Run) -> Mapping[str, str]:
    """Why the timings of a case may be those of the machine, by key: its GPU was throttled or shared."""
    return {
        verdict.key: result.summary
        for verdict in run.verdicts
        for result in verdict.checks
        if result.check == TIMING_CONDITIONS
        and result.outcome in (Outcome.INCONCLUSIVE, Outcome.FAILED)
    }


def kept_speed(sample: Sample, *, commit: str | None, created: str) -> Speed:
    """What a baseline keeps of a sample: its quantiles, to as many digits as can matter."""
    speed = speed_of(sample, commit=commit, created=created)
    return replace(
        speed,
        call_ns=tuple(map(_rounded, speed.call_ns)),
        worth=min(_rounded(speed.worth), speed.rounds),
        relative=tuple(map(_rounded, speed.relative)),
        relative_worth=min(_rounded(speed.relative_worth), speed.rounds),
    )


def commit_of(environment: Environment) -> str | None:
    """The commit of the code that ran, marked where its tree had changes as ``git describe --dirty`` does."""
    if environment.commit is None:
        return None
    return f"{environment.commit}-dirty" if environment.dirty else environment.commit


def _case(verdict: Verdict, run: Run) -> BaselineCase:
    record = verdict.traffic
    return BaselineCase(
        key=verdict.key,
        parameters=verdict.parameters,
        traffic_device=verdict.traffic_device,
        timing_device=verdict.timing_device,
        traffic=record.regions if record is not None else {},
        probe=record.probe if record is not None else "",
        evidence=record.evidence if record is not None else None,
        speeds=(_speed(verdict, verdict.sample, run),) if verdict.sample is not None else (),
        throughput=verdict.throughput,
        margin=verdict.margin,
    )


def _speed(verdict: Verdict, sample: Sample, run: Run) -> Speed:
    try:
        return kept_speed(sample, commit=commit_of(run.environment), created=run.created)
    except ValueError as error:
        raise UsageError(
            f"the timings of {verdict.key} cannot be used: {error}; run again"
        ) from None


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
