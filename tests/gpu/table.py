"""What is printed last: a few lines per section, and before them every difference."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from harness.errors import ExitCode
from harness.units import count_text, percent_text

from .findings import Finding, Outcome, worst_of
from .runner import Ended, Ending

__all__ = ["difference_lines", "exit_code", "table_lines"]

_WIDTH = 118
"""Columns: what a pull request or a terminal shows without a break."""

_NARROWEST = 40
"""Of the column of figures, whatever the names of the sections."""

_MOST_DIFFERENCES = 40
"""Lines of differences that are printed; all of them are in the files."""

_MOST_NAMES = 6
"""Items named in a line of the table."""

_WORDS = {
    Outcome.CONFIRMED: "confirmed",
    Outcome.DIFFERS: "differ",
    Outcome.NOT_TRIED: "not tried",
}


def exit_code(sections: Sequence[Ended], *, whole: frozenset[str]) -> ExitCode:
    """Failed when anything differs; inconclusive when something could not be looked at; else passed.

    Sections named in ``whole`` must have tried everything, the others something: an idiom that cannot be
    written down or a missing PyTorch says nothing about the GPU.
    """
    outcomes = {finding.outcome for ended in sections for finding in ended.findings}
    if Outcome.DIFFERS in outcomes:
        return ExitCode.FAILED
    looked = all(_looked(ended, everywhere=ended.name in whole) for ended in sections)
    return ExitCode.PASSED if looked and sections else ExitCode.INCONCLUSIVE


def _looked(ended: Ended, *, everywhere: bool) -> bool:
    outcomes = {finding.outcome for finding in ended.findings}
    seen = outcomes & {Outcome.CONFIRMED, Outcome.MEASURED}
    tried = not everywhere or Outcome.NOT_TRIED not in outcomes
    return ended.ending is Ending.FINISHED and bool(seen) and tried


def difference_lines(sections: Sequence[Ended]) -> list[str]:
    """Everything that was not as expected, and every section that did not finish, with its reason."""
    lines = [
        f"{ended.name}: {ended.ending.value}: {ended.reason}"
        for ended in sections
        if ended.ending is not Ending.FINISHED
    ]
    differing = [
        f"{ended.name}: differs: {finding.text}"
        for ended in sections
        for finding in ended.findings
        if finding.outcome is Outcome.DIFFERS
    ]
    lines += differing[:_MOST_DIFFERENCES]
    if len(differing) > _MOST_DIFFERENCES:
        lines.append(f"and {len(differing) - _MOST_DIFFERENCES} more, in the files")
    return lines


def table_lines(sections: Sequence[Ended], *, title: str) -> list[str]:
    """``section  outcome  time  key figures``, the figures broken to fit."""
    rows = [("section", "outcome", "time", "key figures")]
    for ended in sections:
        rows.append((ended.name, _outcome_text(ended), f"{ended.seconds:.0f} s", _figures(ended)))
    return [title, *(line for row in rows for line in _row_lines(row, rows))]


def _row_lines(row: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(other[column]) for other in rows) for column in range(3)]
    start = f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  "
    figures = textwrap.wrap(row[3], max(_NARROWEST, _WIDTH - len(start))) or [""]
    yield f"{start}{figures[0]}".rstrip()
    for more in figures[1:]:
        yield f"{'':{len(start)}}{more}"


def _outcome_text(ended: Ended) -> str:
    if ended.ending is not Ending.FINISHED:
        return f"{ended.ending.value}".upper()
    counted = Counter(finding.outcome for finding in ended.findings)
    if counted[Outcome.DIFFERS]:
        outcome = Outcome.DIFFERS
    elif counted[Outcome.CONFIRMED] or counted[Outcome.MEASURED]:
        # A section of figures is not confirmed by the one thing it also expects.
        mostly_figures = counted[Outcome.MEASURED] > counted[Outcome.CONFIRMED]
        outcome = Outcome.MEASURED if mostly_figures else Outcome.CONFIRMED
    else:
        return Outcome.NOT_TRIED.value
    return f"{outcome.value}, in part" if counted[Outcome.NOT_TRIED] else outcome.value


def _figures(ended: Ended) -> str:
    shown = _KEY_FIGURES.get(ended.name, _items)(ended.findings)
    return shown or ended.reason


def _items(findings: Sequence[Finding]) -> str:
    """``8 of 9 items confirmed; differ: 5 allocation``."""
    worst = worst_of(findings)
    judged = {item: outcome for item, outcome in worst.items() if outcome is not Outcome.MEASURED}
    if not judged:
        return ""
    confirmed = sum(outcome is Outcome.CONFIRMED for outcome in judged.values())
    text = f"{confirmed} of {count_text(len(judged), 'item')} confirmed"
    for outcome in (Outcome.DIFFERS, Outcome.NOT_TRIED):
        named = [item for item, found in judged.items() if found is outcome]
        if named:
            more = ", ..." if len(named) > _MOST_NAMES else ""
            text += f"; {len(named)} {_WORDS[outcome]}: {', '.join(named[:_MOST_NAMES])}{more}"
    return text


def _single(findings: Sequence[Finding]) -> str:
    """Where the items are many: how many findings of each kind."""
    counted = Counter(finding.outcome for finding in findings)
    return ", ".join(
        f"{counted[outcome]} {word}" for outcome, word in _WORDS.items() if counted[outcome]
    )


def _op(findings: Sequence[Finding]) -> str:
    """How many cases of each op did what is expected of it, and what that is."""
    parts = []
    for item, expectation in (
        ("pre-fix op", "fail by 1 D2H of 4 B and 1 sync"),
        ("corrected op", "pass with 0 D2H, 0 H2D, 0 syncs"),
    ):
        cases = [one for one in findings if one.item == item and "evidence" in one.details]
        agree = sum(one.outcome is Outcome.CONFIRMED for one in cases)
        if cases:
            evidence = str(cases[0].details["evidence"])
            parts.append(f"{item}: {agree} of {len(cases)} {expectation}, {evidence}")
    return "; ".join(parts)


def _bandwidth(findings: Sequence[Finding]) -> str:
    """The kernels' share of the copying speed by shape, and how many times as long each peer takes."""
    parts = [f"copy {one.seen}" for one in findings if one.item == "device copy"]
    for ours in findings:
        if ours.about != "kernels" or "of_copy_peak" not in ours.details:
            continue
        others = [
            f"{one.about} {one.details['ns'] / ours.details['ns']:.1f}x"
            for one in findings
            if one.item == ours.item and one is not ours and "of_copy_peak" in one.details
        ]
        share = percent_text(ours.details["of_copy_peak"])
        parts.append(f"{ours.item}: {share} of it" + (f" ({', '.join(others)})" if others else ""))
    return "; ".join(parts)


def _costs(findings: Sequence[Finding]) -> str:
    """Each level of tracing of the first op."""
    return ", ".join(
        f"{one.about} {one.seen.partition(' per call')[0]}"
        for one in findings
        if one.item == findings[0].item and "ratio" in one.details
    )


def _convolution(findings: Sequence[Finding]) -> str:
    """Which items are confirmed, and between which factors cuDNN is as fast as columns."""
    pairs = [one.details["ns"] for one in findings if "ns" in one.details]
    ratios = sorted(ns["columns"] / ns["cuDNN"] for ns in pairs if "cuDNN" in ns)
    if not ratios:
        return _items(findings)
    return f"{_items(findings)}; cuDNN {ratios[0]:.2g}x to {ratios[-1]:.2g}x as fast as columns"


def _sensors(findings: Sequence[Finding]) -> str:
    """What was answered, how many samples, the judgement, and what watching costs."""
    wanted = {"answered": "", "samples": "samples ", "judgement": "", "time of a call": "watched: "}
    return "; ".join(f"{wanted[one.about]}{one.seen}" for one in findings if one.about in wanted)


_KEY_FIGURES: Mapping[str, Callable[[Sequence[Finding]], str]] = {
    "bandwidth": _bandwidth,
    "convolution": _convolution,
    "kernels": _single,
    "op": _op,
    "sensors": _sensors,
    "tracing": _costs,
}
