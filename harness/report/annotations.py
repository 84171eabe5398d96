"""What failed, as GitHub's workflow commands: an annotation at the line of code that caused it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.model.event import Site
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run
from harness.report.failure import failure_text
from harness.report.view.cases import case_label
from harness.report.wording import cut, shortened, visible
from harness.units import count_text

__all__ = ["MOST_ANNOTATIONS", "annotation_lines"]

MOST_ANNOTATIONS = 10
"""GitHub shows ten errors and ten warnings per step and drops the rest without a word."""

_LEVELS = {Outcome.FAILED: "error", Outcome.INCONCLUSIVE: "warning"}

_LONGEST_MESSAGE = 4000
"""Forty lines of a hundred characters: more than an annotation's box shows unfolded."""

_OF_PYTEST = frozenset({"test", "subtests"})
"""A test's own assertions: pytest has told them, and other plugins annotate them."""


def annotation_lines(
    run: Run, *, workspace: Path | None = None, sites: Mapping[str, Site] | None = None
) -> tuple[str, ...]:
    """One ``::error`` line per failed check and one ``::warning`` per inconclusive one, each without a line break.

    An exceeded limit is told at the line of its first event; any other result at ``sites[verdict.key]`` where that
    is known, and without a place else. Files are relative to ``workspace``, as GitHub wants them. Beyond ten of a
    kind the tenth says how many more there are.
    """
    places = sites or {}
    found: dict[str, list[str]] = {level: [] for level in _LEVELS.values()}
    for result, label, site in _results(run, places):
        level = _LEVELS.get(result.outcome)
        if level is not None and result.check not in _OF_PYTEST:
            found[level].append(_annotation(level, result, label, site, workspace))
    return tuple(line for level, lines in found.items() for line in _bounded(level, lines))


def _results(
    run: Run, places: Mapping[str, Site]
) -> Iterator[tuple[CheckResult, str, Site | None]]:
    for result in run.checks:
        yield result, "", None
    for verdict in run.verdicts:
        for result in verdict.checks:
            yield result, case_label(verdict), _site(result) or places.get(verdict.key)


def _site(result: CheckResult) -> Site | None:
    """The line of the first event behind an exceeded limit."""
    lines = (line for violation in result.violations for line in violation.lines)
    return next((line.site for line in lines if line.site is not None), None)


def _annotation(
    level: str, result: CheckResult, label: str, site: Site | None, workspace: Path | None
) -> str:
    where = f" in {label}" if label else ""
    properties = {"title": f"{shortened(result.check)} {result.outcome.value}{where}"}
    if site is not None:
        properties = {"file": _file(site, workspace), "line": str(site.line), **properties}
    listed = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    message = cut(failure_text(result, relative_to=workspace), _LONGEST_MESSAGE)
    return f"::{level} {listed}::{_data(message)}"


def _file(site: Site, workspace: Path | None) -> str:
    path = os.path.normpath(site.file)
    if workspace is not None and os.path.isabs(path):
        near = os.path.relpath(path, workspace)
        path = path if near.startswith("..") else near
    return path.replace(os.sep, "/")


def _bounded(level: str, lines: list[str]) -> list[str]:
    if len(lines) <= MOST_ANNOTATIONS:
        return lines
    shown = lines[: MOST_ANNOTATIONS - 1]
    more = count_text(len(lines) - len(shown), f"more {level}")
    return [*shown, f"::{level} title=harness::{_data(f'and {more}: see the summary of this job')}"]


def _data(text: str) -> str:
    """A message: what it holds cannot end the command or start another."""
    shown = "\n".join(visible(line) for line in text.split("\n"))
    return shown.replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
