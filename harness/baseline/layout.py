"""Plain data of a baseline, its text that reads well in a review, and its digest."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeGuard

__all__ = ["digest", "is_flat", "laid_out", "plain", "value_digest"]

_LARGEST_WHOLE = 2.0**53
"""Up to here a float that is a whole number has the digits of that number, and every whole number is a float."""


def plain(value: Any) -> Any:
    """Dictionaries, lists and plain numbers instead of data classes, mappings, enums and NumPy scalars."""
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        if set(map(type, value)) == {float}:  # quantiles, most of every file
            return list(value)
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return float(value) if isinstance(value, float) else value


def digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of plain data, whatever its layout and the order of its keys."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode('ascii')).hexdigest()}"


def value_digest(content: Mapping[str, Any]) -> str:
    """The digest of what a file says rather than how: ``1`` for ``1.0``, as some tools write it, makes no difference.

    A number JSON does not have counts as its name, as files hold it. Cost: linear.
    """
    return digest(_values(content))


def _values(value: Any) -> Any:
    """Numbers as floats and lists for tuples, as a file has them once it was read."""
    if isinstance(value, Mapping):
        return {str(name): _values(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_values(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and abs(value) <= _LARGEST_WHOLE else value


def laid_out(value: Any, *, indent: str = "") -> str:
    """JSON text with sorted, indented keys, where a list of scalars, or an object of numbers, is one line.

    A number is written as the shortest text that reads back as the same: ``2`` for ``2.0``.
    """
    deeper = f"{indent}  "
    if isinstance(value, dict) and value:
        items = [f"{_scalar(key)}: {laid_out(value[key], indent=deeper)}" for key in sorted(value)]
        if {int, float}.issuperset(map(type, value.values())):
            return f"{{{', '.join(items)}}}"
        return _block("{", items, "}", indent=indent)
    if isinstance(value, list) and not is_flat(value):
        items = [laid_out(item, indent=deeper) for item in value]
        return _block("[", items, "]", indent=indent)
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    return _scalar(value)


def is_flat(value: list[Any]) -> TypeGuard[list[float | str]]:
    """Whether a list holds neither lists nor objects."""
    return not any(issubclass(kind, (dict, list)) for kind in set(map(type, value)))


def _block(opening: str, items: Sequence[str], closing: str, *, indent: str) -> str:
    lines = ",\n".join(f"{indent}  {item}" for item in items)
    return f"{opening}\n{lines}\n{indent}{closing}"


def _scalar(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)
