"""Names to workloads: the built-in ones and anybody's ``module:attribute``."""

from __future__ import annotations

import difflib
import fnmatch
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.errors import UsageError, WorkloadError
from harness.model.workload import Case, Workload
from harness.session.foreign import foreign

__all__ = ["BUILT_IN", "UNASKED", "Selection", "load_workload", "select"]

BUILT_IN: Mapping[str, str] = {
    "softmax_cross_entropy": "reference_impl.workloads.softmax_cross_entropy:WORKLOAD",
    "mlp": "reference_impl.workloads.mlp:WORKLOAD",
    "mnist_cnn": "reference_impl.workloads.mnist_cnn:WORKLOAD",
    "resnet50": "reference_impl.workloads.resnet50:WORKLOAD",
}
"""Looked up by name so that the harness imports no workload's package before it is asked for."""

UNASKED = ("softmax_cross_entropy", "mlp")
"""What is taken where none is named: it answers in half a minute, the training of two convolutional networks does not."""

_FORMS = "NAME, NAME/CASE or package.module:ATTRIBUTE"

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_LONGEST_NAME = 128
"""A file system takes 255 bytes, of which a trace's file name holds the workload and the case."""

_NAME_RULE = f"use letters, digits, '.', '_', '-', at most {_LONGEST_NAME} of them"

_MOST_NAMED = 10
"""Workloads of a module, in a message of one line."""


@dataclass(frozen=True, slots=True)
class Selection:
    """One workload and the cases of it to run, or the ``fault`` that keeps it from being run at all.

    ``whole`` says that these are all of its cases, ``target`` is what it was asked for by: a built-in name or
    ``module:attribute``.
    """

    name: str
    workload: Workload | None
    cases: tuple[Case, ...] = ()
    whole: bool = True
    fault: str = ""
    target: str = ""

    def given(self, case: str) -> str:
        """How one of its cases is written on the command line."""
        return f"{self.target or self.name}/{case}"


def select(names: Sequence[str]) -> tuple[Selection, ...]:
    """Workloads by ``NAME``, ``NAME/CASE`` (with ``*`` and ``?``) or ``module:attribute[/CASE]``.

    No name at all means those in ``UNASKED``. A workload named twice is run once with the cases of
    both. Raises ``UsageError`` for unknown names, for patterns that match nothing and for two workloads of one name,
    whose verdicts nobody could tell apart; a workload that breaks its contract is returned with its fault, so that the
    others still run.
    """
    chosen: dict[str, Selection] = {}
    for name in names or UNASKED:
        found = _selection(name)
        known = chosen.get(found.name)
        if known is not None and known.workload is not found.workload:
            raise UsageError(
                f"{known.target!r} and {found.target!r} are both named {found.name!r}, so their verdicts could not be "
                "told apart; run one at a time, or give one another name"
            )
        cases = {case.name: case for case in (*(known.cases if known else ()), *found.cases)}
        whole = found.whole or (known is not None and known.whole)
        chosen[found.name] = replace(found, cases=tuple(cases.values()), whole=whole)
    return tuple(chosen.values())


def _selection(name: str) -> Selection:
    target, _, pattern = name.partition("/")
    if not (_FILE_NAME.fullmatch(target) or ":" in target) or pattern.endswith(".py"):
        raise UsageError(
            f"{name!r} names no workload, which are called {_FORMS}; a file is named by its module, "
            "such as package.module:WORKLOAD"
        )
    try:
        workload = load_workload(target)
        cases = tuple(_matching(workload, pattern or "*", name))
        return Selection(workload.name, workload, cases, whole=not pattern, target=target)
    except WorkloadError as error:
        return Selection(target, None, fault=str(error), target=target)


def load_workload(name: str) -> Workload:
    """The workload called ``name``; a name with a colon is imported as ``module:attribute``."""
    if ":" in name:
        return _imported(name)
    if name not in BUILT_IN:
        close = difflib.get_close_matches(name, BUILT_IN, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        known = ", ".join(BUILT_IN)
        raise UsageError(
            f"unknown workload {name!r}; {hint}built in: {known}; your own: package.module:ATTRIBUTE"
        )
    return _imported(BUILT_IN[name])


def _imported(path: str) -> Workload:
    module_name, _, attribute = path.partition(":")
    if not re.fullmatch(r"[\w.]+:[\w.]+", path):
        raise UsageError(f"workload {path!r} is not of the form package.module:ATTRIBUTE")
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"workload {path!r}: no module named {error.name!r}; install its package or run from its folder"
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() at the bottom of a module must not end the command
        text = f"{type(error).__name__}: {error}"
        raise WorkloadError(f"workload {path!r}: importing {module_name} raised {text}") from error
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise UsageError(
                f"workload {path!r}: {module_name} has no attribute {attribute!r}; {_offered(module_name)}"
            ) from error
    return _checked(found, path)


def _offered(module_name: str) -> str:
    """The workloads of a module that is imported, by name."""
    names = [
        name
        for name, value in vars(importlib.import_module(module_name)).items()
        if isinstance(value, Workload) and not isinstance(value, type)
    ]
    if not names:
        return "it has no workload: an object with name, summary and cases()"
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"it has {', '.join(names[:_MOST_NAMED])}{more}"


def _checked(found: object, path: str) -> Workload:
    if isinstance(found, type) or not isinstance(found, Workload):
        wanted = "an object with name, summary and cases()"
        raise UsageError(f"workload {path!r} is {type(found).__name__}, not {wanted}")
    if not _is_file_name(found.name):
        raise WorkloadError(f"workload {path!r} is named {_short(found.name)}; {_NAME_RULE}")
    return found


def _matching(workload: Workload, pattern: str, asked: str) -> list[Case]:
    with foreign(f"{workload.name}.cases()"):
        cases = list(workload.cases())
    names = [case.name for case in cases]
    if not cases:
        raise WorkloadError(f"workload {workload.name!r} has no cases")
    for name in names:
        if not _is_file_name(name):
            raise WorkloadError(
                f"workload {workload.name!r} has a case named {_short(name)}; {_NAME_RULE}"
            )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise WorkloadError(f"workload {workload.name!r} has two cases named {twice!r}")
    matching = [case for case in cases if fnmatch.fnmatchcase(case.name, pattern)]
    if not matching:
        raise UsageError(
            f"{asked!r} matches no case of {workload.name!r}; it has {', '.join(names)}"
        )
    return matching


def _is_file_name(name: object) -> bool:
    if not isinstance(name, str) or len(name) > _LONGEST_NAME:
        return False
    return _FILE_NAME.fullmatch(name) is not None


def _short(name: object) -> str:
    """A name that will not do, as far as one line shows it."""
    text = repr(name)
    if len(text) <= _LONGEST_NAME:
        return text
    return f"{text[: _LONGEST_NAME // 2]}… ({len(text) - 2:,} characters)"
