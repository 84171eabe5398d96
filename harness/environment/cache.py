"""The size of the host's last-level cache."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["last_level_cache_bytes"]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SCALES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def last_level_cache_bytes(caches: Path = _CACHES) -> int | None:
    """The largest cache of the first core, as Linux tells it; ``None`` where it does not."""
    sizes = [size for file in caches.glob("index*/size") if (size := _size(file)) is not None]
    return max(sizes, default=None)


def _size(file: Path) -> int | None:
    try:
        found = re.fullmatch(r"(\d+)([KMG]?)", file.read_text("ascii", "replace").strip())
    except OSError:  # a fact the machine does not give, as in a container without /sys
        return None
    return int(found[1]) * _SCALES[found[2]] if found else None
