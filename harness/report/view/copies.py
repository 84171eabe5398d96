"""The copy bandwidth of a run in a sentence: the roof of its throughput, and whether the machine kept its pace."""

from __future__ import annotations

from harness.model.measurement import CopyBandwidth
from harness.report.wording import shortened
from harness.units import bytes_text, percent_text, rate_text

__all__ = ["copy_text"]

_UNSTEADY = 0.10
"""As for two runs: what calm hours of one machine do not show."""


def copy_text(copy: CopyBandwidth) -> str:
    """``34.8 GB/s before and 33.9 GB/s after, best of 7 copies of 67.1 MB on cpu (median 33.0 and 32.1 GB/s)``."""
    rates = [copy.before, *([copy.after] if copy.after is not None else [])]
    best, usual = (
        [rate_text(number, "B") for number in numbers]
        for numbers in ([rate.best for rate in rates], [rate.median for rate in rates])
    )
    when = f"{best[0]} before and {best[1]} after" if len(best) > 1 else f"{best[0]} before"
    text = (
        f"{when}, best of {copy.before.copies:,} copies of {bytes_text(copy.size_bytes)} on "
        f"{shortened(copy.device)}, read and written (median {' and '.join(usual)})"
    )
    return f"{text}{_pace(copy)}"


def _pace(copy: CopyBandwidth) -> str:
    if copy.after is None:
        return "; the run was cut short"
    if not copy.before.median > 0:
        return ""
    change = copy.after.median / copy.before.median - 1
    if abs(change) <= _UNSTEADY:
        return ""
    return f"; the machine changed its pace while it timed ({percent_text(change, signed=True)})"
