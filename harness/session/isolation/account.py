"""What a supervisor is given: an order for workers, who wants to know, and the account of what they have told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.session.isolation.errand import Limits
from harness.session.isolation.messages import Message
from harness.session.isolation.verdicts import Ending
from harness.session.isolation.worker import Leftover, Work
from harness.session.record import Progress

__all__ = ["Account", "Hooks", "Order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Who wants to know: ``progress`` of each case, ``tick`` ten times a second, ``dump`` each traceback of a process.

    ``stage`` is told what is being done.
    """

    progress: Progress = lambda case, number, total: None
    tick: Callable[[], None] = lambda: None
    dump: Callable[[str], None] = lambda text: None
    stage: Callable[[str], None] = lambda what: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What workers are to do: ``work`` makes it for what is left, about the workloads of these ``names``."""

    names: Sequence[str]
    limits: Limits
    work: Callable[[Leftover], Work]
    tracebacks: bool = False


class Account(Protocol):
    """What is known so far of the cases of an order."""

    @property
    def planned(self) -> bool:
        """Whether it is known which cases there are."""
        ...

    @property
    def keys(self) -> Collection[str]:
        """The cases that are done, as ``workload/case``."""
        ...

    @property
    def left(self) -> Sequence[str]:
        """The cases that are planned and not done."""
        ...

    @property
    def told(self) -> int:
        """How many cases and workloads are accounted for."""
        ...

    def hear(self, message: Message) -> None:
        """Take in what a worker tells."""
        ...

    def lost_case(self, ending: Ending) -> None:
        """A worker did not survive a case."""
        ...

    def lost_workload(self, ending: Ending) -> None:
        """A worker did not survive the import of a workload."""
        ...

    def not_run(self, key: str, reason: str) -> None:
        """Nothing can be found out about a case."""
        ...
