"""What a CI service shows of a run beside its log: GitHub's job summary and annotations."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from harness.model.event import Site
from harness.model.verdict import Run
from harness.report.annotations import annotation_lines
from harness.report.markdown import LARGEST_SUMMARY_BYTES, markdown_summary
from harness.report.wording import encodable, visible

__all__ = ["is_wanted", "publish"]

_SUMMARY = "GITHUB_STEP_SUMMARY"
_ACTIONS = "GITHUB_ACTIONS"


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether ``publish`` would do anything here."""
    return bool(environ.get(_SUMMARY)) or environ.get(_ACTIONS) == "true"


def publish(
    run: Run,
    environ: Mapping[str, str],
    stream: TextIO,
    *,
    errors: TextIO | None = None,
    sites: Mapping[str, Site] | None = None,
) -> None:
    """Append the run to the job summary and print its annotations to ``stream``, each where GitHub asks for it.

    ``sites`` says where a case is written, by ``Verdict.key``. A summary that cannot be written is one line on
    ``errors`` (standard error unless given); it changes nothing about the run.
    """
    summary = environ.get(_SUMMARY)
    if summary:
        problem = _append(run, Path(summary))
        if problem:
            print(f"harness: {problem}", file=errors or sys.stderr)
    if environ.get(_ACTIONS) == "true":
        workspace = Path(environ.get("GITHUB_WORKSPACE") or os.curdir).absolute()
        for line in annotation_lines(run, workspace=workspace, sites=sites):
            stream.write(f"{encodable(line, stream.encoding or 'utf-8')}\n")


def _append(run: Run, path: Path) -> str:
    """Append what fits beside what other commands of the step have written; the reason where that failed."""
    try:
        written = _size(path)
        text = markdown_summary(run, most_bytes=LARGEST_SUMMARY_BYTES - written - 1)
        if not text:
            return f"the job summary {visible(str(path))} is full, so this run is not in it"
        with path.open("ab") as file:
            file.write(b"\n" * bool(written) + text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        return f"the job summary {visible(str(path))} was not written: {reason}"
    return ""


def _size(path: Path) -> int:
    """Bytes in a file so far; ``OSError`` for what is no file, since opening a pipe would wait for a reader."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not a regular file")
    return found.st_size
