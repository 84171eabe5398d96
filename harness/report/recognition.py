"""Whose a file is, by how it begins: a form is written only where a file of that form was, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.report.embedding import ELEMENT, is_page
from harness.report.wording import MARKS

__all__ = ["BENCHMARKS", "JUNIT", "MARKDOWN", "PAGE", "RECORD", "Form", "refuse_foreign"]

_MOST_BYTES = 2**30
"""A page of a thousand cases has five million; more than a few hundred times that is nobody's report."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a file may be: what a person calls it, and whether a file's bytes are one."""

    name: str
    recognises: Callable[[bytes], bool]


def _begins(pattern: str) -> Callable[[bytes], bool]:
    compiled = re.compile(pattern.encode())
    return lambda data: compiled.match(data) is not None


PAGE = Form("page of the harness", lambda data: is_page(data) and f'id="{ELEMENT}'.encode() in data)
RECORD = Form("record of a run", _begins(r'\s*\{\s*"format"\s*:\s*"ondevice-harness run"'))
JUNIT = Form("JUnit file of the harness", _begins(r'(<\?xml[^>]*>\s*)?<testsuites name="harness"'))
MARKDOWN = Form(
    "summary of the harness", _begins(rf"## (?:{'|'.join(map(re.escape, MARKS.values()))}) [A-Z]")
)
BENCHMARKS = Form(
    "benchmark file",
    lambda data: (
        data.lstrip()[:1] == b"{" and b'"machine_info"' in data and b'"benchmarks"' in data
    ),
)


def refuse_foreign(path: Path, form: Form) -> None:
    """Raise ``UsageError`` where writing ``form`` would replace a file that is neither empty nor of that form."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name another file") from None
    if data and not form.recognises(data):
        raise UsageError(f"{path} exists and is no {form.name}; remove it or name another file")
