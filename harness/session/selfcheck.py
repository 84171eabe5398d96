"""The self-check of this machine: every timed op beside an identical copy of itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.benchmark.selfcheck import ARMS, Op, Plan, check_op
from harness.benchmark.stopping import DECIDABLE_ROUNDS, StoppingRule
from harness.devices.base import Device
from harness.devices.cuda_faults import DeviceFaultError
from harness.devices.registry import Devices, choose_devices
from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts
from harness.errors import UnavailableError, WorkloadError
from harness.model.selfcheck import SelfCheck, SelfCheckRun
from harness.model.workload import Case
from harness.session.catalogue import UNASKED, Selection
from harness.session.declared import Declared, declared_by
from harness.session.foreign import foreign
from harness.session.isolation import (
    Hooks,
    Leftover,
    Order,
    Teller,
    TimeLimit,
    Work,
    carry_out,
    carry_out_here,
    selected,
)
from harness.session.observe import to_device, unwatched
from harness.session.selfcheck_account import (
    ANNOUNCED,
    CHECKED,
    LISTED,
    MADE,
    Account,
    Announcement,
    Listed,
    Progress,
)
from harness.session.selfcheck_verdict import judged, unchecked

__all__ = ["Announcement", "Progress", "self_check", "self_check_apart"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """One timed case; ``decision_s`` is how long a decision on it takes, ``given`` how the command line calls it."""

    case: Case
    op: Op
    given: str
    decision_s: float


def self_check(
    selections: Sequence[Selection],
    devices: Devices,
    plan: Plan,
    *,
    announce: Callable[[Announcement], object],
    progress: Progress,
) -> SelfCheckRun:
    """Check every timed op of ``selections`` in this process; what is done is kept when the user interrupts.

    Each op is called a few times first, to say how long all of it will take. An op that raises gets a failed
    check. Raises ``UnavailableError`` where nothing can be timed, ``UsageError`` where nothing is meant to be.
    """
    account = Account(plan, TimeLimit(time_limit_s=0.0), announce, progress)
    order = Order(
        names=(),
        limits=account.limits,
        work=lambda leftover: lambda teller: _check(selections, devices, plan, teller, leftover),
    )
    clock = time.perf_counter()
    finished = carry_out_here(order, account)
    return account.run(finished=finished, duration_s=time.perf_counter() - clock)


def self_check_apart(
    names: Sequence[str],
    device: str,
    plan: Plan,
    *,
    time_limit_s: float,
    announce: Callable[[Announcement], object],
    progress: Progress,
    hooks: Hooks,
) -> SelfCheckRun:
    """The same by name and in another process.

    One decision that takes ``time_limit_s`` longer than a decision may ends that process, and its op is not checked,
    as when it takes the process along; the other ops are checked in a new one. Raises as ``carry_out`` does too.
    """
    limits = TimeLimit(
        time_limit_s=time_limit_s, benchmark_s=StoppingRule().patience * plan.seconds
    )
    account = Account(plan, limits, announce, progress)
    asked = tuple(names) or UNASKED

    def work(leftover: Leftover) -> Work:
        def check(teller: Teller) -> None:
            selections = selected(asked, leftover.unusable, teller.about)
            teller.doing(f"preparing device {device}")
            _check(selections, choose_devices(device), plan, teller, leftover)

        return check

    clock = time.perf_counter()
    finished = carry_out(Order(names=asked, limits=limits, work=work), account, hooks)
    return account.run(finished=finished, duration_s=time.perf_counter() - clock)


def _check(
    selections: Sequence[Selection],
    devices: Devices,
    plan: Plan,
    teller: Teller,
    leftover: Leftover,
) -> None:
    """Try every op out, say how long it will take, and check one after the other; everything is told."""
    device = devices.timing
    if device is None:
        raise UnavailableError(
            f"device {devices.traffic.name!r} has no time of its own; use --device auto, cpu or cuda:N"
        )
    teller.doing("asking what this machine is")
    timed = _timed(selections, device, plan, teller)
    listed = Listed(
        given={each.key: each.given for each in timed},
        device=device.name,
        environment=fingerprint([each.name for each in devices.all], more=[gpu_facts]),
        notes=devices.notes,
    )
    teller.item(LISTED, listed)
    left = [each for each in timed if each.key not in leftover.done]
    subjects = [subject for each in left if (subject := _tried(each, device, plan, teller))]
    each = ARMS * plan.decisions
    most_s = sum(each * subject.decision_s for subject in subjects)
    teller.item(ANNOUNCED, Announcement(len(subjects), each * len(subjects), most_s))
    for subject in subjects:
        teller.item(CHECKED, _checked(subject, plan, teller), done=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timed:
    """A timed case before anything is known of it."""

    key: str
    given: str
    case: Case
    declared: Declared


def _timed(
    selections: Sequence[Selection], device: Device, plan: Plan, teller: Teller
) -> list[_Timed]:
    """The cases to be timed, and what cannot even be read, with its fault."""
    found = []
    for selection in selections:
        teller.about(selection.target or selection.name)
        if selection.workload is None:
            fault = WorkloadError(selection.fault)
            teller.item(CHECKED, unchecked(selection.name, device.name, plan, fault))
        for case in selection.cases:
            key, given = f"{selection.name}/{case.name}", selection.given(case.name)
            try:
                declared = declared_by(case)
            except _FAULTS as error:
                teller.item(CHECKED, unchecked(key, device.name, plan, error, given=given))
                continue
            if declared.timed:
                found.append(_Timed(key=key, given=given, case=case, declared=declared))
    return found


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


def _tried(timed: _Timed, device: Device, plan: Plan, teller: Teller) -> _Subject | None:
    """The subject, after two calls: a cold one, and one that says how long a decision will take.

    A slow op gets the time its fewest rounds need, as much as the stopping rule's patience allows. ``None`` where it
    cannot be called, which is told.
    """
    teller.begun(timed.key)
    teller.stage("trying it out")
    op = _op(timed.case, timed.declared, timed.key, device, plan)
    try:
        with foreign(f"timing {timed.case.name} on {op.device}"):
            call, _ = op.pair()
            timer = op.timer()
            timer.measure(call, 1)
            call_s = timer.measure(call, 1) / 1e9
    except _FAULTS as error:
        teller.fault(error)
        check = unchecked(timed.key, device.name, plan, error, given=timed.given)
        teller.item(CHECKED, check, done=True)
        return None
    patience = StoppingRule().patience
    needed = min(2 * DECIDABLE_ROUNDS * call_s, patience * plan.seconds)
    return _Subject(case=timed.case, op=op, given=timed.given, decision_s=max(plan.seconds, needed))


def _checked(subject: _Subject, plan: Plan, teller: Teller) -> SelfCheck:
    op, made = subject.op, 0

    def told() -> None:
        nonlocal made
        made += 1
        teller.begun(op.key)  # every decision has the time limit to itself
        teller.item(MADE, made)

    teller.begun(op.key)
    teller.stage("timing")
    teller.item(MADE, 0)
    try:
        with foreign(f"timing {subject.case.name} on {op.device}"):
            findings = check_op(op, plan, told=told)
    except _FAULTS as error:
        teller.fault(error)
        return unchecked(op.key, op.device, plan, error, given=subject.given)
    return judged(op, plan, findings)


_FAULTS = (DeviceFaultError, MemoryError, UnavailableError, WorkloadError)
