"""What runs are called beside each other: by the facts in which they differ."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Sequence

from harness.model.verdict import Run
from harness.report.wording import shortened

__all__ = ["commit_text", "run_labels"]

_Fact = Callable[[Run], str]

_LONGEST_FACT = 40
"""A processor by its whole name, on two lines of a column."""

_SHORT_COMMIT = 12
"""As git abbreviates in a large repository."""


def run_labels(runs: Sequence[Run]) -> tuple[str, ...]:
    """A label per run, no two alike: every fact a fleet is told apart by that differs among them.

    Where these do not tell all of them apart, what they ran joins them, then the time, the run's id, a number.
    """
    told = [fact for fact in _FACTS if len({fact(run) for run in runs}) > 1]
    for fact in (_workloads, _moment, lambda run: run.run_id):
        if len(set(_texts(runs, told))) < len(runs) and len({fact(run) for run in runs}) > 1:
            told.append(fact)
    texts = _texts(runs, told or [_moment])
    if len(set(texts)) == len(runs):
        return tuple(texts)
    return tuple(f"{text} #{number}" for number, text in enumerate(texts, start=1))


def commit_text(run: Run) -> str:
    """The commit as git abbreviates it, and whether the code differed from it; ``no commit`` outside of git."""
    environment = run.environment
    if not environment.commit:
        return "no commit"
    changed = " with changes" if environment.dirty else ""
    return f"{shortened(environment.commit[:_SHORT_COMMIT])}{changed}"


def _texts(runs: Sequence[Run], told: Sequence[_Fact]) -> list[str]:
    return [" · ".join(shortened(fact(run), limit=_LONGEST_FACT) for fact in told) for run in runs]


def _moment(run: Run) -> str:
    """``2025-11-30 16:50:00``."""
    return run.created[:19].replace("T", " ")


def _devices(run: Run) -> str:
    named = {verdict.timing_device for verdict in run.verdicts if verdict.call_time is not None}
    watched = {verdict.traffic_device for verdict in run.verdicts if verdict.traffic is not None}
    meant = {
        device for each in run.verdicts for device in (each.timing_device, each.traffic_device)
    }
    return ", ".join(sorted((named or watched or meant) - {""})) or _option(run, "--device")


def _option(run: Run, name: str) -> str:
    """The value a command gives an option: all that a run which broke before its first case says of its device."""
    words = _words(run)
    given = [after for word, after in itertools.pairwise(words) if word == name]
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    return ", ".join([*given, *joined]) or "no device"


def _workloads(run: Run) -> str:
    """``mlp, resnet50``: those named in the command after its verb, else those that were run."""
    words = _words(run)
    verb = next((place for place, word in enumerate(words) if word == "run"), len(words))
    named = itertools.takewhile(lambda word: not word.startswith("-"), words[verb + 1 :])
    return ", ".join(named) or ", ".join(dict.fromkeys(each.workload for each in run.verdicts))


def _words(run: Run) -> list[str]:
    try:
        return shlex.split(run.command)
    except ValueError:  # a file that was written by hand may hold anything
        return run.command.split()


def _named(name: str, words: str = "", *, without: str) -> _Fact:
    def text(run: Run) -> str:
        value = run.environment.hard.get(name) or run.environment.soft.get(name)
        return f"{words}{value}" if value else without

    return text


_FACTS: tuple[_Fact, ...] = (
    _devices,
    _named("gpu.name", without="no GPU"),
    _named("cpu.model", without="CPU unknown"),
    _named("python.version", "Python ", without="Python unknown"),
    commit_text,
)
"""What machines and versions are told apart by, the most telling first."""
