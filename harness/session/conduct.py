"""One whole run: every selected case verified, compared with the baseline, gathered into one record."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import harness
from harness.baseline.diff import Policy, compare_with_baseline
from harness.devices.registry import Devices
from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts
from harness.model.baseline import Baseline
from harness.model.outcome import Outcome
from harness.model.verdict import INTERRUPTED, CheckResult, Run, Verdict
from harness.session.catalogue import Selection
from harness.session.verify import FIRST_CALL, OnFault, Settings, faulty, verify_case
from harness.units import count_text

__all__ = ["Request", "conduct"]

Progress = Callable[[str, int, int], None]
"""Called with the case about to start, its number from 0, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to run and what to hold it against."""

    selections: tuple[Selection, ...]
    devices: Devices
    settings: Settings
    command: str
    baseline: Baseline | None = None
    policy: Policy | None = None


def conduct(request: Request, *, progress: Progress, on_fault: OnFault | None = None) -> Run:
    """Verify every case and return the record, also when the user interrupts: what is done is kept.

    ``on_fault`` is told each exception of a workload.
    """
    started = datetime.now(UTC)
    clock = time.perf_counter()
    names = [device.name for device in request.devices.all]
    environment = fingerprint(names, more=[gpu_facts])
    verdicts, checks = _verdicts(request, progress, on_fault or (lambda error: None))
    run = Run(
        run_id=started.strftime("%Y%m%dT%H%M%S") + f"{started.microsecond // 1000:03d}Z",
        created=started.isoformat(timespec="seconds"),
        command=request.command,
        harness_version=harness.__version__,
        seed=request.settings.seed,
        environment=environment,
        verdicts=tuple(verdicts),
        checks=tuple(checks),
        baseline=request.baseline.name if request.baseline else None,
        notes=(*request.devices.notes, *_first_calls(verdicts)),
    )
    return replace(_compared(run, request), duration_s=time.perf_counter() - clock)


def _verdicts(
    request: Request, progress: Progress, on_fault: OnFault
) -> tuple[list[Verdict], list[CheckResult]]:
    total = sum(max(1, len(selection.cases)) for selection in request.selections)
    verdicts: list[Verdict] = []
    try:
        for selection in request.selections:
            if selection.workload is None:
                progress(selection.name, len(verdicts), total)
                verdicts.append(faulty(selection.name, selection.fault))
                continue
            for case in selection.cases:
                progress(f"{selection.name}/{case.name}", len(verdicts), total)
                verdicts.append(
                    verify_case(
                        selection,
                        case,
                        devices=request.devices,
                        settings=request.settings,
                        on_fault=on_fault,
                    )
                )
    except KeyboardInterrupt:
        return verdicts, [_interrupted(len(verdicts), total)]
    return verdicts, []


def _first_calls(verdicts: Sequence[Verdict]) -> list[str]:
    """A word on every cold call over its budget: harmless once, unless every batch is a first."""
    return [
        f"{verdict.key}: {detail}"
        for verdict in verdicts
        for result in verdict.checks
        for detail in result.details
        if detail.startswith(FIRST_CALL)
    ]


def _interrupted(done: int, total: int) -> CheckResult:
    return CheckResult(
        check=INTERRUPTED,
        outcome=Outcome.INCONCLUSIVE,
        summary=f"interrupted after {done} of {total} cases",
        evidence="the cases in this report were finished before",
        next_step="run again for the rest",
    )


def _compared(run: Run, request: Request) -> Run:
    if request.baseline is None:
        return run
    asked, left_out = _asked_for(request.baseline, request.selections, run)
    comparison = compare_with_baseline(Baseline.of_run(run, "this run"), asked, request.policy)
    verdicts = [
        _with_checks(verdict, comparison.cases.get(verdict.key, ())) for verdict in run.verdicts
    ]
    cases = count_text(left_out, "case")
    notes = (
        [f"baseline {asked.name!r} has {cases} that this run did not ask for"] if left_out else []
    )
    return replace(
        run,
        verdicts=tuple(verdicts),
        checks=(*run.checks, *comparison.run),
        notes=(*run.notes, *notes),
    )


def _asked_for(
    baseline: Baseline, selections: Sequence[Selection], run: Run
) -> tuple[Baseline, int]:
    """The baseline without the cases that nobody asked to run, and how many those are.

    A case that vanished from a workload which ran whole was asked for, and stays to be found missing.
    """
    ran = {verdict.key for verdict in run.verdicts}
    whole = {selection.name for selection in selections if selection.whole}
    asked = [
        case for case in baseline.cases if case.key in ran or case.key.partition("/")[0] in whole
    ]
    return replace(baseline, cases=tuple(asked)), len(baseline.cases) - len(asked)


def _with_checks(verdict: Verdict, checks: Sequence[CheckResult]) -> Verdict:
    return replace(verdict, checks=(*verdict.checks, *checks))
