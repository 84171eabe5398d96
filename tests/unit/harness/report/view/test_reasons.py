"""Why a budget is what it is, each reason once."""

from __future__ import annotations

from builders import a_limit

from harness.model.budget import WHOLE_RUN, Quantity
from harness.report.view.reasons import Reason, reasons


def test_a_reason_is_given_once_for_all_it_stands_for() -> None:
    stay = (a_limit(because="stay"), a_limit(quantity=Quantity.SYNCS, because="stay"))
    assert reasons({"forward": stay, WHOLE_RUN: stay}) == (
        Reason(limits="forward, whole call", because="stay"),
    )


def test_a_region_with_several_reasons_says_which_limit_each_is_for() -> None:
    limits = (a_limit(because="stay"), a_limit(quantity=Quantity.SYNCS, because="run ahead"))
    assert reasons({"forward": limits}) == (
        Reason(limits="forward (D2H)", because="stay"),
        Reason(limits="forward (syncs)", because="run ahead"),
    )


def test_no_budget_has_no_reasons() -> None:
    assert reasons({"forward": ()}) == ()
