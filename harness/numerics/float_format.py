"""The floating-point formats an output may be stored or accumulated in, by name, with no package needed for bfloat16."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FLOAT_FORMATS", "INTEGER_DTYPES", "FloatFormat"]


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary format of IEEE 754 shape: ``precision`` significand bits (the hidden one included), exponent to ``emax``."""

    precision: int
    emax: int

    @property
    def unit_roundoff(self) -> float:
        """Largest relative error of one rounding to nearest: half the distance from 1 to the next number."""
        return 2.0**-self.precision

    @property
    def smallest_normal(self) -> float:
        """Results below this lose digits, or become 0 on devices that flush subnormals."""
        return 2.0 ** (1 - self.emax)

    @property
    def smallest_subnormal(self) -> float:
        """The smallest positive number."""
        return 2.0 ** (2 - self.emax - self.precision)

    @property
    def overflow_threshold(self) -> float:
        """Values from here on round to infinity; infinite itself for float64, which holds every oracle value."""
        return float((2.0 - 2.0**-self.precision) * 2.0**self.emax)


FLOAT_FORMATS: Mapping[str, FloatFormat] = {
    "float16": FloatFormat(precision=11, emax=15),
    "bfloat16": FloatFormat(precision=8, emax=127),
    "float32": FloatFormat(precision=24, emax=127),
    "float64": FloatFormat(precision=53, emax=1023),
}
"""Parameters of IEEE 754-2019 table 3.5; bfloat16 is float32 cut to 16 bits."""

INTEGER_DTYPES = frozenset(
    ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
)
"""Dtypes whose values are exact, so that any difference is an error."""
