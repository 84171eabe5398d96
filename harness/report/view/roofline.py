"""The roofline of a run: what each timed case achieved under the two roofs measured on its device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.conditions import MatmulRate
from harness.model.measurement import CopyBandwidth
from harness.model.verdict import Run, Verdict
from harness.report.view.axis import Tick
from harness.report.view.labels_beside import Box, Labelled, Place, place_labels
from harness.report.view.mark import Mark
from harness.report.view.roofs import HEIGHT, NARROWEST, Field, Roof, figure_text
from harness.report.wording import shortened
from harness.units import percent_text, rate_text

__all__ = ["Dot", "Moved", "Roofline", "roofline"]

_MOST_LABELLED = 12
"""Dots with their name beside them; more are told by number, and the table says which is which."""

_MOST_ROWS = 60
"""Rows of a table; run.json has all, and the table of cases has their rates."""

_LONGEST_NAME = 30

_MOST_TOLD = 4
"""Names in the sentences on cases above a roof; the table shows all."""

_COVERS = 12.0
"""Pixels: nearer than this, the number of one dot would stand on that of another."""

_SHAPES = {"passed": "disc", "failed": "square", "inconclusive": "triangle", "skipped": "ring"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One case: its place, its name with where that is drawn, and its row of the table.

    ``numbers`` stand beside it where names do not: its own and those of dots beside it, or none where another's do.
    """

    number: int
    numbers: str
    anchor: str
    name: str
    label: str
    mark: Mark
    at: Place
    beside: Labelled | None
    intensity: str
    achieved: str
    attainable: str
    share: str
    roof: str
    above: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """A case whose operations nobody counted: only its bytes have a roof."""

    anchor: str
    name: str
    mark: Mark
    bandwidth: str
    share: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """All of the section. ``named`` says that the dots have names beside them, on a page wide enough.

    ``roofs`` (copy, product) and ``dots`` are empty where no case declares its operations or no product was timed.
    """

    roofs: tuple[Roof, ...]
    dots: tuple[Dot, ...]
    named: bool
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    moved: tuple[Moved, ...]
    left_out: int
    measured: str
    key: str
    above: tuple[str, ...]
    text: str
    height: int = HEIGHT


def roofline(run: Run, anchors: Sequence[str]) -> Roofline | None:
    """The roofline of the cases timed where a copy was measured; ``anchors`` are the links to them, in order.

    ``None`` where there is no such case.
    """
    copy, matmul = run.copy_bandwidth, _matmul(run)
    if copy is None or not 0 < copy.best < math.inf:
        return None
    timed = [
        _Timed(verdict, anchor)
        for verdict, anchor in zip(run.verdicts, anchors, strict=True)
        if verdict.timing_device == copy.device
    ]
    timed = [each for each in timed if each.bandwidth > 0]
    if not timed:
        return None
    counted = [each for each in timed if each.flops > 0] if matmul is not None else []
    plain = [each for each in timed if each not in counted]
    placed = sorted(counted[:_MOST_ROWS], key=lambda each: each.intensity)
    field = None
    if matmul is not None and placed:
        rates = [(each.intensity, each.flops) for each in placed]
        field = Field.around(rates, copy.best, matmul.flops_per_second)
    places = [field.place(each.intensity, each.flops) for each in placed] if field else []
    roofs = field.roofs(places) if field is not None else ()
    dots = _dots(placed, places, field) if field is not None else ()
    return Roofline(
        roofs=roofs,
        dots=dots,
        named=bool(dots) and all(dot.beside is not None for dot in dots),
        across=tuple(field.across()) if field is not None else (),
        up=tuple(field.up()) if field is not None else (),
        moved=tuple(_moved(each, copy.best) for each in plain[:_MOST_ROWS]),
        left_out=len(timed) - len(placed) - len(plain[:_MOST_ROWS]),
        measured=_measured_text(copy, matmul),
        key=_key_text(dots),
        above=_above_texts(dots, copy.device),
        text=f"{len(dots)} cases under the two measured roofs; the table below has every number",
    )


def _matmul(run: Run) -> MatmulRate | None:
    """The product that was timed where the copy was."""
    copy, matmul = run.copy_bandwidth, run.matmul_rate
    if copy is None or matmul is None or matmul.device != copy.device:
        return None
    return matmul if 0 < matmul.flops_per_second < math.inf else None


class _Timed:
    """A case with its rates per second, 0 where they are not known."""

    def __init__(self, verdict: Verdict, anchor: str) -> None:
        self.verdict, self.anchor = verdict, anchor
        time = verdict.call_time.value if verdict.call_time is not None else math.nan
        per_second = 1e9 / time if 0 < time < math.inf else 0.0
        size_bytes = verdict.throughput.bytes_per_call if verdict.throughput is not None else 0
        flops = verdict.flops_per_call or 0.0
        self.flops = flops * per_second if size_bytes > 0 and 0 < flops < math.inf else 0.0
        self.bandwidth = size_bytes * per_second
        self.intensity = flops / size_bytes if size_bytes > 0 else 0.0
        self.name = shortened(verdict.key, limit=2 * _LONGEST_NAME)


def _dots(timed: Sequence[_Timed], places: Sequence[Place], field: Field) -> tuple[Dot, ...]:
    several = len({each.verdict.workload for each in timed}) > 1
    full = [each.verdict.key if several else each.verdict.case for each in timed]
    names = [shortened(name, limit=_LONGEST_NAME) for name in full]
    beside: Sequence[Labelled | None] = [None] * len(timed)
    if len(timed) <= _MOST_LABELLED:
        roofs = field.roofs(places)
        within, lines = Box(0, 0, NARROWEST, HEIGHT), [(roof.start, roof.end) for roof in roofs]
        labels = place_labels(places, names, within, lines=lines, taken=field.names(roofs))
        beside = labels or beside
    numbers = _numbers(places)
    return tuple(
        _dot(number, each, field, numbers=text, at=at, name=name, beside=label)
        for number, (each, text, at, name, label) in enumerate(
            zip(timed, numbers, places, names, beside, strict=True), 1
        )
    )


def _dot(
    number: int,
    timed: _Timed,
    field: Field,
    *,
    numbers: str,
    at: Place,
    name: str,
    beside: Labelled | None,
) -> Dot:
    attainable = field.attainable(timed.intensity)
    share = timed.flops / attainable
    return Dot(
        number=number,
        numbers=numbers,
        anchor=timed.anchor,
        name=timed.name,
        label=name,
        mark=Mark.of_verdict(timed.verdict),
        at=at,
        beside=beside,
        intensity=figure_text(timed.intensity),
        achieved=rate_text(timed.flops, "flop"),
        attainable=rate_text(attainable, "flop"),
        share=percent_text(share),
        roof="copy" if attainable < field.peak else "product",
        above=share > 1,
    )


def _numbers(places: Sequence[Place]) -> list[str]:
    """What stands beside each dot: ``3 to 7`` beside the first of five that cover each other, nothing at the rest."""
    groups: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        lead = next((first for first in groups if _near(places[first], place)), number)
        groups.setdefault(lead, []).append(number)
    texts = [""] * len(places)
    for first, group in groups.items():
        row = len(group) > 2 and group[-1] - group[0] == len(group) - 1
        shown = [f"{group[0] + 1} to {group[-1] + 1}"] if row else [str(n + 1) for n in group]
        texts[first] = ", ".join(shown)
    return texts


def _near(one: Place, other: Place) -> bool:
    across = abs(one[0] - other[0]) * NARROWEST / 100
    return across < _COVERS and abs(one[1] - other[1]) < _COVERS


def _moved(timed: _Timed, copy: float) -> Moved:
    return Moved(
        anchor=timed.anchor,
        name=timed.name,
        mark=Mark.of_verdict(timed.verdict),
        bandwidth=rate_text(timed.bandwidth, "B"),
        share=percent_text(timed.bandwidth / copy),
    )


def _measured_text(copy: CopyBandwidth, matmul: MatmulRate | None) -> str:
    device = shortened(copy.device)
    one = " by one thread" if device == "cpu" else ""
    memory = f"the best copy on {device}, {rate_text(copy.best, 'B')} read and written{one}"
    if matmul is None:
        return f"Measured in this run: {memory}. No matrix product was timed, so only bytes have a roof."
    threads = " by as many threads as NumPy's BLAS takes" if device == "cpu" else ""
    product = (
        f"the best product of two {shortened(matmul.dtype)} matrices of {matmul.size:,} rows, "
        f"{rate_text(matmul.flops_per_second, 'flop')}{threads}"
    )
    return f"Both roofs were measured in this run: {memory}; {product}."


def _key_text(dots: Sequence[Dot]) -> str:
    """``disc passed, square failed``: what the shapes mean that occur."""
    found = {dot.mark.style: dot.mark.word for dot in dots}
    return ", ".join(f"{_SHAPES.get(style, 'ring')} {word}" for style, word in found.items())


def _above_texts(dots: Sequence[Dot], device: str) -> tuple[str, ...]:
    """Why a case may lie above a roof, which is no mistake of the measurement."""
    threads = ", or several threads share the work where one copies" if device == "cpu" else ""
    reasons = {
        "copy": "above the roof of the copy: the data of a small case stay in a cache that is faster than the memory "
        f"a copy runs through{threads}.",
        "product": "above the roof of the product: the work is done in a narrower type or on units that product does "
        "not use, or is less than declared.",
    }
    return tuple(
        f"{_listed(above)} {'lies' if len(above) == 1 else 'lie'} {reason}"
        for roof, reason in reasons.items()
        if (above := [dot for dot in dots if dot.above and dot.roof == roof])
    )


def _listed(dots: Sequence[Dot]) -> str:
    names = [f"{dot.label} (number {dot.number})" for dot in dots[:_MOST_TOLD]]
    more = len(dots) - _MOST_TOLD
    return ", ".join([*names, *([f"{more} more"] if more > 0 else [])])
