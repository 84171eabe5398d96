"""What a check found, cut to the size of a table cell: at a clause, the worst output first."""

from __future__ import annotations

import re

from harness.report.wording import cut

__all__ = ["brief", "worst_error"]

_MEASURED = re.compile(r"(?P<output>.+) (?P<ratio>\d+\.\d+) of the allowed error")
"""How an output within tolerance is told: ``loss 0.12 of the allowed error``."""

_BEYOND = re.compile(r"worst (?P<ratio>[\d.,]+(?:e[+-]?\d+)?) times the allowed")
_BEYOND_ANY = re.compile(r"beyond any multiple of the allowed|\d+ entr(?:y|ies) \S+ where ")
"""What no finite ratio describes: an error where none is allowed, or NaN for a number."""

_OUTPUT = re.compile(r"[^:;]+: ")
"""What begins the findings of another output; clauses without it go on about the one before."""

_BETWEEN = "; "


def brief(summary: str, limit: int) -> str:
    """``summary`` in at most about ``limit`` characters: whole where it fits, else its worst part.

    Outputs within tolerance are told as ``gradient 0.31, loss 0.12``, the largest error first. Of what does
    not fit, the worst stays and the rest is counted; a clause that is itself too long ends at a word.
    """
    clauses = summary.split(_BETWEEN)
    measured = [match for clause in clauses if (match := _MEASURED.fullmatch(clause))]
    if measured and len(summary) > len(clauses[0]):
        worst_first = sorted(measured, key=lambda match: -float(match["ratio"]))
        pairs = [f"{match['output']} {match['ratio']}" for match in worst_first]
        return _fitted(pairs, others=len(clauses) - len(pairs), limit=limit)
    if len(summary) <= limit:
        return summary
    first, *others = sorted(_by_output(clauses), key=lambda text: -_severity(text))
    if not others:
        return cut(first, limit)
    known = "worst: " if _severity(first) >= 0 else ""
    return f"{known}{cut(first, limit)}{_more(len(others))}"


def worst_error(summary: str) -> float | None:
    """The largest error over allowed that a summary tells, infinity for what has no ratio; none where it tells none."""
    worst = max(map(_severity, summary.split(_BETWEEN)))
    return worst if worst >= 0 else None


def _fitted(pairs: list[str], *, others: int, limit: int) -> str:
    """As many pairs as fit, at least one, and how many there are beside them."""
    shown = cut(pairs[0], limit)
    for number, pair in enumerate(pairs[1:], start=1):
        longer = f"{shown}, {pair}"
        if len(longer) > limit:
            return f"{shown}{_more(len(pairs) - number + others)}"
        shown = longer
    return f"{shown}{_more(others)}"


def _more(count: int) -> str:
    return f"{_BETWEEN}{count:,} more" if count else ""


def _by_output(clauses: list[str]) -> list[str]:
    """The clauses again, those about one output joined."""
    found: list[str] = []
    for clause in clauses:
        if not found or _OUTPUT.match(clause) or _MEASURED.fullmatch(clause):
            found.append(clause)
        else:
            found[-1] += f"{_BETWEEN}{clause}"
    return found


def _severity(text: str) -> float:
    if _BEYOND_ANY.search(text):
        return float("inf")
    match = _BEYOND.search(text) or _MEASURED.fullmatch(text)
    return float(match["ratio"].replace(",", "")) if match else -1.0
