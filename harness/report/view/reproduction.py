"""How to get a run again, and of which code it was."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.model.environment import Environment
from harness.model.verdict import Run
from harness.report.view.cases import Fact
from harness.report.wording import shortened, visible

__all__ = ["code_under_test", "commands", "reproduction"]


def code_under_test(environment: Environment) -> Iterable[Fact]:
    """The commit, and whether that is all of it."""
    if environment.commit is None:
        yield Fact("commit", "unknown: the code under test is in no git repository")
        return
    states = {True: " with uncommitted changes", False: "", None: " (changes unknown)"}
    yield Fact("commit", f"{shortened(environment.commit)}{states[environment.dirty]}")


def commands(run: Run) -> Iterable[str]:
    """What to type to get this run again, in order."""
    commit = run.environment.commit
    if commit is not None and re.fullmatch(r"[0-9a-f]{7,64}", commit):
        yield f"git checkout {commit}"
    yield visible(run.command)


def reproduction(run: Run) -> Iterable[Fact]:
    """What the commands do not say."""
    yield Fact("run", shortened(run.run_id))
    yield Fact("seed", str(run.seed))
    yield Fact("baseline", shortened(run.baseline) if run.baseline else "none")
    if run.environment.dirty:
        yield Fact(
            "note",
            "the code had uncommitted changes, which a checkout of the commit does not bring back",
        )
