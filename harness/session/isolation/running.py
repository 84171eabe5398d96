"""The cases of ``harness run``, each verified in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence

from harness.environment import fingerprint
from harness.model.verdict import Run
from harness.session.isolation import verdicts
from harness.session.isolation.account import Hooks, Order
from harness.session.isolation.errand import Errand, Limits
from harness.session.isolation.messages import (
    Begun,
    Doing,
    Found,
    Measured,
    Message,
    Partly,
    Stage,
)
from harness.session.isolation.supervisor import carry_out
from harness.session.isolation.verdicts import Ending
from harness.session.isolation.worker import verification
from harness.session.record import Plan, PlannedWorkload, Record

__all__ = ["conduct_apart"]


def conduct_apart(errand: Errand, hooks: Hooks) -> Run:
    """Verify every case in another process and return the record, also when the user interrupts.

    What is lost to a hang or a crash, and what is raised, is as ``carry_out`` says.
    """
    record = Record(hooks.progress)
    account = _Account(record, errand)
    order = Order(
        names=errand.names,
        limits=errand,
        work=lambda leftover: verification(errand, leftover),
        tracebacks=errand.tracebacks,
    )
    finished = carry_out(order, account, hooks)
    record.plan = _whole_plan(record.plan, account.lost)
    return record.run(errand.terms, interrupted=not finished)


class _Account:
    """A record of verdicts, and the workloads that were ``lost`` before their cases were known."""

    def __init__(self, record: Record, limits: Limits) -> None:
        self._record, self._limits = record, limits
        self.lost: list[PlannedWorkload] = []

    @property
    def planned(self) -> bool:
        """As of any account."""
        return self._record.plan is not None

    @property
    def keys(self) -> frozenset[str]:
        """As of any account."""
        return self._record.keys

    @property
    def left(self) -> Sequence[str]:
        """As of any account."""
        return self._record.left

    @property
    def told(self) -> int:
        """As of any account."""
        return len(self._record.verdicts)

    def hear(self, message: Message) -> None:
        """Everything goes into the record."""
        record = self._record
        match message:
            case Plan():
                record.plan = record.plan or message
            case Doing():
                record.doing(message.what)
            case Begun():
                record.begun(message.case)
            case Stage():
                record.stage(message.what)
            case Partly():
                record.partly(message.verdict)
            case Found():
                record.found(message.verdict)
            case Measured():
                record.measured(message.copy, message.matmul, message.problems)

    def lost_case(self, ending: Ending) -> None:
        """What was found before the end, and the end."""
        record = self._record
        record.found(verdicts.lost_case(ending, record.partial, record.plan, self._limits))

    def lost_workload(self, ending: Ending) -> None:
        """A verdict under the workload's name."""
        self.lost.append(
            PlannedWorkload(name=ending.workload, cases=(verdicts.NO_CASE,), whole=True)
        )
        self._record.found(verdicts.lost_workload(ending, self._limits))

    def not_run(self, key: str, reason: str) -> None:
        """A verdict that says so."""
        self._record.found(verdicts.not_run(key, reason, self._record.plan))


def _whole_plan(plan: Plan | None, lost: list[PlannedWorkload]) -> Plan:
    """The plan with the workloads that could not be imported; without any other it has the machine's facts alone."""
    if plan is None:
        return Plan(
            environment=fingerprint(()), workloads=tuple(lost), traffic_device="", timing_device=""
        )
    known = {workload.name for workload in plan.workloads}
    more = tuple(workload for workload in lost if workload.name not in known)
    return Plan(
        environment=plan.environment,
        workloads=(*plan.workloads, *more),
        traffic_device=plan.traffic_device,
        timing_device=plan.timing_device,
        notes=plan.notes,
    )
