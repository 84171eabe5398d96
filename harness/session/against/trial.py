"""One case in one pair of processes: is it the same work on both sides, is it right, and how long does it take."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.errors import UsageError
from harness.model.measurement import Sample
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.session.against import protocol
from harness.session.against.process import Side, Worker, WorkerError
from harness.session.against.protocol import Trouble
from harness.session.against.remote import Pair, RemoteCall, RemoteTimer
from harness.session.against.sides import Sides
from harness.session.against.subjects import Record, Subject, broken
from harness.session.deaths import outcome_of_death

__all__ = ["CannotShareError", "Trial", "nothing_there"]

_MOST_NAMED = 3
"""Cases of the ref that are gone, named in one note."""


_SAYS_NOTHING = (Trouble.CANNOT_TELL, Trouble.UNAVAILABLE, Trouble.HUNG)
"""Troubles of the working tree's side that may be anything's fault."""


class CannotShareError(Exception):
    """The two versions cannot live in one process, for this reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How every case is visited. ``notes`` gathers what is true of the whole run.

    ``alike`` says of every case that was called on both sides whether all modules they imported have the same content.
    """

    sides: Sides
    scratch: Path
    seed: int
    notes: dict[str, None] = field(default_factory=dict)
    alike: list[bool] = field(default_factory=list)

    @property
    def same_code(self) -> bool:
        """Whether both sides are known to have run the same code in every case."""
        return bool(self.alike) and all(self.alike)

    def visit(self, record: Record, pair: Pair, rule: StoppingRule) -> None:
        """Time a case in this pair of processes and add the sample, or what keeps it from being timed, to the record.

        Raises ``WorkerError`` with the trouble of a side, ``UsageError`` for one that runs code not its own,
        ``CannotShareError`` where the sides share a process and should not.
        """
        subject, number = record.subject, len(record.samples)
        request = protocol.Open(
            target=subject.target,
            case=subject.case,
            seed=self.seed,
            anywhere=self.sides.python is not None,
        )
        here = self._opened(pair.candidate, request)
        there = self._opened(pair.baseline, request)
        if number == 0:
            if other := self._other_work(subject, here, there):
                record.ended = other
                return
            self._note_lost_cases(subject, here, there)
            self._verify(record, pair)
        begun = time.perf_counter()
        record.samples.append(self._timed(subject, pair, rule, number))
        record.timed_s += time.perf_counter() - begun
        for worker in pair.workers:
            worker.ask(protocol.Close(), protocol.Done)

    def trouble(self, error: WorkerError, given: str) -> CheckResult:
        """The result of a case one side of which could not be run; ``given`` is how the command line calls it."""
        there, text = error.side is Side.BASELINE, str(error)
        label = self.sides.commit.label
        if error.trouble is Trouble.MISSING and there:
            return nothing_there(label, text)
        if error.trouble is Trouble.HUNG:
            step = "wait longer with --patience SECONDS"
        elif there:
            step = f"compare with a ref that works, or name an environment {label} works in with --python"
        else:
            step = ""
        if there or error.trouble in _SAYS_NOTHING:
            outcome = Outcome.INCONCLUSIVE
        elif error.trouble is Trouble.DIED:
            outcome = outcome_of_death(error.status)
        else:
            outcome = Outcome.FAILED
        return broken(
            type(error)(
                f"{label}: {text}" if there else text, side=error.side, trouble=error.trouble
            ),
            outcome,
            given=given,
            next_step=step,
        )

    def _opened(self, worker: Worker, request: protocol.Open) -> protocol.Opened:
        try:
            return worker.ask(request, protocol.Opened)
        except WorkerError as error:
            if error.trouble is Trouble.STRAY:
                raise self.sides.stray(worker.side, str(error)) from None
            raise

    def _other_work(
        self, subject: Subject, here: protocol.Opened, there: protocol.Opened
    ) -> CheckResult | None:
        """Not comparable where the sides do not do the same work on the same inputs."""
        label = self.sides.commit.label
        now = {**here.parameters, "throughput": here.work}
        then = {**there.parameters, "throughput": there.work}
        differing = [*_differences(now, then, "now", label)]
        differing += [
            f"input {text}" for text in _differences(here.inputs, there.inputs, "now", label)
        ]
        if not differing:
            return None
        return CheckResult(
            check=THROUGHPUT_CHECK,
            outcome=Outcome.INCONCLUSIVE,
            summary=f"not comparable with {label}, which does other work under this name: {differing[0]}",
            evidence=f"what each side declares, and its inputs from seed {self.seed}",
            details=tuple(differing),
            next_step="compare with a ref whose case is the same, or give the changed case a new name",
        )

    def _note_lost_cases(
        self, subject: Subject, here: protocol.Opened, there: protocol.Opened
    ) -> None:
        if lost := [name for name in there.cases if name not in here.cases]:
            more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
            named = f"{', '.join(lost[:_MOST_NAMED])}{more}"
            label, name = self.sides.commit.label, subject.workload
            self.notes[
                f"cases of {name} that {label} has and the working tree has not: {named}"
            ] = None

    def _verify(self, record: Record, pair: Pair) -> None:
        """Hold both sides' outputs against the working tree's oracle, which its own side asks once."""
        path = self.scratch / "expected.npz"
        try:
            pair.candidate.ask(protocol.Expect(str(path)), protocol.Done)
            request = protocol.Verify(str(path))
            candidate = pair.candidate.ask(request, protocol.Verified)
            baseline = self._verified(pair.baseline, request)
        finally:
            path.unlink(missing_ok=True)
        record.checks.extend(candidate.results)
        self.alike.append(bool(candidate.code) and candidate.code == baseline.code)
        label = self.sides.commit.label
        record.details.extend(
            f"{label}, {result.check} {result.outcome.value}: {result.summary}"
            for result in baseline.results
            if result.outcome is not Outcome.PASSED
        )
        if name := self.sides.not_built(candidate.compiled):
            raise UsageError(
                f"{name} is compiled, and the commit {label} does not hold it; build the ref in an environment of "
                "its own and name that with --python"
            )
        if pair.shared and candidate.compiled:
            raise CannotShareError(f"{Path(candidate.compiled[0]).name} is compiled")

    def _verified(self, worker: Worker, request: protocol.Verify) -> protocol.Verified:
        try:
            return worker.ask(request, protocol.Verified)
        except WorkerError as error:
            if error.trouble is Trouble.STRAY:
                raise self.sides.stray(worker.side, str(error)) from None
            raise

    def _timed(self, subject: Subject, pair: Pair, rule: StoppingRule, number: int) -> Sample:
        seed = random.Random(f"{self.seed} {subject.key} {number}").getrandbits(32)
        return measure(
            RemoteCall(pair.candidate),
            RemoteCall(pair.baseline),
            timer=RemoteTimer(pair),
            seed=seed,
            rule=rule,
            change_layout=pair.change_layout,
        )


def nothing_there(label: str, text: str) -> CheckResult:
    """The result of a case the ref does not have: new, as far as one can tell."""
    return CheckResult(
        check=THROUGHPUT_CHECK,
        outcome=Outcome.SKIPPED,
        summary=f"{label} does not have it, so there is nothing to compare with: {text}",
        evidence="the files of the commit",
        next_step="compare with a later ref; if it was there under another name, compare under that",
    )


def _differences(
    now: Mapping[str, str], then: Mapping[str, str], here: str, there: str
) -> list[str]:
    return [
        f"{name} is {now.get(name) or 'absent'} {here} and {then.get(name) or 'absent'} at {there}"
        for name in {**now, **then}
        if now.get(name) != then.get(name)
    ]
