"""Many comparisons at once: more of them may not alarm more often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.stats.change import Change, Decision
from harness.units import count_text

__all__ = ["adjusted", "judge_family"]


def adjusted(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values: the smallest times their number, the next times one less, never falling.

    Held against a level, they keep the chance of even one false rejection under it, however the p-values depend
    on each other (Holm, Scandinavian Journal of Statistics 6, 1979).
    """
    found: dict[str, float] = {}
    highest = 0.0
    for rank, (key, p_value) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_value))
        found[key] = highest
    return found


def judge_family(changes: Mapping[str, Change], *, confidence: float) -> dict[str, Change]:
    """Judge comparisons as one family: a change must stand out among all of them to be called one.

    A regressed (improved) whose p-value, adjusted over all that were compared, is above the level of its side,
    ``(1 - confidence) / 2``, becomes inconclusive and says so. All else stays as it was. The chance that any
    unchanged op is called regressed is then under that level, instead of near one for each forty ops.
    """
    level = (1.0 - confidence) / 2
    judged = dict(changes)
    sides: tuple[tuple[Decision, Callable[[Change], float]], ...] = (
        (Decision.REGRESSED, lambda change: change.p_regressed),
        (Decision.IMPROVED, lambda change: change.p_improved),
    )
    for decision, p_value in sides:
        p_values = {
            key: p_value(change)
            for key, change in changes.items()
            if change.decision is not Decision.NOT_COMPARABLE
        }
        for key, p_adjusted in adjusted(p_values).items():
            if changes[key].decision is decision and p_adjusted > level:
                judged[key] = _doubted(changes[key], len(p_values), p_adjusted, level)
    return judged


def _doubted(change: Change, compared: int, p_adjusted: float, level: float) -> Change:
    reason = (
        f"{change.reason} if it were compared alone, but among {count_text(compared, 'comparison')} one such is "
        f"to be expected by chance (adjusted p {p_adjusted:.2g}, level {level:.2g}); time longer (--seconds)"
    )
    return replace(change, decision=Decision.INCONCLUSIVE, reason=reason)
