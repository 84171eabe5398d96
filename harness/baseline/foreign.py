"""Recognises files that are not baselines, so that the message can say what they are."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["foreign_document", "foreign_text"]

_MARKS = (
    ({"benchmarks", "machine_info"}, "pytest-benchmark"),
    ({"benchmarks", "devices", "meta"}, "NVBench"),
    ({"benchmarks", "context"}, "Google Benchmark"),
    ({"benchmarks", "metadata", "version"}, "pyperf"),
    ({"commit_hash", "env_name", "results"}, "airspeed velocity"),
    ({"traceEvents"}, "a Chrome trace writer, such as torch.profiler"),
)
"""Top-level keys that together are written by one tool only, the most telling first."""


def foreign_document(document: Mapping[str, object]) -> str | None:
    """The tool that writes objects with these keys, where it is a known one."""
    for keys, tool in _MARKS:
        if keys <= document.keys():
            return tool
    return None


def foreign_text(text: str) -> str | None:
    """What a text that is not JSON is instead, with what to do about it, where that can be told."""
    if text.startswith("version https://git-lfs.github.com/spec/"):
        return "is a Git LFS pointer, not the file itself; fetch it with: git lfs pull"
    if conflict := re.search(r"^<{7} ", text, re.MULTILINE):
        line = text.count("\n", 0, conflict.start()) + 1
        return f"holds a merge conflict at line {line}; take one side, then load it again"
    return None
