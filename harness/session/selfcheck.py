"""The self-check of this machine: every timed op beside an identical copy of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.benchmark.selfcheck import ARMS, Op, Plan, check_op
from harness.benchmark.stopping import DECIDABLE_ROUNDS, StoppingRule
from harness.devices.base import Device
from harness.devices.cuda_faults import DeviceFaultError
from harness.devices.registry import Devices
from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts
from harness.errors import UnavailableError, UsageError, WorkloadError
from harness.model.selfcheck import SelfCheck, SelfCheckRun
from harness.model.workload import Case
from harness.session.catalogue import Selection
from harness.session.declared import Declared, declared_by
from harness.session.foreign import foreign
from harness.session.observe import to_device, unwatched
from harness.session.selfcheck_verdict import judged, unchecked

__all__ = ["Announcement", "Progress", "self_check"]


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is about to be done, told before it starts: ``most_s`` seconds at most, unless the machine slows down."""

    ops: int
    decisions: int
    most_s: float


Progress = Callable[[str, int], object]
"""Told the op, and how many of all decisions are made, before the first and after each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """One timed case; ``decision_s`` is how long a decision on it takes."""

    case: Case
    op: Op
    decision_s: float


def self_check(
    selections: Sequence[Selection],
    devices: Devices,
    plan: Plan,
    *,
    announce: Callable[[Announcement], object],
    progress: Progress,
) -> SelfCheckRun:
    """Check every timed op of ``selections``; what is done is kept when the user interrupts.

    Each op is called a few times first, to say how long all of it will take. An op that raises gets a failed
    check. Raises ``UnavailableError`` where nothing can be timed, ``UsageError`` where nothing is meant to be.
    """
    device = devices.timing
    if device is None:
        raise UnavailableError(
            f"device {devices.traffic.name!r} has no time of its own; use --device auto, cpu or cuda:N"
        )
    clock = time.perf_counter()
    environment = fingerprint([each.name for each in devices.all], more=[gpu_facts])
    checks: list[SelfCheck] = []
    planned, interrupted = 0, False
    try:
        subjects = _subjects(selections, device, plan, checks)
        planned = len(checks) + len(subjects)
        if not planned:
            raise UsageError(
                "none of these cases is timed; `harness workloads NAME` says which are"
            )
        each = ARMS * plan.decisions
        most_s = sum(each * subject.decision_s for subject in subjects)
        announce(Announcement(len(subjects), each * len(subjects), most_s))
        for number, subject in enumerate(subjects):
            checks.append(_checked(subject, plan, number * each, progress))
    except KeyboardInterrupt:
        interrupted = True
    return SelfCheckRun(
        environment=environment,
        checks=tuple(checks),
        planned=planned,
        duration_s=time.perf_counter() - clock,
        interrupted=interrupted,
        notes=devices.notes,
    )


def _subjects(
    selections: Sequence[Selection], device: Device, plan: Plan, broken: list[SelfCheck]
) -> list[_Subject]:
    """The timed cases, tried out; what cannot be checked is added to ``broken``."""
    subjects = []
    for selection in selections:
        if selection.workload is None:
            fault = WorkloadError(selection.fault)
            broken.append(unchecked(selection.name, device.name, plan, fault))
        for case in selection.cases:
            key = f"{selection.name}/{case.name}"
            try:
                declared = declared_by(case)
                if declared.timed:
                    subjects.append(_tried(case, _op(case, declared, key, device, plan), plan))
            except _FAULTS as error:
                broken.append(unchecked(key, device.name, plan, error))
    return subjects


def _op(case: Case, declared: Declared, key: str, device: Device, plan: Plan) -> Op:
    def pair() -> tuple[Callable[[], object], Callable[[], object]]:
        with foreign(f"the inputs of {case.name}"):
            inputs = case.inputs(plan.seed)
        mine, other = to_device(inputs, device), to_device(inputs, device)
        return lambda: case.run(mine, unwatched), lambda: case.run(other, unwatched)

    return Op(
        key=key,
        device=device.name,
        pair=pair,
        timer=device.timer,
        change_layout=device.change_layout,
        parameters=declared.parameters,
        margin=declared.margin,
    )


def _tried(case: Case, op: Op, plan: Plan) -> _Subject:
    """The subject, after two calls: a cold one, and one that says how long a decision will take.

    A slow op gets the time its fewest rounds need, as much as the stopping rule's patience allows.
    """
    with foreign(f"timing {case.name} on {op.device}"):
        call, _ = op.pair()
        timer = op.timer()
        timer.measure(call, 1)
        call_s = timer.measure(call, 1) / 1e9
    patience = StoppingRule().patience
    needed = min(2 * DECIDABLE_ROUNDS * call_s, patience * plan.seconds)
    return _Subject(case=case, op=op, decision_s=max(plan.seconds, needed))


def _checked(subject: _Subject, plan: Plan, made_before: int, progress: Progress) -> SelfCheck:
    op, made = subject.op, made_before

    def told() -> None:
        nonlocal made
        made += 1
        progress(op.key, made)

    progress(op.key, made)
    try:
        with foreign(f"timing {subject.case.name} on {op.device}"):
            findings = check_op(op, plan, told=told)
    except _FAULTS as error:
        return unchecked(op.key, op.device, plan, error)
    return judged(op, plan, findings)


_FAULTS = (DeviceFaultError, MemoryError, UnavailableError, WorkloadError)
