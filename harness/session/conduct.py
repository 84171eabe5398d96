"""One whole run: every selected case verified, compared with the baseline, gathered into one record."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from harness.baseline.diff import Policy
from harness.devices.registry import Devices
from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts
from harness.errors import WorkloadError
from harness.model.baseline import Baseline
from harness.model.verdict import Run
from harness.model.workload import Case
from harness.session.bandwidth import BandwidthMeter
from harness.session.catalogue import Selection
from harness.session.foreign import foreign
from harness.session.matmul import MatmulMeter
from harness.session.record import Listener, Plan, PlannedWorkload, Progress, Record, Terms
from harness.session.verify import OnFault, Settings, faulty, verify_case

__all__ = ["Request", "conduct", "plan_of", "run_cases"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to run and what to hold it against."""

    selections: tuple[Selection, ...]
    devices: Devices
    settings: Settings
    command: str
    baseline: Baseline | None = None
    policy: Policy | None = None


def conduct(
    request: Request,
    *,
    progress: Progress,
    stage: Callable[[str], object] = lambda what: None,
    on_fault: OnFault | None = None,
) -> Run:
    """Verify every case and return the record, also when the user interrupts: what is done is kept.

    ``stage`` is told what is being done, ``on_fault`` each exception of a workload. Everything happens in this process: a case that never comes
    back keeps it, and one that crashes takes it along; ``harness.session.isolation`` is the run that outlives both.
    """
    record = Record(progress, stage)
    record.plan = plan_of(request.selections, request.devices)
    interrupted = False
    try:
        run_cases(request.selections, request.devices, request.settings, record, on_fault=on_fault)
    except KeyboardInterrupt:
        interrupted = True
    terms = Terms(
        command=request.command,
        seed=request.settings.seed,
        baseline=request.baseline,
        policy=request.policy,
    )
    return record.run(terms, interrupted=interrupted)


def plan_of(selections: Collection[Selection], devices: Devices) -> Plan:
    """What there is to run, and where; asks the machine and its GPU what they are."""
    return Plan(
        environment=fingerprint([device.name for device in devices.all], more=[gpu_facts]),
        workloads=tuple(
            PlannedWorkload(
                name=selection.name,
                cases=tuple(case.name for case in selection.cases) or (_NO_CASE,),
                whole=selection.whole,
                target=selection.target,
            )
            for selection in selections
        ),
        traffic_device=devices.traffic.name,
        timing_device=devices.timing.name if devices.timing is not None else "",
        notes=devices.notes,
    )


def run_cases(
    selections: Collection[Selection],
    devices: Devices,
    settings: Settings,
    listener: Listener,
    *,
    done: Collection[str] = (),
    on_fault: OnFault | None = None,
) -> None:
    """Run every case but those ``done`` (``workload/case``), telling ``listener`` how it goes."""
    jobs = [job for job in _jobs(selections) if job.key not in done]
    roofs = _roofs(jobs, devices, settings)
    _measure(roofs, listener)
    for job in jobs:
        listener.begun(job.key if job.case is not None else job.selection.name)
        if job.case is None:
            listener.found(faulty(job.selection.name, job.selection.fault))
            continue
        verdict = verify_case(
            job.selection,
            job.case,
            devices=devices,
            settings=settings,
            on_fault=on_fault or _ignore,
            on_part=listener.partly,
            on_stage=listener.stage,
        )
        listener.found(verdict)
    _measure(roofs, listener)


_NO_CASE = "-"
"""The case of a workload that could not be listed, as ``faulty`` names it."""


@dataclass(frozen=True, slots=True)
class _Job:
    selection: Selection
    case: Case | None

    @property
    def key(self) -> str:
        return f"{self.selection.name}/{_NO_CASE if self.case is None else self.case.name}"


def _jobs(selections: Collection[Selection]) -> list[_Job]:
    return [
        _Job(selection, case)
        for selection in selections
        for case in (selection.cases if selection.workload is not None else (None,))
    ]


def _ignore(error: Exception) -> None:
    """The result says it all."""


_Roofs = tuple[BandwidthMeter, MatmulMeter]


def _roofs(jobs: Collection[_Job], devices: Devices, settings: Settings) -> _Roofs | None:
    """What measures how fast the device copies and multiplies; ``None`` where nothing will be timed."""
    if devices.timing is None or not settings.benchmark:
        return None
    timed = any(job.case is not None and _to_be_timed(job.case) for job in jobs)
    return (BandwidthMeter(devices.timing), MatmulMeter(devices.timing)) if timed else None


def _to_be_timed(case: Case) -> bool:
    try:
        with foreign(f"reading whether {case.name} is timed"):
            return bool(case.timed)
    except WorkloadError:  # the verdict of the case will say so
        return False


def _measure(roofs: _Roofs | None, listener: Listener) -> None:
    if roofs is None:
        return
    copy, matmul = roofs
    listener.doing("measuring how fast the device copies and multiplies")
    copy.measure()
    matmul.measure()
    problems = [problem for problem in (copy.problem, matmul.problem) if problem]
    listener.measured(copy.result, matmul.result, problems)
