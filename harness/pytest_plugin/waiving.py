"""Waivers in a test session: the file, what it covers of one test, and what is told of it at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.pytest_plugin.settings import chosen

if TYPE_CHECKING:
    from harness.model.verdict import CheckResult, Verdict
    from harness.model.waiver import Waiver
    from harness.pytest_plugin.speed_wording import Finding

__all__ = [
    "WAIVED",
    "WAIVERS",
    "WAIVER_PROPERTY",
    "add_waiver_option",
    "covered",
    "covered_finding",
    "forget_waived",
    "read_waiver_file",
    "waiver_lines",
    "waiver_remarks",
]

WAIVERS: pytest.StashKey[tuple[tuple[Waiver, ...], date]] = pytest.StashKey()
"""The waivers of the session and the day they are read for; not there without a file."""

WAIVER_PROPERTY = "harness_waiver"
"""The property under which JUnit files and other plugins find each finding of a test that is waived."""

WAIVED = "waived"

_WAIVERS = "TOML file of findings that are known and accepted for a while"


def add_waiver_option(parser: pytest.Parser) -> None:
    """Declare the option, with an ini option of the same name."""
    group = parser.getgroup("harness")
    group.addoption("--harness-waivers", metavar="FILE", help=f"{_WAIVERS}.")
    parser.addini("harness_waivers", f"{_WAIVERS}, relative to the root folder.", default="")


def read_waiver_file(config: pytest.Config) -> None:
    """Read the file of this session; raises ``pytest.UsageError`` in one line for one that makes no sense."""
    name, source = chosen(config, "waivers")
    if not name:
        return
    from harness.errors import UsageError
    from harness.session.waiver_file import read_waivers, today

    folder = config.invocation_params.dir if source.startswith("--") else config.rootpath
    day = today()
    try:
        waivers = read_waivers(Path(os.path.abspath(folder / name)), day=day)
    except UsageError as error:
        raise pytest.UsageError(f"{source}: {error}") from None
    config.stash[WAIVERS] = waivers, day


def covered(item: pytest.Item, result: CheckResult, *, sighted: bool) -> CheckResult:
    """What one limit of a test came to, waived where the file says so, and noted on the test for JUnit.

    ``sighted`` says that the positive control was seen.
    """
    if WAIVERS not in item.config.stash:
        return result
    from harness.checks.waivers import waived

    waivers, day = item.config.stash[WAIVERS]
    module, _, name = item.nodeid.partition("::")
    found = waived(result, f"{module}/{name}", waivers, today=day, sighted=sighted)
    if found.waiver is not None:
        item.user_properties.append(
            (WAIVER_PROPERTY, f"{found.check} {found.summary}; {found.details[0]}")
        )
    return found


def covered_finding(item: pytest.Item, finding: Finding) -> Finding:
    """A finding on the speed of a test, waived where the file says so."""
    result = covered(item, finding.result, sighted=True)
    if result is finding.result:
        return finding
    return replace(finding, result=result, text=f"{finding.text}\n  note      {_remark(result)}")


def _remark(result: CheckResult) -> str:
    """Why it is waived, or what has become of its waiver."""
    if result.waiver is not None:
        return result.summary
    return next(iter(result.details), result.summary)


def forget_waived(item: pytest.Item) -> None:
    """Drop what one run of a test left behind, so that a rerun of it starts afresh."""
    item.user_properties[:] = [each for each in item.user_properties if each[0] != WAIVER_PROPERTY]


def waiver_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Every waived finding of a session, the oldest waiver first, each with its age and its end."""
    found = [
        (
            result.waiver.since,
            f"{verdict.workload}::{verdict.case}: {result.check} {result.summary}",
        )
        for verdict in verdicts
        for result in verdict.checks
        if result.waiver is not None
    ]
    if found:
        yield f"{len(found):,} {WAIVED}"
    yield from (line for _, line in sorted(found, key=lambda each: each[0]))


def waiver_remarks(session: pytest.Session, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Waivers that can go; such that matched nothing only where the whole suite was asked for."""
    config = session.config
    if WAIVERS not in config.stash:
        return ()
    from harness.checks.waivers import waiver_notes

    waivers, day = config.stash[WAIVERS]
    return waiver_notes(verdicts, waivers, today=day, whole=_is_whole(config))


def _is_whole(config: pytest.Config) -> bool:
    option = config.option
    chosen_by = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob")
    left_out = any(getattr(option, name, None) for name in chosen_by)
    return not left_out and config.args_source is not config.ArgsSource.ARGS
