"""Digests over what the harness reads of a benchmark and its machine, so that a file edited by hand is no measurement.

It guards against accidents, not against someone who computes a new one. It covers values, never layout: other tools may
indent a file anew, or write ``1`` for ``1.0``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.baseline.layout import value_digest

__all__ = ["DIGEST_KEY", "digest_of", "digest_of_fields", "seal"]

DIGEST_KEY = "digest"
"""Where the digest stands among our fields of a benchmark or a machine."""


def digest_of(benchmark: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """The digest of one benchmark of the format, whose own part is ``ours``: its name, clock, timings and our fields."""
    stats = benchmark.get("stats") or {}
    return value_digest(
        {
            "fullname": benchmark.get("fullname"),
            "timer": (benchmark.get("options") or {}).get("timer"),
            "data": stats.get("data"),
            "iterations": stats.get("iterations"),
            "ours": _without_digest(ours),
        }
    )


def digest_of_fields(ours: Mapping[str, Any]) -> str:
    """The digest of our fields of a machine, whatever other tools wrote beside them."""
    return value_digest({"ours": _without_digest(ours)})


def seal(benchmark: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The benchmark with its digest among our fields, which stand under ``key`` of its ``extra_info``."""
    extra = benchmark["extra_info"]
    sealed = {**extra[key], DIGEST_KEY: digest_of(benchmark, extra[key])}
    return {**benchmark, "extra_info": {**extra, key: sealed}}


def _without_digest(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != DIGEST_KEY}
