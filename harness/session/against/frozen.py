"""``--against peer``: every case beside the frozen copy it registers as its ``peer``, in one process, pair by pair."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.benchmark.stopping import StoppingRule
from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts
from harness.model.environment import Environment
from harness.model.measurement import Sample
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run, Verdict
from harness.session.against.beside_peer import host_device, take
from harness.session.against.ending import interrupted, record_of_run
from harness.session.against.judgement import judge
from harness.session.against.subjects import Record, Subject, chosen
from harness.session.against.tour import Progress, Request, Step
from harness.session.catalogue import UNASKED
from harness.session.isolation import (
    SUPPORTED,
    Begun,
    Ending,
    Hooks,
    Item,
    Leftover,
    Limits,
    Message,
    Order,
    Teller,
    TimeLimit,
    Work,
    carry_out,
    carry_out_here,
    end_of_case,
    lost_workload,
    selected,
    unrun,
)
from harness.units import count_text

__all__ = ["PEER", "compare_with_peer"]

PEER = "peer"
"""What is given in the place of a ref; a branch of this name can be compared with as ``refs/heads/peer``."""

_PAIRED_WITH = "the frozen peer of each case"

_LISTED, _TAKEN = "listed", "taken"


def compare_with_peer(request: Request, *, progress: Progress, hooks: Hooks | None = None) -> Run:
    """Compare every timed case with its own frozen peer and return the record.

    Peers are host code, so the device must be one whose arrays are the host's. The cases run in another process,
    which is ended where one does not come back in time, and replaced where one took it along; without a time limit
    they run in this one. Ctrl-C keeps the cases that are finished. Raises ``UsageError`` for another device, and as
    ``carry_out`` does.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    hooks = hooks or Hooks()
    limits = TimeLimit(
        time_limit_s=request.time_limit_s,
        benchmark_s=StoppingRule().patience * request.seconds,
    )
    account = _Account(request, limits, progress)
    order = Order(
        names=request.names or UNASKED,
        limits=limits,
        work=lambda leftover: _comparison(request, leftover),
    )
    apart = SUPPORTED and request.time_limit_s > 0
    finished = carry_out(order, account, hooks) if apart else carry_out_here(order, account)
    return _run(request, account, finished=finished, started=started, clock=clock)


def _run(
    request: Request, account: _Account, *, finished: bool, started: datetime, clock: float
) -> Run:
    records, verdicts = account.records, account.verdicts
    listed = account.listed or _Listed.empty()
    checks: list[CheckResult] = []
    if not finished:
        what = f"after {len(records)} of {count_text(len(listed.subjects), 'case')}"
        before = "the cases in this report were finished before"
        checks.append(interrupted(what, before if records else "no case was finished"))
    speeds = judge(records, request.criteria, paired_with=_PAIRED_WITH, named="its frozen peer")
    verdicts += [
        record.verdict(speeds.get(record.subject.key), listed.device) for record in records
    ]
    if finished and not speeds:
        checks.append(_nothing(verdicts))
    return record_of_run(
        request,
        verdicts,
        checks,
        started=started,
        environment=listed.environment,
        baseline=_PAIRED_WITH,
        paired_with=_PAIRED_WITH,
        notes=listed.notes,
        duration_s=time.perf_counter() - clock,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """What is to be timed, where, and what cannot be."""

    subjects: tuple[Subject, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    device: str
    environment: Environment

    @classmethod
    def empty(cls) -> _Listed:
        """Where no workload survived its import."""
        facts = fingerprint((), repository=Path.cwd())
        return cls(subjects=(), verdicts=(), notes=(), device="", environment=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """What became of one case."""

    key: str
    samples: tuple[Sample, ...]
    checks: tuple[CheckResult, ...]
    ended: CheckResult | None


def _comparison(request: Request, leftover: Leftover) -> Work:
    """The work of the other process: list the cases, and take one after the other."""

    def work(teller: Teller) -> None:
        names = request.names or UNASKED
        found = chosen(selected(names, leftover.unusable, teller.about), teller.about)
        teller.doing(f"preparing device {request.device}")
        device, notes = host_device(request.device)
        listed = _Listed(
            subjects=tuple(each.subject for each in found.candidates),
            verdicts=found.verdicts,
            notes=(*notes, *found.notes),
            device=device.name,
            environment=fingerprint([device.name], repository=Path.cwd(), more=[gpu_facts]),
        )
        teller.item(_LISTED, listed)
        for candidate in found.candidates:
            key = candidate.subject.key
            if key not in leftover.done:
                teller.begun(key)
                record = Record(candidate.subject)
                take(candidate, record, device, request, teller.stage)
                taken = _Taken(
                    key=key,
                    samples=tuple(record.samples),
                    checks=tuple(record.checks),
                    ended=record.ended,
                )
                teller.item(_TAKEN, taken, done=True)

    return work


class _Account:
    """What has been heard of the cases: a record for each that is done, verdicts on what is none."""

    def __init__(self, request: Request, limits: Limits, progress: Progress) -> None:
        self._request, self._limits, self._progress = request, limits, progress
        self.listed: _Listed | None = None
        self.records: list[Record] = []
        self.verdicts: list[Verdict] = []

    @property
    def planned(self) -> bool:
        """As of any account."""
        return self.listed is not None

    @property
    def keys(self) -> frozenset[str]:
        """As of any account."""
        return frozenset(record.subject.key for record in self.records)

    @property
    def left(self) -> Sequence[str]:
        """As of any account."""
        done = self.keys
        return [key for key in self._subjects if key not in done]

    @property
    def told(self) -> int:
        """As of any account."""
        return len(self.records) + len(self.verdicts)

    @property
    def _subjects(self) -> dict[str, Subject]:
        return {subject.key: subject for subject in (self.listed.subjects if self.listed else ())}

    def hear(self, message: Message) -> None:
        """A listing, and one by one what was listed."""
        match message:
            case Begun():
                self._progress(self._step(message.case))
            case Item() if message.kind == _LISTED and self.listed is None:
                self.listed = msgspec.convert(message.body, _Listed)
                self.verdicts.extend(self.listed.verdicts)
            case Item() if message.kind == _TAKEN:
                taken = msgspec.convert(message.body, _Taken)
                self._add(taken.key, taken.ended, samples=taken.samples, checks=taken.checks)

    def lost_case(self, ending: Ending) -> None:
        """The case ends with how its process did."""
        given = self._subjects[ending.case].given
        self._add(ending.case, end_of_case(ending, self._limits, given=given))

    def lost_workload(self, ending: Ending) -> None:
        """A verdict under the workload's name."""
        self.verdicts.append(lost_workload(ending, self._limits))

    def not_run(self, key: str, reason: str) -> None:
        """The case ends with that."""
        self._add(key, unrun(key, reason))

    def _add(
        self,
        key: str,
        ended: CheckResult | None,
        *,
        samples: Sequence[Sample] = (),
        checks: Sequence[CheckResult] = (),
    ) -> None:
        subject = self._subjects[key]
        record = Record(subject, samples=list(samples), checks=list(checks), ended=ended)
        self.records.append(record)

    def _step(self, key: str) -> Step:
        done, cases = len(self.records), len(self._subjects)
        left_s = (cases - done) * self._request.seconds
        return Step(case=key, number=done + 1, cases=cases, process=None, left_s=left_s)


def _nothing(verdicts: list[Verdict]) -> CheckResult:
    return CheckResult(
        check=THROUGHPUT_CHECK,
        outcome=Outcome.INCONCLUSIVE,
        summary="nothing was compared with a frozen peer",
        evidence=f"{count_text(len(verdicts), 'case')}, none of them timed beside one",
        next_step="see what each case says",
    )
