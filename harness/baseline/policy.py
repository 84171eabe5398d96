"""How a comparison is judged: what is too much, how sure one must be, and what the odd cases mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.errors import UsageError
from harness.model.outcome import Outcome

__all__ = ["DEFAULT_MARGIN", "Policy"]

DEFAULT_MARGIN = 0.05
"""Unchanged code differs by 0.6 % from run to run beside a frozen peer (standard deviation), so that an interval of
99 % reaches 1.5 % to either side however long one times: stored speeds cannot settle a margin of 1 %. At 5 % they
find a slowdown of 7.5 % nine times in ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a comparison is judged.

    ``fail_over`` is how much more time per call is too much, as a fraction: a case fails when the whole
    interval of its slowdown lies beyond ``1 + fail_over``; ``None`` leaves it to the margin of each case, which is
    ``DEFAULT_MARGIN`` unless it declares one. ``confidence`` is how sure that interval is. ``trust_raw`` lets timings
    without a frozen peer decide, as from a quiet machine.

    The outcomes say what becomes of a case only the run has (``new``), one only the baseline has (``missing``), one
    of those that looks like the other under another name (``renamed``), and a comparison that was ``skipped`` or
    ``inconclusive``.
    """

    fail_over: float | None = None
    confidence: float = 0.99
    trust_raw: bool = False
    new: Outcome = Outcome.SKIPPED
    missing: Outcome = Outcome.INCONCLUSIVE
    renamed: Outcome = Outcome.INCONCLUSIVE
    skipped: Outcome = Outcome.SKIPPED
    inconclusive: Outcome = Outcome.INCONCLUSIVE

    def __post_init__(self) -> None:
        if self.fail_over is not None and not (
            math.isfinite(self.fail_over) and self.fail_over >= 0
        ):
            raise UsageError(
                f"fail_over is {self.fail_over!r}; give a fraction of at least 0, such as 0.05"
            )
        if not 0 < self.confidence < 1:
            raise UsageError(
                f"confidence is {self.confidence!r}; give a fraction between 0 and 1, such as 0.99"
            )
        if self.inconclusive is Outcome.PASSED:
            raise UsageError(
                "a comparison that could not tell is no pass; let it count as skipped, which ends with 0 too"
            )

    def margin(self, *declared: float | None) -> float:
        """The margin of a case: the one asked for, else the first declared, else the default."""
        if self.fail_over is not None:
            return self.fail_over
        return next((margin for margin in declared if margin is not None), DEFAULT_MARGIN)
