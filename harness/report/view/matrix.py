"""Several runs as plain data: cases by runs, what differs between the runs, and every finding once.

Times of different runs stand side by side and are judged by nobody: what may be said about a change of speed is what the
checks of a run say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.model.budget import WHOLE_RUN, Quantity
from harness.model.measurement import CopyBandwidth, Estimate, rates_of
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run, TrafficRecord, Verdict
from harness.report.view.crossings import Cell, cells_of
from harness.report.view.interval import apart, has_interval
from harness.report.view.mark import Mark
from harness.report.wording import LONGEST_UNIT, cut, shortened, visible
from harness.units import duration_text, percent_text, rate_text, ratio_text

__all__ = ["MatrixCell", "MatrixRow", "matrix_rows", "row_anchors"]

_TRAFFIC = (Quantity.D2H, Quantity.H2D, Quantity.SYNCS)
"""The three questions everybody asks; bytes and blocking copies are told where they broke a limit."""

_NO_CASE = frozenset({"", "-"})
"""The case of a workload that broke before it had any."""

_Key = tuple[str, int]
"""A case by its name, and by its number where a run has several of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """One case in one run.

    ``not_passed`` names the checks that did not pass. ``ratio`` is the time over that of the first run, with ``about``
    where the two intervals do not show a difference; ``fastest`` where it passed and its interval lies below all others. ``change`` is what the run itself
    decided about its speed. ``traffic`` has what one call did or exceeded, ``None`` where nobody watched.
    ``other_parameters`` are the case's where they are not those of the first run, so that times do not compare. All
    texts are empty where they do not apply.
    """

    mark: Mark
    not_passed: str
    call_time: str
    spread: str
    ratio: str
    about: bool
    fastest: bool
    change: str
    throughput: str
    of_copy: str
    traffic: tuple[Cell, ...] | None
    other_parameters: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One case in every run; ``None`` where a run does not have it. ``mark`` is the worst of its cells."""

    anchor: str
    workload: str
    case: str
    mark: Mark
    cells: tuple[MatrixCell | None, ...]

    @property
    def not_passed(self) -> int:
        """In how many runs it did not pass."""
        return sum(cell.mark.severity > 0 for cell in self.cells if cell is not None)

    @property
    def incomplete(self) -> bool:
        """Whether some run does not have the case."""
        return None in self.cells


def matrix_rows(runs: Sequence[Run]) -> tuple[MatrixRow, ...]:
    """A row per case of any run: the worst on top, of those alike in the order in which they first appear.

    Cost: linear in the cases of all runs.
    """
    found = [_by_key(run.verdicts) for run in runs]
    rows = [
        _row(anchor, [verdicts.get(key) for verdicts in found], runs)
        for key, anchor in _anchors(found).items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.mark.severity, -row.not_passed)))


def row_anchors(runs: Sequence[Run]) -> tuple[tuple[str, ...], ...]:
    """Per run the link targets of its verdicts, in their order: those of the rows their cases are in."""
    found = [_by_key(run.verdicts) for run in runs]
    anchors = _anchors(found)
    return tuple(tuple(anchors[key] for key in verdicts) for verdicts in found)


def _by_key(verdicts: Sequence[Verdict]) -> dict[_Key, Verdict]:
    seen: Counter[str] = Counter()
    found = {}
    for verdict in verdicts:
        seen[verdict.key] += 1
        found[verdict.key, seen[verdict.key]] = verdict
    return found


def _anchors(found: Sequence[Mapping[_Key, Verdict]]) -> dict[_Key, str]:
    keys = dict.fromkeys(key for verdicts in found for key in verdicts)
    return {key: f"row-{number}" for number, key in enumerate(keys, start=1)}


def _row(anchor: str, verdicts: Sequence[Verdict | None], runs: Sequence[Run]) -> MatrixRow:
    there = [verdict for verdict in verdicts if verdict is not None]
    first, fastest = verdicts[0], _fastest(there)
    cells = tuple(
        None
        if verdict is None
        else _cell(
            verdict, first if index else None, run.copy_bandwidth, fastest=verdict is fastest
        )
        for index, (verdict, run) in enumerate(zip(verdicts, runs, strict=True))
    )
    case = there[0].case
    return MatrixRow(
        anchor=anchor,
        workload=shortened(there[0].workload),
        case="no case ran" if case in _NO_CASE else shortened(case),
        mark=max((cell.mark for cell in cells if cell), key=lambda mark: mark.severity),
        cells=cells,
    )


def _cell(
    verdict: Verdict, first: Verdict | None, copy: CopyBandwidth | None, *, fastest: bool
) -> MatrixCell:
    """``first`` is the same case in the first run, ``None`` where this is it or it has none."""
    time = _known_time(verdict.call_time)
    rates = rates_of(verdict.throughput, verdict.call_time, copy, device=verdict.timing_device)
    unit = verdict.throughput.unit if verdict.throughput is not None else ""
    alike = first is None or dict(first.parameters) == dict(verdict.parameters)
    reference = _known_time(first.call_time) if first is not None and alike else None
    return MatrixCell(
        mark=Mark.of_verdict(verdict),
        not_passed=", ".join(_not_passed(verdict)),
        call_time=duration_text(time.value) if time is not None else "",
        spread=_spread(time),
        ratio=ratio_text(time.value / reference.value) if time and reference else "",
        about=time is not None and reference is not None and not apart(time, reference),
        fastest=fastest,
        change=_change(verdict),
        throughput=rate_text(rates.units_per_second, cut(visible(unit), LONGEST_UNIT))
        if rates is not None
        else "",
        of_copy=percent_text(rates.of_copy) if rates is not None and rates.of_copy else "",
        traffic=_traffic(verdict.traffic) if verdict.traffic is not None else None,
        other_parameters="" if alike else _parameters(verdict),
    )


def _known_time(estimate: Estimate | None) -> Estimate | None:
    """A time that can be shown and divided by."""
    return estimate if estimate is not None and 0 < estimate.value < math.inf else None


def _spread(time: Estimate | None) -> str:
    """The interval as one figure: the farther end, as a fraction of the value."""
    if time is None:
        return ""
    if not has_interval(time):
        return "no interval"
    width = max(time.high - time.value, time.value - time.low) / time.value
    return f"± {percent_text(width)}" if 0 <= width < math.inf else ""


def _fastest(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The one that passed with an interval below all others, where there is such a one: fast and wrong is no merit."""
    timed = [(time, each) for each in verdicts if (time := _known_time(each.call_time)) is not None]
    if len(timed) < 2:
        return None
    (time, first), *others = sorted(timed, key=lambda found: found[0].value)
    clear = first.outcome is Outcome.PASSED and all(apart(time, other) for other, _ in others)
    return first if clear else None


def _not_passed(verdict: Verdict) -> Iterator[str]:
    """Checks that did not pass, each once, the worst first; one that was waived is told as that."""
    worst_first = sorted(verdict.checks, key=lambda result: -result.outcome.severity)
    told = (_name(result) for result in worst_first if result.outcome is not Outcome.PASSED)
    yield from dict.fromkeys(told)


def _name(result: CheckResult) -> str:
    waived = " waived" if result.waiver is not None else ""
    skipped = " skipped" if not waived and result.outcome is Outcome.SKIPPED else ""
    return f"{shortened(result.check)}{waived}{skipped}"


def _change(verdict: Verdict) -> str:
    """``1.050x of main, regressed``: what a check of the run itself decided."""
    for result in verdict.checks:
        change = result.change
        if change is not None and 0 < change.ratio.value < math.inf:
            decision = shortened(change.decision)
            return f"{ratio_text(change.ratio.value)} of {shortened(change.against)}, {decision}"
    return ""


def _traffic(record: TrafficRecord) -> tuple[Cell, ...]:
    """What the whole call did, unless it did nothing, and what exceeded a limit in any region."""
    regions = {name: record.regions.get(name) for name in (*record.regions, *record.limits)}
    cells = {
        name: cells_of(tuple(Quantity), counts, record.limits.get(name, ()))
        for name, counts in regions.items()
    }
    told = [cell for name in cells for cell in cells[name] if cell.exceeded]
    labels = {cell.label for cell in told}
    whole = cells_of(_TRAFFIC, record.regions.get(WHOLE_RUN), record.limits.get(WHOLE_RUN, ()))
    seen = [cell for cell in whole if cell.label not in labels and not cell.still]
    return tuple({cell.label: cell for cell in (*seen, *told)}.values())


def _parameters(verdict: Verdict) -> str:
    texts = (f"{name} {value}" for name, value in verdict.parameters.items())
    return shortened(", ".join(texts))
