"""A run as Markdown for a CI job's summary page: the verdict, the cases, what failed and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.model.outcome import Outcome
from harness.model.verdict import Run
from harness.report.view.cases import CaseView
from harness.report.view.crossings import COLUMNS, RecordView
from harness.report.view.page import Page, build_page
from harness.report.view.speed import SpeedView
from harness.report.view.steps import Step
from harness.report.wording import MARKS, visible
from harness.units import count_text

__all__ = [
    "CUT_BYTES",
    "LARGEST_SUMMARY_BYTES",
    "TABLE_SHARE",
    "Fill",
    "fenced",
    "left_out_text",
    "markdown_summary",
    "markdown_text",
    "step_text",
    "table_row",
]

LARGEST_SUMMARY_BYTES = 2**20
"""GitHub shows at most 1 MiB per step and drops a longer summary whole."""

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#|~&$@!:^=\"']")
"""What Markdown, HTML, GitHub's mentions, emoji and formulas give a meaning; each may be escaped by a backslash."""

TABLE_SHARE = 0.5
"""The table takes at most half of the room, so that a run of ten thousand cases still says what failed."""

CUT_BYTES = 400
"""Kept free for the sentence that says what was left out, its two counts included."""

_AGAIN = "The page of this run again, from its `run.json` or `report.html`: `harness report FILE`\n"

_TRAFFIC = ("D2H", "H2D", "syncs")
_HEADINGS = ("", "case", "values", *_TRAFFIC, "baseline", "call time", "ratio", "throughput")
_COUNTED = tuple(list(COLUMNS.values()).index(name) for name in _TRAFFIC)


def markdown_summary(run: Run, *, most_bytes: int = LARGEST_SUMMARY_BYTES) -> str:
    """The verdict, a table of the cases with the worst on top, the failures and the next steps.

    At most ``most_bytes`` of UTF-8: rows of the table and steps that do not fit are counted in a last sentence,
    and where not even the verdict fits the text is empty. Foreign text comes out as text, whatever it holds.
    """
    page = build_page(run)
    fill = Fill(most_bytes - CUT_BYTES)
    if not fill.add(_verdict(page)):
        return ""
    rows_left = _add_table(fill, page, most_bytes)
    steps_left = _add_steps(fill, page.steps)
    fill.add(f"\n### Reproduce\n\n{_block(page.commands)}\n{_AGAIN}")
    fill.parts.append(left_out_text(rows_left, steps_left))
    return "".join(fill.parts)


def markdown_text(text: str) -> str:
    """``text`` as one line of Markdown that reads as it stands, in a table too."""
    return _SPECIAL.sub(r"\\\g<0>", visible(text))


def fenced(text: str) -> str:
    """``text`` as a block of code, whatever backticks it holds; its line breaks stay, all else is made visible."""
    lines = [visible(line) for line in text.split("\n")]
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}text", *lines, fence, ""])


class Fill:
    """Parts of a text, added as long as they fit."""

    def __init__(self, most_bytes: int) -> None:
        self.parts: list[str] = []
        self._left = most_bytes

    def add(self, part: str, *, keep_free: float = 0.0) -> bool:
        """Take a part if that leaves ``keep_free`` bytes; whether it was taken."""
        size = len(part.encode())
        if size + keep_free > self._left:
            return False
        self.parts.append(part)
        self._left -= size
        return True


def _verdict(page: Page) -> str:
    top = page.banner
    counts = ", ".join(
        f"{count.number:,} {count.mark.word}" for count in top.counts if count.number
    )
    cases = f"cases: {counts}" if counts else ""
    facts = [f"exit {top.exit_status}", f"evidence {top.evidence}", top.checks, cases]
    return (
        f"## {top.mark.sign} {markdown_text(top.mark.word.upper())}\n\n"
        f"{markdown_text(top.reason)}\n\n"
        f"{' · '.join(markdown_text(fact) for fact in facts if fact)}\n\n"
        f"{markdown_text(page.subtitle)}\n"
    )


def _block(lines: Sequence[str]) -> str:
    return fenced("\n".join(lines))


def _add_table(fill: Fill, page: Page, most_bytes: int) -> int:
    """Add the rows that fit; returns how many did not."""
    if not page.cases:
        return 0
    rows = [_cells(case) for case in page.cases]
    used = [column for column in range(len(_HEADINGS)) if any(row[column] for row in rows)]
    keep_free = (1 - TABLE_SHARE) * most_bytes
    head = table_row([_HEADINGS[column] for column in used]) + table_row(["---"] * len(used))
    if not fill.add(f"\n### Cases\n\n{head}", keep_free=keep_free):
        return len(rows)
    for number, row in enumerate(rows):
        if not fill.add(table_row([row[column] for column in used]), keep_free=keep_free):
            return len(rows) - number
    return 0


def _cells(case: CaseView) -> tuple[str, ...]:
    values = ", ".join(dict.fromkeys(check.brief for check in case.values))
    time = " ".join(part for part in (case.call_time, case.interval or case.few_values) if part)
    texts = (
        f"{case.workload}/{case.case}",
        values,
        *_whole_call(case.traffic),
        case.speed.baseline if case.speed is not None else "",
        time,
        _ratio(case.speed),
        " · ".join(case.rates),
    )
    return (case.mark.sign, *map(markdown_text, texts))


def _ratio(speed: SpeedView | None) -> str:
    """``1.050x (1.045 to 1.055) regressed``: time now over then, its interval, and what that decides."""
    return f"{speed.ratio} ({speed.interval}) {speed.decision}" if speed is not None else ""


def _whole_call(traffic: RecordView | None) -> tuple[str, ...]:
    """What the whole call was seen to do, with a sign where some region exceeded its limit."""
    if traffic is None or not traffic.rows:
        return ("",) * len(_COUNTED)
    exceeded = [any(row.cells[column].exceeded for row in traffic.rows) for column in _COUNTED]
    observed = [traffic.rows[-1].cells[column].observed for column in _COUNTED]
    sign = f" {MARKS[Outcome.FAILED]}"
    return tuple(
        f"{text}{sign if over else ''}" for text, over in zip(observed, exceeded, strict=True)
    )


def table_row(cells: Sequence[str]) -> str:
    """A row of a table, whose cells are Markdown already."""
    return f"| {' | '.join(cells)} |\n"


def _add_steps(fill: Fill, steps: Sequence[Step]) -> int:
    """Add the steps that fit, in order; returns how many did not."""
    if not steps:
        return 0
    if not fill.add("\n### What to do next\n"):
        return len(steps)
    for number, step in enumerate(steps):
        if not fill.add("".join(step_text(number + 1, step))):
            return len(steps) - number
    return 0


def step_text(number: int, step: Step, *, where: str = "") -> Iterator[str]:
    """One thing to do; ``where`` says in which runs, of several."""
    yield f"\n**{number}. {step.mark.sign} {markdown_text(step.title)}**\n\n"
    if where:
        yield f"{markdown_text(where)}\n\n"
    if step.failure:
        yield fenced(step.failure)
    else:
        yield f"{markdown_text(step.finding)}\n"
        if step.evidence:
            yield f"\nevidence: {markdown_text(step.evidence)}\n"
    if step.action:
        yield f"\nnext: {markdown_text(step.action)}\n"


def left_out_text(rows: int, steps: int) -> str:
    """The sentence that says what did not fit; empty where all did."""
    parts = [
        *([count_text(rows, "row") + " of the table"] if rows else []),
        *([count_text(steps, "step")] if steps else []),
    ]
    where = "; all of it is in report.html and run.json.\n"
    return f"\nLeft out for want of room: {' and '.join(parts)}{where}" if parts else ""
