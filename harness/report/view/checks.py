"""What a check found, as the section of its case shows it and as the overview cuts it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.report.failure import failure_text
from harness.report.view.brief import brief
from harness.report.view.mark import Mark
from harness.report.wording import shortened, visible

__all__ = ["CheckView", "check_view", "check_views", "numeric_views"]

_VALUES = "values"
_NUMERIC = (_VALUES, "gradients")
"""The checks whose evidence (worst error over allowed) stands in the overview."""

_LONGEST_PASSED = 30
"""Half a line of the case table: two outputs that are right, beside the gradients."""

_LONGEST_FINDING = 280
"""Where the worst output is wrong, by how much, and what was expected instead, its longest name and index included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """One check of a case, of all devices that say the same; ``brief`` is its summary cut to the overview's size.

    ``failure`` is the text with limits and source lines where a limit was exceeded.
    """

    check: str
    mark: Mark
    summary: str
    brief: str
    evidence: str
    details: tuple[str, ...]
    next_step: str
    failure: str

    @property
    def remarkable(self) -> bool:
        """Whether there is more to it than that it passed."""
        return self.mark.style != Outcome.PASSED.value or bool(self.failure or self.next_step)


def check_view(result: CheckResult, *, relative_to: Path | None) -> CheckView:
    """One check, with limits and source lines as text where a limit was exceeded."""
    return CheckView(
        check=shortened(result.check),
        mark=Mark.of(result.outcome),
        summary=visible(result.summary),
        brief=_brief(result),
        evidence=visible(result.evidence),
        details=tuple(visible(detail) for detail in result.details),
        next_step=visible(result.next_step),
        failure=failure_text(result, relative_to=relative_to) if result.violations else "",
    )


def _brief(result: CheckResult) -> str:
    """Of a pass how near the values came, of gradients that they passed, of anything else what was found."""
    if result.outcome is not Outcome.PASSED:
        return brief(visible(result.summary), _LONGEST_FINDING)
    if result.check != _VALUES:
        return shortened(result.check)
    return brief(visible(result.summary), _LONGEST_PASSED)


def check_views(
    results: Iterable[CheckResult], *, relative_to: Path | None
) -> tuple[CheckView, ...]:
    """The worst first; those that differ only in what they rest on (two devices), once with all of it."""
    alike: dict[tuple[object, ...], tuple[CheckResult, list[str]]] = {}
    for result in results:
        said = (result.check, result.outcome, result.summary, result.details, result.violations)
        _, evidence = alike.setdefault(said, (result, []))
        if result.evidence and result.evidence not in evidence:
            evidence.append(result.evidence)
    views = [
        check_view(replace(result, evidence="; ".join(evidence)), relative_to=relative_to)
        for result, evidence in alike.values()
    ]
    return tuple(sorted(views, key=lambda view: -view.mark.severity))


def numeric_views(checks: Iterable[CheckView]) -> tuple[CheckView, ...]:
    """Those on values and gradients; what says the same in the overview, whatever its details, once."""
    found = (check for check in checks if check.check in _NUMERIC)
    return tuple({(check.check, check.mark, check.brief): check for check in found}.values())
