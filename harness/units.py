"""Numbers to text: the only place where a count, a size, a time or a rate becomes words."""

from __future__ import annotations

import math

__all__ = ["bytes_text", "count_text", "duration_text", "percent_text", "rate_text", "ratio_text"]

_DURATIONS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_RATES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def duration_text(nanoseconds: float) -> str:
    """A duration with three significant digits: ``1.23 ms``."""
    for scale, unit in _DURATIONS:
        if _rounded(nanoseconds) >= scale:
            return f"{_significant(nanoseconds / scale)} {unit}"
    return f"{_significant(nanoseconds)} ns"


def bytes_text(size_bytes: float) -> str:
    """A size: exact below 10 kB (where single bytes matter), three significant digits above."""
    if size_bytes < 10_000:
        return f"{size_bytes:,.0f} B"
    for scale, unit in _SIZES:
        if _rounded(size_bytes) >= scale:
            return f"{_significant(size_bytes / scale)} {unit}"
    return f"{size_bytes} B"


def rate_text(per_second: float, unit: str) -> str:
    """A throughput: ``12.3 M samples/s``, ``4.56 GB/s`` for ``unit='B'``."""
    for scale, prefix in _RATES:
        if _rounded(per_second) >= scale:
            number = _significant(per_second / scale)
            return f"{number} {prefix}B/s" if unit == "B" else f"{number} {prefix} {unit}/s"
    return f"{_significant(per_second)} {unit}/s"


def percent_text(fraction: float, *, signed: bool = False) -> str:
    """A fraction as a percentage with one decimal: ``+2.0 %``."""
    sign = "+" if signed else ""
    return f"{fraction * 100:{sign}.1f} %"


def ratio_text(ratio: float) -> str:
    """A ratio with three decimals and a multiplication sign: ``1.023x``."""
    return f"{ratio:.3f}x"


def count_text(count: int, noun: str, *, plural: str | None = None) -> str:
    """A count with its noun: ``1 copy``, ``2 copies``; ``plural`` where adding an s is wrong."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {plural or noun + 's'}"


def _rounded(value: float) -> float:
    """The value to three significant digits, so that 999.96 us becomes 1.00 ms and not 1,000 us."""
    if value <= 0 or not math.isfinite(value):
        return value
    return float(f"{value:.3g}")


def _significant(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    rounded = _rounded(abs(value))
    decimals = 2 if rounded < 10 else 1 if rounded < 100 else 0
    return f"{value:,.{decimals}f}"
