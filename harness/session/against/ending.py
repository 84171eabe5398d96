"""How a comparison becomes the record of a run, which every report is made from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import harness
from harness.model.environment import Environment
from harness.model.outcome import Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Run, Verdict
from harness.session.against.tour import Request

__all__ = ["interrupted", "record_of_run"]


def interrupted(how_far: str, evidence: str) -> CheckResult:
    """The result by which a comparison says that it was stopped before its end."""
    return CheckResult(
        check=INTERRUPTED,
        outcome=Outcome.INCONCLUSIVE,
        summary=f"interrupted {how_far}",
        evidence=evidence,
        next_step="compare again for the rest",
    )


def record_of_run(
    request: Request,
    verdicts: Sequence[Verdict],
    checks: Sequence[CheckResult],
    *,
    started: datetime,
    environment: Environment,
    baseline: str,
    paired_with: str,
    notes: Sequence[str],
    duration_s: float,
) -> Run:
    """The record; ``baseline`` is what was compared with and ``paired_with`` what each value was, in words."""
    return Run(
        run_id=started.strftime("%Y%m%dT%H%M%S") + f"{started.microsecond // 1000:03d}Z",
        created=started.isoformat(timespec="seconds"),
        command=request.command,
        harness_version=harness.__version__,
        seed=request.criteria.seed,
        environment=environment,
        verdicts=tuple(verdicts),
        checks=tuple(checks),
        baseline=baseline,
        paired_with=paired_with,
        notes=tuple(notes),
        duration_s=duration_s,
    )
