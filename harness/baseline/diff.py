"""A run held against a baseline: first whether the two may be compared at all, then traffic and speed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.baseline.comparability import case_differences, difference_text, differences
from harness.baseline.throughput import THROUGHPUT_CHECK, compare_throughput, untimed
from harness.baseline.traffic import TRAFFIC_CHECK, compare_traffic, count_changes
from harness.errors import UsageError
from harness.model.baseline import Baseline, BaselineCase
from harness.model.environment import FieldDifference
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult

__all__ = ["MISSING_CHECK", "Comparison", "Policy", "compare_with_baseline"]

MISSING_CHECK = "baseline"
"""The check of the run itself that says a case of the baseline was not run."""

_MOST_NAMED = 4
"""Fields named in one sentence; the details list all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a comparison is judged.

    ``fail_over`` is how much more time per call is too much, as a fraction: a case fails when the whole
    interval of its slowdown lies beyond ``1 + fail_over``. ``confidence`` is how sure that interval is.
    ``trust_raw`` lets timings without a frozen peer decide, as from a quiet machine. ``new`` and ``missing`` are the outcomes of cases only the run or only the baseline
    has.
    """

    fail_over: float = 0.05
    confidence: float = 0.99
    trust_raw: bool = False
    new: Outcome = Outcome.SKIPPED
    missing: Outcome = Outcome.INCONCLUSIVE

    def __post_init__(self) -> None:
        if not (math.isfinite(self.fail_over) and self.fail_over >= 0):
            raise UsageError(
                f"fail_over is {self.fail_over!r}; give a fraction of at least 0, such as 0.05"
            )
        if not 0 < self.confidence < 1:
            raise UsageError(
                f"confidence is {self.confidence!r}; give a fraction between 0 and 1, such as 0.99"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``cases``: a result on traffic per case that ran, and one on speed where it was timed; ``run``: one per case that did not."""

    cases: Mapping[str, tuple[CheckResult, ...]]
    run: tuple[CheckResult, ...]


def compare_with_baseline(
    current: Baseline, baseline: Baseline, policy: Policy | None = None
) -> Comparison:
    """Hold every case of ``current`` against its namesake in ``baseline``.

    Pure. Every case of either side gets its own result. Where the hard facts of the two environments,
    the parameters of the case or its device differ, the result is inconclusive and lists the fields.
    Raises nothing. Cost: one bootstrap per timed case (milliseconds), the rest is negligible.
    """
    policy = policy or Policy()
    known = {case.key: case for case in baseline.cases}
    ran = {case.key for case in current.cases}
    judge = _Judge(current=current, baseline=baseline, policy=policy)
    return Comparison(
        cases={case.key: judge.case(known.get(case.key), case) for case in current.cases},
        run=tuple(judge.missing(case) for case in baseline.cases if case.key not in ran),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """The two sides and the policy, which every result needs."""

    current: Baseline
    baseline: Baseline
    policy: Policy

    def case(self, then: BaselineCase | None, now: BaselineCase) -> tuple[CheckResult, ...]:
        """Traffic of one case that ran, and its speed where either side was timed."""
        if then is None:
            speed = (self._new(THROUGHPUT_CHECK),) if now.sample is not None else ()
            return self._new(TRAFFIC_CHECK), *speed
        environments = differences(self.baseline.environment, self.current.environment)
        shared = (*environments, *case_differences(then, now))
        speed = (
            (self._throughput(then, now, shared),)
            if then.sample is not None or now.sample is not None
            else ()
        )
        return self._traffic(then, now, shared), *speed

    def missing(self, case: BaselineCase) -> CheckResult:
        """A case the baseline promises to keep and this run did not look at."""
        return CheckResult(
            check=MISSING_CHECK,
            outcome=self.policy.missing,
            summary=f"{case.key} is in baseline {self.baseline.name!r} but was not run",
            evidence="",
            next_step="run it too, or save the baseline again without it",
        )

    def _new(self, check: str) -> CheckResult:
        return CheckResult(
            check=check,
            outcome=self.policy.new,
            summary=f"not in baseline {self.baseline.name!r}",
            evidence="",
            next_step="save the baseline again to keep what this case does",
        )

    def _traffic(
        self, then: BaselineCase, now: BaselineCase, shared: tuple[FieldDifference, ...]
    ) -> CheckResult:
        device = _differing_text("traffic_device", then.traffic_device, now.traffic_device)
        if refusal := self._refusal(TRAFFIC_CHECK, (*shared, *device)):
            seen = tuple(f"seen all the same: {change}" for change in count_changes(then, now))
            return replace(refusal, details=(*refusal.details, *seen))
        return compare_traffic(then, now, name=self.baseline.name)

    def _throughput(
        self, then: BaselineCase, now: BaselineCase, shared: tuple[FieldDifference, ...]
    ) -> CheckResult:
        if then.sample is None or now.sample is None:
            return untimed(by_baseline=then.sample is None, name=self.baseline.name)
        device = _differing_text("timing_device", then.timing_device, now.timing_device)
        timer = _differing_text("sample.timer", then.sample.timer, now.sample.timer)
        work = _differing_text("throughput", _work(then.throughput), _work(now.throughput))
        if refusal := self._refusal(THROUGHPUT_CHECK, (*shared, *device, *timer, *work)):
            return refusal
        return compare_throughput(
            then.sample,
            now.sample,
            name=self.baseline.name,
            fail_over=self.policy.fail_over,
            confidence=self.policy.confidence,
            trust_raw=self.policy.trust_raw,
        )

    def _refusal(self, check: str, differing: Sequence[FieldDifference]) -> CheckResult | None:
        """Inconclusive where the two sides may not be compared, ``None`` where they may."""
        names = [difference.field for difference in differing]
        if names:
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            listed = f"{', '.join(names[:_MOST_NAMED])}{more}"
            reason = f"{listed} {'differs' if len(names) == 1 else 'differ'}"
        elif not self.current.environment.hard:
            reason = "neither side says which machine it ran on"
        else:
            return None
        return CheckResult(
            check=check,
            outcome=Outcome.INCONCLUSIVE,
            summary=f"not comparable with baseline {self.baseline.name!r}: {reason}",
            evidence="",
            details=tuple(map(difference_text, differing)),
            next_step="compare where the baseline was taken, or save one for this environment",
        )


def _differing_text(field: str, then: str, now: str) -> tuple[FieldDifference, ...]:
    if then == now:
        return ()
    return (FieldDifference(field=field, baseline=then or None, current=now or None),)


def _work(throughput: Throughput | None) -> str:
    """What one call does; the times of two calls that do not do the same say nothing."""
    if throughput is None:
        return ""
    size = f"{throughput.bytes_per_call:,} B"
    return f"{throughput.units_per_call!r} {throughput.unit} and {size} per call"
