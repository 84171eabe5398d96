"""What has been heard of a self-check so far, from the process it runs in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from harness.benchmark.selfcheck import ARMS, Plan
from harness.environment import fingerprint
from harness.errors import UsageError
from harness.model.environment import Environment
from harness.model.outcome import Outcome
from harness.model.selfcheck import SelfCheck, SelfCheckRun
from harness.session.isolation import (
    Begun,
    Ending,
    Item,
    Limits,
    Message,
    next_step,
    outcome_of,
    story,
)
from harness.session.selfcheck_verdict import unfinished

__all__ = [
    "ANNOUNCED",
    "CHECKED",
    "LISTED",
    "MADE",
    "Account",
    "Announcement",
    "Listed",
    "Progress",
]


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is about to be done, told before it starts: ``most_s`` seconds at most, unless the machine slows down."""

    ops: int
    decisions: int
    most_s: float


Progress = Callable[[str, int], object]
"""Told the op, and how many of all decisions are made, before the first and after each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The ops to check, by key, and where; ``given`` is how the command line calls each."""

    given: Mapping[str, str]
    device: str
    environment: Environment
    notes: tuple[str, ...]


LISTED, ANNOUNCED, MADE, CHECKED = "listed", "announced", "made", "checked"
"""The kinds of items a self-check tells: which ops there are, how long all will take, decisions made, a check."""


class Account:
    """What has been heard of the ops: which there are, and the check of each that is done."""

    def __init__(
        self,
        plan: Plan,
        limits: Limits,
        announce: Callable[[Announcement], object],
        progress: Progress,
    ) -> None:
        self.limits = limits
        self._plan, self._announce, self._progress = plan, announce, progress
        self._listed: Listed | None = None
        self._announced = False
        self._case, self._before = "", 0
        self._checks: dict[str, SelfCheck] = {}

    @property
    def planned(self) -> bool:
        """As of any account."""
        return self._listed is not None

    @property
    def keys(self) -> frozenset[str]:
        """As of any account."""
        return frozenset(self._checks)

    @property
    def left(self) -> Sequence[str]:
        """As of any account."""
        return [key for key in self._given if key not in self._checks]

    @property
    def told(self) -> int:
        """As of any account."""
        return len(self._checks)

    @property
    def _given(self) -> Mapping[str, str]:
        return self._listed.given if self._listed else {}

    def hear(self, message: Message) -> None:
        """The ops, how long they will take, every decision, and the check of each op."""
        match message:
            case Begun():
                self._case = message.case
            case Item(kind, body):
                self._heard(kind, body)

    def _heard(self, kind: str, body: object) -> None:
        if kind == LISTED and self._listed is None:
            self._listed = msgspec.convert(body, Listed)
            if not self._listed.given and not self._checks:
                raise UsageError(
                    "none of these cases is timed; `harness workloads NAME` says which are"
                )
        elif kind == ANNOUNCED and not self._announced:
            self._announced, self._before = True, len(self._checks)
            self._announce(msgspec.convert(body, Announcement))
        elif kind == MADE:
            each = ARMS * self._plan.decisions
            made = msgspec.convert(body, int)
            self._progress(self._case, (len(self._checks) - self._before) * each + made)
        elif kind == CHECKED:
            self._keep(msgspec.convert(body, SelfCheck))

    def lost_case(self, ending: Ending) -> None:
        """Not checked, and why."""
        self._keep(self._lost(ending, ending.case, self._given.get(ending.case, ending.case)))

    def lost_workload(self, ending: Ending) -> None:
        """The same under the workload's name."""
        self._keep(self._lost(ending, ending.workload, ending.workload))

    def not_run(self, key: str, reason: str) -> None:
        """Not checked, and why."""
        self._keep(unfinished(key, self._device, self._plan, Outcome.INCONCLUSIVE, reason))

    def run(self, *, finished: bool, duration_s: float) -> SelfCheckRun:
        """Everything so far."""
        listed = self._listed
        return SelfCheckRun(
            environment=listed.environment if listed else fingerprint(()),
            checks=tuple(self._checks.values()),
            planned=len(self._checks) + len(self.left),
            duration_s=duration_s,
            interrupted=not finished,
            notes=listed.notes if listed else (),
        )

    @property
    def _device(self) -> str:
        return self._listed.device if self._listed else ""

    def _lost(self, ending: Ending, key: str, given: str) -> SelfCheck:
        return unfinished(
            key,
            self._device,
            self._plan,
            outcome_of(ending),
            story(ending, self.limits),
            next_step=next_step(ending, given=given, on_gpu="cuda" in self._device),
        )

    def _keep(self, check: SelfCheck) -> None:
        self._checks[check.key] = check
