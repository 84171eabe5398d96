"""Where a run happened, beside where its baseline was taken: what differs first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.model.environment import Environment
from harness.model.verdict import Run
from harness.report.view.cases import Fact
from harness.report.view.reproduction import code_under_test
from harness.report.wording import shortened
from harness.units import count_text

__all__ = ["FactRow", "FactTable", "environment_facts", "fact_tables"]

_DECIDE = "Two runs are comparable only where these agree"
_EXPLAIN = "These explain a difference"

_ABSENT = "not known"
"""Of a fact only one side has."""

_DIFFERS, _GONE, _NEW = "differs", "only in the baseline", "only now"


@dataclass(frozen=True, slots=True)
class FactRow:
    """One fact then and now; ``word`` says how they differ, empty where they agree or nothing was compared."""

    name: str
    baseline: str
    now: str
    word: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTable:
    """Facts of one kind: those that ``differ`` from the baseline, and the ``others``, by name.

    ``compared`` says whether there was a baseline; ``summary`` how many agree with it, empty without one.
    """

    caption: str
    compared: bool
    summary: str
    differing: tuple[FactRow, ...]
    others: tuple[FactRow, ...]


def fact_tables(run: Run) -> tuple[FactTable, ...]:
    """The facts that decide whether two runs compare, then those that explain; without empty tables."""
    then, now = run.baseline_environment, run.environment
    kinds = (
        (_DECIDE, then.hard if then is not None else None, now.hard),
        (_EXPLAIN, then.soft if then is not None else None, now.soft),
    )
    return tuple(_table(caption, old, new) for caption, old, new in kinds if old or new)


def environment_facts(run: Run) -> tuple[Fact, ...]:
    """The commit of the code under test, and that of the baseline where there is one."""
    facts = list(code_under_test(run.environment))
    if run.baseline_environment is None:
        return tuple(facts)
    return (*facts, Fact("baseline", _taken_at(run.baseline_environment)))


def _taken_at(environment: Environment) -> str:
    if environment.commit is None:
        return "taken at an unknown commit"
    dirty = " with uncommitted changes" if environment.dirty else ""
    return f"taken at {shortened(environment.commit)}{dirty}"


def _table(caption: str, then: Mapping[str, str] | None, now: Mapping[str, str]) -> FactTable:
    rows = list(_rows(then or {}, now, compared=then is not None))
    differing = tuple(row for row in rows if row.word)
    return FactTable(
        caption=caption,
        compared=then is not None,
        summary=_summary(len(differing), len(rows)) if then is not None else "",
        differing=differing,
        others=tuple(row for row in rows if not row.word),
    )


def _rows(then: Mapping[str, str], now: Mapping[str, str], *, compared: bool) -> Iterable[FactRow]:
    for name in sorted(then.keys() | now.keys()):
        yield FactRow(
            name=shortened(name),
            baseline=shortened(then[name]) if name in then else _ABSENT,
            now=shortened(now[name]) if name in now else _ABSENT,
            word=_word(then.get(name), now.get(name)) if compared else "",
        )


def _word(then: str | None, now: str | None) -> str:
    if then == now:
        return ""
    if now is None:
        return _GONE
    return _NEW if then is None else _DIFFERS


def _summary(differing: int, total: int) -> str:
    facts = count_text(total, "fact")
    if not differing:
        return f"{'it agrees' if total == 1 else f'all {facts} agree'} with the baseline"
    return f"{differing} of {facts} {'differs' if differing == 1 else 'differ'} from the baseline"
