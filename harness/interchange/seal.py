"""Digests over what the harness reads of a benchmark and its machine, so that a file edited by hand is no measurement.

It guards against accidents, not against someone who computes a new one. It covers values, never layout: other tools may
indent a file anew, or write ``1`` for ``1.0``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.baseline.layout import digest

__all__ = ["DIGEST_KEY", "digest_of", "digest_of_fields", "seal"]

DIGEST_KEY = "digest"
"""Where the digest stands among our fields of a benchmark or a machine."""

_LARGEST_WHOLE = 2**53
"""Up to here every whole number is a float."""


def digest_of(benchmark: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """The digest of one benchmark of the format, whose own part is ``ours``: its name, clock, timings and our fields."""
    stats = benchmark.get("stats") or {}
    return digest(
        {
            "fullname": benchmark.get("fullname"),
            "timer": (benchmark.get("options") or {}).get("timer"),
            "data": _plain(stats.get("data")),
            "iterations": _plain(stats.get("iterations")),
            "ours": _plain(_without_digest(ours)),
        }
    )


def digest_of_fields(ours: Mapping[str, Any]) -> str:
    """The digest of our fields of a machine, whatever other tools wrote beside them."""
    return digest({"ours": _plain(_without_digest(ours))})


def seal(benchmark: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The benchmark with its digest among our fields, which stand under ``key`` of its ``extra_info``."""
    extra = benchmark["extra_info"]
    sealed = {**extra[key], DIGEST_KEY: digest_of(benchmark, extra[key])}
    return {**benchmark, "extra_info": {**extra, key: sealed}}


def _without_digest(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != DIGEST_KEY}


def _plain(value: Any) -> Any:
    """Numbers as floats, and lists for tuples, as a file has them once it was read."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and abs(value) <= _LARGEST_WHOLE else value
