"""The tables of ``verdicts.py``: what was decided, against what is true."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from statistics import median, stdev
from typing import Any

from verdict_decision import shortened

Row = dict[str, Any]

SHORT_S = 4.0


def print_tables(rows: Sequence[Row], *, seed: int) -> None:
    """Print every table there are rows for."""
    decisions = [row for row in rows if row["kind"] == "decision"]
    if decisions:
        _decisions(decisions, seed=seed)
    if peers := [row for row in rows if row["kind"] == "peer"]:
        _peers(peers)
    for kind in ("simulated", "time to decide", "cost"):
        if some := [row for row in rows if row["kind"] == kind]:
            _plain(kind, some)


def _decisions(rows: Sequence[Row], *, seed: int) -> None:
    _say(
        f"decisions at a margin of 1 %, 95 % sure; seed {seed}; load {_range(row['load'] for row in rows)}"
    )
    _say(
        f"{'op':20}{'candidate':>10}{'baseline':>9}{'cap':>6}{'':6}{'n':>4}{'true ratio':>11}{'sd':>7}{'regressed':>10}{'improved':>9}"
        f"{'unchanged':>10}{'undecided':>10}{'>0 slow':>8}{'covers':>7}{'pairs':>7}{'took':>7}"
    )
    cut = [shortened(row, SHORT_S) for row in rows if row["seconds"] > SHORT_S]
    for group in _groups([*rows, *cut]):
        _say(_decision_line(group))


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows of one op, one kind and one time, in the order they are read in."""

    def kind(row: Row) -> tuple[Any, ...]:
        return row["candidate"], row["baseline"], row["seconds"], row["loud"], row["op"]

    for _, group in groupby(sorted(rows, key=kind), key=kind):
        yield list(group)


def _decision_line(rows: Sequence[Row]) -> str:
    first, count = rows[0], len(rows)
    told = {name: sum(row["decision"] == name for row in rows) for name in _TOLD}
    truths = _truths(rows)
    covers = sum(
        row["low"] <= truth <= row["high"] for row, truth in zip(rows, truths, strict=True)
    )
    errors = [math.log(row["ratio"] / truth) for row, truth in zip(rows, truths, strict=True)]
    slow = sum(row["at_all"] == "regressed" for row in rows)
    shares = "".join(
        f"{told[name] / count:{width}.1%}"
        for name, width in zip(_TOLD, (10, 9, 10, 10), strict=True)
    )
    return (
        f"{first['op']:20}{first['candidate']:>+10.0%}{first['baseline']:>+9.0%}{first['seconds']:5.0f}s{' loud' if first['loud'] else '':6}{count:4d}"
        f"{median(truths):11.4f}{stdev(errors) if count > 1 else 0.0:7.2%}{shares}{slow / count:8.1%}{covers / count:7.1%}"
        f"{median(row['pairs'] for row in rows):7.0f}{median(row['took_s'] for row in rows):6.1f}s"
    )


_TOLD = ("regressed", "improved", "unchanged", "inconclusive")


def _truths(rows: Sequence[Row]) -> list[float]:
    """The true ratio of each row: 1 where both sides do the same, else what all *other* rows of the op measured."""
    if rows[0]["candidate"] == rows[0]["baseline"]:
        return [1.0] * len(rows)
    return [
        median([other["ratio"] for other in rows if other is not row] or [row["ratio"]])
        for row in rows
    ]


def _peers(rows: Sequence[Row]) -> None:
    """Every ordered pair of runs is a comparison somebody's CI would have made."""
    _say(
        "\npytest-benchmark, the same unchanged code: pairs of runs that --benchmark-compare-fail=STAT:5% would fail"
    )
    _say(f"{'':8}{'runs':>5}{'mean':>8}{'median':>8}{'min':>8}   worst baseline: mean, median, min")
    for loud in (False, True):
        some = [row for row in rows if row["loud"] is loud]
        if len(some) < 2:
            continue
        alarms = {stat: _alarms([row[stat] for row in some]) for stat in ("mean", "median", "min")}
        shares = "".join(f"{sum(each) / len(each):8.1%}" for each in alarms.values())
        worst = ", ".join(f"{max(each):.0%}" for each in alarms.values())
        _say(f"{'loud' if loud else 'quiet':8}{len(some):5d}{shares}   {worst}")


def _alarms(times: Sequence[float]) -> list[float]:
    """For each run as the baseline, the share of the others that would fail against it."""
    return [
        sum(now > 1.05 * then for index, now in enumerate(times) if index != base)
        / (len(times) - 1)
        for base, then in enumerate(times)
    ]


def _plain(kind: str, rows: Sequence[Row]) -> None:
    names = [name for name in rows[0] if name != "kind"]
    cells = [[_text(row[name]) for name in names] for row in rows]
    widths = [
        max(map(len, (name, *column)))
        for name, column in zip(names, zip(*cells, strict=True), strict=True)
    ]
    _say(f"\n{kind}")
    for line in (names, *cells):
        _say("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _range(values: Iterable[float]) -> str:
    listed = list(values)
    return f"{min(listed):.1f} to {max(listed):.1f}"


def _say(line: str) -> object:
    return sys.stdout.write(line + "\n")
