"""The order of a comparison: pairs of processes one after the other, each visiting every case that is still open."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from harness.benchmark.stopping import StoppingRule
from harness.session.against.judgement import Criteria, change_of
from harness.session.against.process import WorkerError
from harness.session.against.protocol import Trouble
from harness.session.against.remote import Pair
from harness.session.against.sides import Sides
from harness.session.against.subjects import Record
from harness.session.against.trial import CannotShareError, Trial, nothing_there

__all__ = ["Progress", "Request", "Step", "Tour"]

_FEWEST_PAIRS = 8
"""Before so many processes, that they agree may be luck, and to stop on it would end just the lucky ones: of unchanged
code that was stopped after three to seven, 2 of 11 intervals missed the truth."""

_SETTLED = 0.25
"""Half-widths of a quarter of the margin leave no doubt on which side of it a ratio lies, and more would be spent on
a decision already made."""

_FEWEST_ROUNDS = 4
"""What a process adds is one estimate: of a slow op, more processes with few pairs each tell more than the reverse."""

_MOST_PROCESSES = 200
"""Where a process is precise long before its share of the time is over, more of them take what is left of it."""

_START_S = 1.0
"""Starting a pair of processes, before it is known: NumPy and the harness are imported in half a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is about to be done: one of ``cases`` in its how manieth process, ``None`` where there is but one.

    ``number`` counts the cases from 1. ``left_s`` is what all that is left will take, most likely; how many more
    processes that will be depends on what they find.
    """

    case: str
    number: int
    cases: int
    process: int | None
    left_s: float


Progress = Callable[[Step], None]
"""Told before each case is timed in a pair of processes, while nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to compare, with what, and how. ``seconds`` of timing per case are spread over ``processes`` or more.

    ``patience_s`` is for each answer of a side; ``time_limit_s`` for each case beside its frozen peer, without its
    timing, 0 for none.
    """

    names: tuple[str, ...]
    ref: str
    device: str = "auto"
    seconds: float = 4.0
    processes: int = 4
    criteria: Criteria = field(default_factory=Criteria)
    python: str | None = None
    import_path: str | None = None
    patience_s: float = 600.0
    time_limit_s: float = 300.0
    command: str = "harness compare"

    @property
    def fewest_processes(self) -> int:
        """In how many processes a case must have been timed before anything is decided."""
        return min(_FEWEST_PAIRS, self.processes)


class Tour:
    """Pair after pair of processes, each of which visits every case that is still open.

    A case is so timed at several moments, minutes apart in a long run, and starting processes costs two starts per
    pair and not per case.
    """

    def __init__(self, request: Request, progress: Progress, records: Sequence[Record]) -> None:
        self._request, self._progress, self._records = request, progress, records
        self._start_s: float | None = None
        self.device, self.stopped = "", False
        self.notes: dict[str, None] = {}

    def walk(self, trial: Trial) -> None:
        """Visit until every case is precise or out of time, or ``stopped`` by the user."""
        chance = random.Random(self._request.criteria.seed)
        for record in self._records:
            if record.subject.module in trial.sides.lacking:
                text = f"no file of it holds {record.subject.module}"
                record.ended = nothing_there(trial.sides.commit.label, text)
        try:
            for number, apart in itertools.product(range(_MOST_PROCESSES), (False, True)):
                waiting = [each for each in self._records if self._open(each, apart=apart)]
                while waiting:
                    waiting = self._with_one_pair(trial, waiting, number, chance)
        except KeyboardInterrupt:
            self.stopped = True

    def _with_one_pair(
        self, trial: Trial, waiting: list[Record], number: int, chance: random.Random
    ) -> list[Record]:
        """Visit cases with a new pair of processes; those left when one of the two died need another."""
        self._tell(waiting[0], number)
        begun = time.perf_counter()
        with trial.sides.pair(chance, apart=waiting[0].apart) as pair:
            self._meet(pair, trial.sides)
            self._start_s = time.perf_counter() - begun
            for index, record in enumerate(waiting):
                if index:
                    self._tell(record, number)
                if not self._visit(trial, record, pair):
                    return waiting[index + 1 :]
        return []

    def _visit(self, trial: Trial, record: Record, pair: Pair) -> bool:
        """Whether the pair can go on."""
        begun = time.perf_counter()
        try:
            trial.visit(record, pair, self._rule(record))
        except CannotShareError:
            record.part()
        except WorkerError as error:
            # One process for two versions is the harness's idea: what fails there is tried in two before it counts.
            if pair.shared and error.trouble not in (Trouble.MISSING, Trouble.HUNG):
                record.part()
            else:
                record.ended = trial.trouble(error, record.subject.given)
            return error.trouble not in (Trouble.DIED, Trouble.HUNG)
        finally:
            record.visited_s.append(time.perf_counter() - begun)
        return True

    @property
    def _share_s(self) -> float:
        """What one process may take of the time of a case."""
        return self._request.seconds / self._request.processes

    def _rule(self, record: Record) -> StoppingRule:
        share_ns = self._share_s * 1e9
        return StoppingRule(
            half_width=_SETTLED * self._request.criteria.margin_of(record),
            time_cap_ns=share_ns,
            least_time_ns=min(0.2e9, share_ns / 2),
            least_rounds=_FEWEST_ROUNDS,
            patience=1.0,
        )

    def _open(self, record: Record, *, apart: bool) -> bool:
        """Whether another process, or ``apart`` a pair, would tell more: on precision, never on what it shows."""
        if record.apart is not apart:
            return False
        if record.ended is not None or record.precise:
            return False
        enough = len(record.samples) >= self._request.fewest_processes
        sample = record.sample()
        if enough and record.timed_s >= self._request.seconds - self._share_s / 2:
            return False
        if enough and sample is not None:
            ratio = change_of(record, sample, self._request.criteria).ratio
            target = _SETTLED * self._request.criteria.margin_of(record)
            record.precise = (
                ratio is not None and ratio.high - ratio.low <= 2 * target * ratio.value
            )
        return not record.precise

    def _meet(self, pair: Pair, both: Sides) -> None:
        here, there = (worker.entered for worker in pair.workers)
        self.device = here.device
        self.notes |= dict.fromkeys(here.notes)
        if here.platform != there.platform:
            self.notes[
                f"{both.commit.label} ran on {there.platform}, the working tree on {here.platform}: "
                "a difference may be theirs"
            ] = None

    def _tell(self, record: Record, number: int) -> None:
        ahead = {
            each.subject.key: self._visits_left(each)
            for each in self._records
            if each.ended is None and not each.precise
        }
        starts_s = (self._start_s or _START_S) * max(ahead.values(), default=0)
        left_s = sum(ahead.get(each.subject.key, 0) * self._visit_s(each) for each in self._records)
        self._progress(
            Step(
                case=record.subject.key,
                number=self._records.index(record) + 1,
                cases=len(self._records),
                process=number + 1,
                left_s=left_s + starts_s,
            )
        )

    def _visits_left(self, record: Record) -> int:
        """How many more processes will time a case that does not become precise."""
        taken = len(record.samples)
        each_s = record.timed_s / taken if taken else self._share_s
        left_s = self._request.seconds - record.timed_s
        return max(self._request.fewest_processes - taken, math.ceil(left_s / each_s), 0)

    def _visit_s(self, record: Record) -> float:
        """How long a visit takes, most likely: as before, else as those of other cases, else what it may."""
        known = record.visited_s or [
            seconds for each in self._records for seconds in each.visited_s
        ]
        return fmean(known) if known else self._share_s
