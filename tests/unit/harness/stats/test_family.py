"""Many ops at once: one of a hundred stands out by chance, and that is not called a regression."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.change import Change, Decision, compare_pairs, not_comparable
from harness.stats.family import adjusted, judge_family


def change(rng: np.random.Generator, ratio: float = 1.0, *, margin: float = 0.0) -> Change:
    above, below = rng.lognormal(0, 0.02, (2, 60))
    return compare_pairs((ratio * above).tolist(), below.tolist(), margin=margin)


def test_holm_adjusts_as_he_did() -> None:
    found = adjusted({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06})
    assert adjusted({}) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusting_keeps_the_order_and_never_sharpens(p_values: list[float]) -> None:
    found = adjusted({str(index): p for index, p in enumerate(p_values)})
    ordered = sorted(range(len(p_values)), key=lambda index: p_values[index])
    in_order = [found[str(index)] for index in ordered]
    assert in_order == sorted(in_order)
    assert all(p_values[i] <= found[str(i)] <= 1.0 for i in range(len(p_values)))


def test_a_run_of_forty_unchanged_ops_rarely_calls_any_of_them_slower() -> None:
    rng = np.random.default_rng(0)
    alone = together = 0
    for _ in range(40):
        family = {str(index): change(rng) for index in range(40)}
        judged = judge_family(family, confidence=0.95)
        alone += any(each.decision is Decision.REGRESSED for each in family.values())
        together += any(each.decision is Decision.REGRESSED for each in judged.values())
    assert alone > 15
    assert together <= 4


def test_a_clear_change_stands_out_in_any_family_on_either_side() -> None:
    rng = np.random.default_rng(1)
    family = {str(index): change(rng) for index in range(40)}
    family |= {"slow": change(rng, 1.05), "fast": change(rng, 0.95)}
    judged = judge_family(family, confidence=0.95)
    assert judged["slow"] == family["slow"]
    assert judged["slow"].decision is Decision.REGRESSED
    assert judged["fast"].decision is Decision.IMPROVED


def test_what_does_not_stand_out_says_among_how_many() -> None:
    rng = np.random.default_rng(2)
    weak = next(found for _ in range(1000) if 0.01 < (found := change(rng)).p_regressed < 0.025)
    assert weak.decision is Decision.REGRESSED
    others = {str(index): change(rng) for index in range(9)}
    judged = judge_family(
        {"weak": weak, **others, "other timer": not_comparable(0.0, "another timer")},
        confidence=0.95,
    )
    assert judged["weak"].decision is Decision.INCONCLUSIVE
    assert "among 10 comparisons one such is to be expected by chance" in judged["weak"].reason
    assert judged["other timer"].decision is Decision.NOT_COMPARABLE
    assert judge_family({"weak": weak}, confidence=0.95)["weak"] == weak


def test_unchanged_and_inconclusive_stay_as_they_are() -> None:
    rng = np.random.default_rng(3)
    family = {"same": change(rng, margin=0.1), "near": change(rng, 1.02, margin=0.02)}
    assert family["same"].decision is Decision.UNCHANGED
    assert judge_family(family, confidence=0.95) == family
