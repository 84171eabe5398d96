"""The digest of a run file: it vouches for its values, whatever their layout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from harness.baseline.layout import digest

__all__ = ["DIGEST", "digest_of"]

DIGEST = "digest"
"""The field that vouches for all others."""


def digest_of(content: Mapping[str, Any]) -> str:
    """The SHA-256 of plain data, its ``DIGEST`` left out.

    Layout, the order of keys and ``2`` for ``2.0``, as some tools write it, make no difference. Cost: linear.
    """
    return digest(_canonical({key: value for key, value in content.items() if key != DIGEST}))


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return int(value) if value.is_integer() else value
    return value
