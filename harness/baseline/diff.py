"""A run held against a baseline: first whether the two may be compared at all, then traffic and speed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.baseline.commands import at_store, password_note
from harness.baseline.comparability import (
    case_differences,
    difference_text,
    differences,
    fields_text,
    soft_differences,
    speed_differences,
    traffic_differences,
)
from harness.baseline.holding import Held, among_all, held_against
from harness.baseline.policy import Policy
from harness.baseline.promise import promised_by, timing_doubts
from harness.baseline.renaming import renamed
from harness.baseline.throughput import THROUGHPUT_CHECK, compare_throughput, untimed
from harness.baseline.traffic import TRAFFIC_CHECK, compare_traffic, count_changes
from harness.model.baseline import Baseline, BaselineCase
from harness.model.environment import FieldDifference
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run
from harness.units import percent_text

__all__ = [
    "MISSING_CHECK",
    "Comparison",
    "Policy",
    "compare_run",
    "compare_with_baseline",
    "no_baseline",
]

MISSING_CHECK = "baseline"
"""The check of the run itself that says a case of the baseline, or all of it, is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``cases``: a result on traffic per case that ran, and one on speed where it was timed; ``run``: one per case that did not."""

    cases: Mapping[str, tuple[CheckResult, ...]]
    run: tuple[CheckResult, ...]


def compare_run(run: Run, baseline: Baseline, policy: Policy | None = None) -> Comparison:
    """Hold a run against a baseline, mindful of the conditions it was timed under.

    As ``compare_with_baseline``; a case whose GPU was throttled or shared meanwhile does not fail for its speed.
    Raises ``UsageError`` for a sample no timer gives.
    """
    now = promised_by(run, baseline.name)
    return compare_with_baseline(now, baseline, policy, doubts=timing_doubts(run))


def compare_with_baseline(
    current: Baseline,
    baseline: Baseline,
    policy: Policy | None = None,
    *,
    doubts: Mapping[str, str] | None = None,
) -> Comparison:
    """Hold every case of ``current`` against its namesake in ``baseline``.

    Pure. Every case of either side gets its own result. Where the hard facts of the two environments,
    the parameters of the case or the way it was seen differ, the result is inconclusive and lists the fields.
    Speeds are held against the newest promise and against the anchor, and judged as one family. ``doubts`` says of
    which cases, by key, and why the timings may be the machine's. Raises nothing. Costs about 0.2 ms per timed case.
    """
    judge = _Judge(
        current=current,
        baseline=baseline,
        policy=policy or Policy(),
        environments=differences(baseline.environment, current.environment),
        doubts=doubts or {},
    )
    known = {case.key: case for case in baseline.cases}
    pairs = [(known.get(case.key), case) for case in current.cases]
    ran = {case.key for case in current.cases}
    new = [case for then, case in pairs if then is None]
    missing = [case for case in baseline.cases if case.key not in ran]
    names = renamed(missing, new)
    held = judge.held((then, case) for then, case in pairs if then is not None)
    return Comparison(
        cases={
            case.key: judge.new(case, names.get(case.key))
            if then is None
            else judge.known(then, case, held.get(case.key, ()))
            for then, case in pairs
        },
        run=tuple(judge.missing(case, names.get(case.key)) for case in missing),
    )


def no_baseline(name: str, where: str, *, outcome: Outcome) -> CheckResult:
    """The result of a run that was to be held against a baseline nobody has saved yet."""
    return CheckResult(
        check=MISSING_CHECK,
        outcome=outcome,
        summary=f"no baseline {name!r} in {where}, so nothing was compared",
        evidence="",
        next_step=f"save this run as the first one{password_note(where)}: "
        f"harness baseline save {name}{at_store(where)}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """The two sides and the policy, which every result needs."""

    current: Baseline
    baseline: Baseline
    policy: Policy
    environments: tuple[FieldDifference, ...]
    doubts: Mapping[str, str]

    def held(
        self, pairs: Iterable[tuple[BaselineCase, BaselineCase]]
    ) -> dict[str, tuple[Held, ...]]:
        """The comparisons of all cases whose speeds may be compared, judged as one family."""
        held = {
            now.key: held_against(
                then.speeds,
                now.speeds[-1],
                margin=self.policy.margin(now.margin, then.margin),
                policy=self.policy,
            )
            for then, now in pairs
            if then.speeds and now.speeds and self._comparable(self._on_speed(then, now))
        }
        return among_all(held, confidence=self.policy.confidence)

    def known(
        self, then: BaselineCase, now: BaselineCase, held: Sequence[Held]
    ) -> tuple[CheckResult, ...]:
        """Traffic of one case both sides have, and its speed where either side was timed."""
        results = [self._traffic(then, now)]
        if then.speeds or now.speeds:
            results.append(self._throughput(then, now, held))
        return tuple(map(self._counted, results))

    def new(self, case: BaselineCase, old: str | None) -> tuple[CheckResult, ...]:
        """A case the baseline does not have, maybe under its old name."""
        was = f"; renamed from {old}?" if old is not None else ""
        result = CheckResult(
            check=TRAFFIC_CHECK,
            outcome=self.policy.new,
            summary=f"not in baseline {self.baseline.name!r}{was}",
            evidence="",
            next_step="to keep what this case does: "
            f"harness baseline save {self.baseline.name} --replace",
        )
        return (result, *([replace(result, check=THROUGHPUT_CHECK)] if case.speeds else []))

    def missing(self, case: BaselineCase, new: str | None) -> CheckResult:
        """A case the baseline promises to keep and this run did not look at, at least not under its name."""
        now = f"; renamed to {new}?" if new is not None else ""
        return CheckResult(
            check=MISSING_CHECK,
            outcome=self.policy.missing if new is None else self.policy.renamed,
            summary=f"{case.key} is in baseline {self.baseline.name!r} but was not run{now}",
            evidence="",
            next_step="run it too, or let it go: "
            f"harness baseline save {self.baseline.name} --replace --drop",
        )

    def _traffic(self, then: BaselineCase, now: BaselineCase) -> CheckResult:
        differing = (
            *self.environments,
            *case_differences(then, now),
            *traffic_differences(then, now),
        )
        if self._comparable(differing):
            return compare_traffic(then, now, name=self.baseline.name)
        refusal = self._refusal(TRAFFIC_CHECK, differing)
        seen = tuple(f"seen all the same: {change}" for change in count_changes(then, now))
        return replace(refusal, details=(*refusal.details, *seen))

    def _throughput(
        self, then: BaselineCase, now: BaselineCase, held: Sequence[Held]
    ) -> CheckResult:
        if not (then.speeds and now.speeds):
            return untimed(by_baseline=not then.speeds, name=self.baseline.name)
        if not held:
            return self._refusal(THROUGHPUT_CHECK, self._on_speed(then, now))
        result = compare_throughput(
            held, then.speeds, name=self.baseline.name, doubt=self.doubts.get(now.key, "")
        )
        details = [*result.details, *self._declared(then, now)]
        if any(each.outcome is Outcome.FAILED for each in held):
            softly = soft_differences(self.baseline.environment, self.current.environment)
            details += [f"differs too: {difference_text(one)}" for one in softly]
        return replace(result, details=tuple(details))

    def _on_speed(self, then: BaselineCase, now: BaselineCase) -> tuple[FieldDifference, ...]:
        return (*self.environments, *case_differences(then, now), *speed_differences(then, now))

    def _declared(self, then: BaselineCase, now: BaselineCase) -> Iterable[str]:
        """A word on margins that are not the same on both sides, since a change of them moves the gate."""
        if then.margin != now.margin:
            texts = [
                "none" if one is None else percent_text(one) for one in (then.margin, now.margin)
            ]
            yield f"margin the case declares: {texts[0]} in the baseline, {texts[1]} now"

    def _comparable(self, differing: Sequence[FieldDifference]) -> bool:
        return not differing and bool(self.current.environment.hard)

    def _refusal(self, check: str, differing: Sequence[FieldDifference]) -> CheckResult:
        """Inconclusive, since the two sides may not be compared."""
        reason = (
            fields_text(differing) if differing else "neither side says which machine it ran on"
        )
        return CheckResult(
            check=check,
            outcome=Outcome.INCONCLUSIVE,
            summary=f"not comparable with baseline {self.baseline.name!r}: {reason}",
            evidence="",
            details=tuple(map(difference_text, differing)),
            next_step="compare where the baseline was taken, or save one for this environment",
        )

    def _counted(self, result: CheckResult) -> CheckResult:
        """The result as the policy counts it, with a word where that is not what was found."""
        found = result.outcome
        counted = {
            Outcome.SKIPPED: self.policy.skipped,
            Outcome.INCONCLUSIVE: self.policy.inconclusive,
        }.get(found, found)
        if counted is found:
            return result
        option = f"--{found.value}"
        word = f"{found.value}, and counted as {counted.value} ({option})"
        return replace(result, outcome=counted, details=(word, *result.details))
