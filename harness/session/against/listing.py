"""Which cases a comparison with a ref is about, asked in another process: importing a workload may end its process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from harness.model.verdict import Verdict
from harness.session.against.roots import Imported, imported
from harness.session.against.subjects import Record, Subject, chosen
from harness.session.against.tour import Request
from harness.session.catalogue import UNASKED
from harness.session.isolation import (
    SUPPORTED,
    Ending,
    Hooks,
    Item,
    Leftover,
    Message,
    Order,
    Teller,
    TimeLimit,
    Work,
    carry_out,
    carry_out_here,
    lost_workload,
    selected,
)

__all__ = ["Listing", "listed"]

_LISTING = "listing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The cases to time, verdicts on what cannot be timed, what is to be noted, and where the code lies."""

    subjects: tuple[Subject, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    code: Imported

    def records(self) -> list[Record]:
        """Nothing is known of any case yet."""
        return [Record(subject) for subject in self.subjects]


def listed(request: Request, hooks: Hooks) -> Listing:
    """Import the workloads and read what their cases declare.

    A workload whose import hangs for ``patience_s`` or ends its process gets a verdict, like one that raises. Raises
    as ``carry_out`` does.
    """
    limits = TimeLimit(time_limit_s=request.patience_s, preparation_s=request.patience_s)
    names = request.names or UNASKED
    order = Order(names=names, limits=limits, work=lambda leftover: _listing(names, leftover))
    account = _Account(limits)
    finished = carry_out(order, account, hooks) if SUPPORTED else carry_out_here(order, account)
    if not finished:
        raise KeyboardInterrupt
    found = account.listing or Listing(subjects=(), verdicts=(), notes=(), code=imported(()))
    return replace(found, verdicts=(*found.verdicts, *account.lost))


def _listing(names: Sequence[str], leftover: Leftover) -> Work:
    def work(teller: Teller) -> None:
        found = chosen(selected(names, leftover.unusable, teller.about), teller.about)
        subjects = tuple(each.subject for each in found.candidates)
        listing = Listing(
            subjects=subjects,
            verdicts=found.verdicts,
            notes=found.notes,
            code=imported(sorted({subject.module for subject in subjects})),
        )
        teller.item(_LISTING, listing)

    return work


class _Account:
    """The listing once it is there, and the workloads ``lost`` on the way."""

    def __init__(self, limits: TimeLimit) -> None:
        self._limits = limits
        self.listing: Listing | None = None
        self.lost: list[Verdict] = []

    @property
    def planned(self) -> bool:
        """As of any account; there is nothing to do after that."""
        return self.listing is not None

    @property
    def keys(self) -> Sequence[str]:
        """No case is run here."""
        return ()

    @property
    def left(self) -> Sequence[str]:
        """No case is run here."""
        return ()

    @property
    def told(self) -> int:
        """As of any account."""
        return len(self.lost)

    def hear(self, message: Message) -> None:
        """The listing is all there is to hear."""
        if isinstance(message, Item):
            self.listing = msgspec.convert(message.body, Listing)

    def lost_case(self, ending: Ending) -> None:
        """No case is run here."""

    def lost_workload(self, ending: Ending) -> None:
        """A verdict under the workload's name."""
        self.lost.append(lost_workload(ending, self._limits))

    def not_run(self, key: str, reason: str) -> None:
        """No case is run here."""
