"""Why a check did not pass, as text: for a test's failure, a terminal and the report alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.model.budget import WHOLE_RUN, Quantity, Violation
from harness.model.traffic import TrafficLine
from harness.model.verdict import CheckResult
from harness.report.lines import JoinedLine, joined_lines
from harness.report.wording import LONGEST_REASON, shortened, site_text, visible, working_folder
from harness.units import bytes_text, count_text

__all__ = ["failure_text", "region_text"]

_MOST_LINES = 20
"""Lines of code shown per limit, so that the limit and its first lines stay on one screen."""

_HEADINGS = {
    Quantity.D2H: "transfer limit",
    Quantity.H2D: "transfer limit",
    Quantity.D2H_BYTES: "transfer size limit",
    Quantity.H2D_BYTES: "transfer size limit",
    Quantity.SYNCS: "sync limit",
    Quantity.BLOCKING_COPIES: "blocking copy limit",
}


def failure_text(result: CheckResult, *, relative_to: Path | None = None) -> str:
    """What happened, against which limit, where, and on what evidence, over several lines.

    The limits exceeded in one region for one reason make a block; a copy and the wait of the same line of
    code share a numbered line. Files are shown relative to ``relative_to``, the current folder unless given. Every
    other result reads: what, details, evidence, next step. The last line has no line break.
    """
    folder = relative_to or working_folder()
    if not result.violations:
        return "\n".join(_plain(result))
    joined = joined_lines(line for violation in result.violations for line in violation.lines)
    lines = []
    for block in _blocks(result.violations):
        own = {line for violation in block for line in violation.lines}
        guilty = [line for line in joined if line.copy in own or line.wait in own]
        lines += [*_excess(block), *_numbered(guilty, folder)]
    if result.waiver is not None:
        lines.append(_labelled("note", result.summary))
    lines += [_labelled("note", detail) for detail in result.details]
    if result.evidence:
        lines.append(f"evidence  {visible(result.evidence)}")
    return "\n".join(lines)


def region_text(region: str) -> str:
    """``'forward'``, or ``the whole call`` for the region that stands for all of them."""
    return "the whole call" if region == WHOLE_RUN else shortened(repr(region))


def _plain(result: CheckResult) -> Iterator[str]:
    yield f"{visible(result.check)} {result.outcome.value}: {visible(result.summary)}"
    for detail in result.details:
        yield _labelled("also", detail)
    if result.evidence:
        yield f"evidence  {visible(result.evidence)}"
    if result.next_step:
        yield f"next      {visible(result.next_step)}"


def _labelled(label: str, text: str) -> str:
    return f"  {label:<8}  {visible(text)}"


def _blocks(violations: Sequence[Violation]) -> list[list[Violation]]:
    """Violations of one region for one reason, together: one read breaks the copy and the sync limit alike."""
    blocks: dict[tuple[str, str], list[Violation]] = {}
    for violation in violations:
        blocks.setdefault((violation.region, violation.limit.because), []).append(violation)
    return list(blocks.values())


def _excess(block: Sequence[Violation]) -> Iterator[str]:
    first = block[0]
    limits = [violation.limit for violation in block]
    allowed = ", ".join(limit.quantity.amount_text(limit.at_most) for limit in limits)
    yield f"{_HEADINGS[first.limit.quantity]} exceeded within {region_text(first.region)}"
    yield f"  allowed   {allowed}   ({shortened(first.limit.because, limit=LONGEST_REASON)})"
    yield f"  observed  {'; '.join(map(_observed, block))}"


def _observed(violation: Violation) -> str:
    quantity = violation.limit.quantity
    amount = quantity.amount_text(violation.observed)
    lines = violation.lines
    match quantity:
        case Quantity.SYNCS:
            return f"{amount}{_sync_kinds(lines)}"
        case Quantity.D2H_BYTES | Quantity.H2D_BYTES:
            copies = count_text(_copies(lines), "copy", plural="copies")
            return f"{amount}, {copies}{_blocking(lines)}"
        case Quantity.BLOCKING_COPIES:
            return f"{amount}, {_size(lines)}"
        case Quantity.D2H | Quantity.H2D:
            return f"{amount}, {_size(lines)}{_blocking(lines)}"


def _sync_kinds(lines: Sequence[TrafficLine]) -> str:
    kinds: Counter[str] = Counter()
    for line in lines:
        if line.sync is not None:
            kinds[line.sync.value] += line.count
    if len(kinds) == 1:
        return f", {next(iter(kinds))}"
    return "".join(f", {count:,} {kind}" for kind, count in kinds.items())


def _size(lines: Sequence[TrafficLine]) -> str:
    return bytes_text(sum(line.count * line.size_bytes for line in lines))


def _copies(lines: Sequence[TrafficLine]) -> int:
    return sum(line.count for line in lines if line.sync is None)


def _blocking(lines: Sequence[TrafficLine]) -> str:
    copies = _copies(lines)
    blocking = sum(line.count for line in lines if line.sync is None and line.blocking)
    if not blocking:
        return ", not blocking"
    return ", blocking" if blocking == copies else f", {blocking:,} of {copies:,} blocking"


def _numbered(lines: Sequence[JoinedLine], folder: Path | None) -> Iterator[str]:
    shown = lines[:_MOST_LINES]
    width = max((len(line.text) for line in shown), default=0)
    digits = len(str(len(shown)))
    for number, line in enumerate(shown, start=1):
        site = site_text(line.site, relative_to=folder)
        yield f"  {number:>{digits}}. {line.text:<{width}}   {site}"
    if len(lines) > len(shown):
        yield f"  and {count_text(len(lines) - len(shown), 'more line')}"
