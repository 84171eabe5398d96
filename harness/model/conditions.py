"""What a GPU's sensors said while a case was timed."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConditionSample", "MatmulRate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSample:
    """One reading, ``at_s`` seconds after the first: megahertz, watts, degrees Celsius; ``None`` where unsupported.

    ``limited`` names what held the clocks back, empty where nothing did.
    """

    at_s: float
    sm_clock_mhz: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None
    limited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatmulRate:
    """How fast ``device`` multiplied two square matrices of ``size`` rows: the best of some, a roof that was measured.

    Two floating-point operations per multiply-add.
    """

    device: str
    dtype: str
    size: int
    flops_per_second: float
