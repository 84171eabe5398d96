"""A waiver of a slowdown covers the finding of one test, and keeps what was found."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from builders import a_check

from harness.model.outcome import Outcome
from harness.model.waiver import Waiver
from harness.pytest_plugin.policy import Situation
from harness.pytest_plugin.speed_wording import Finding, not_judged
from harness.pytest_plugin.waiving import WAIVER_PROPERTY, WAIVERS, covered_finding, forget_waived

SLOW = Finding(
    result=a_check(check="slowdown", outcome=Outcome.FAILED, summary="1.10x the time"),
    text="slowdown limit exceeded",
)


def an_item(*waivers: Waiver, nodeid: str = "tests/test_a.py::test_x[1-2]") -> Any:
    stash = pytest.Stash()
    stash[WAIVERS] = waivers, date(2026, 11, 30)
    config = SimpleNamespace(stash=stash)
    return SimpleNamespace(nodeid=nodeid, user_properties=[], config=config)


def a_waiver(**changes: str) -> Waiver:
    waiver = Waiver(
        case="tests/test_a.py::test_x[*]",
        check="slowdown",
        reason="the new allocator is slower",
        since="2026-11-01",
    )
    return replace(waiver, **changes)


def test_a_waived_slowdown_is_a_judgement_that_fails_nothing_and_keeps_its_text() -> None:
    item = an_item(a_waiver())
    found = covered_finding(item, SLOW)
    assert found.result.outcome is Outcome.SKIPPED
    assert found.is_judgement
    assert found.text.splitlines() == [
        "slowdown limit exceeded",
        "  note      waived since 1 November 2026 (29 days), without an end: the new allocator is slower",
    ]
    ((name, text),) = item.user_properties
    assert name == WAIVER_PROPERTY
    assert text.endswith("found, failed: 1.10x the time")
    item.user_properties.append(("other", "kept"))
    forget_waived(item)
    assert item.user_properties == [("other", "kept")]


@pytest.mark.parametrize("changes", [{"check": "throughput"}, {"case": "tests/test_a.py::test_y*"}])
def test_a_waiver_of_something_else_changes_nothing(changes) -> None:
    item = an_item(a_waiver(**changes))
    assert covered_finding(item, SLOW) is SLOW
    assert item.user_properties == []


def test_an_ended_waiver_leaves_the_failure_with_a_word_on_its_end() -> None:
    item = an_item(a_waiver(until="2026-11-20"))
    found = covered_finding(item, SLOW)
    assert found.result.outcome is Outcome.FAILED
    assert "its waiver ended on 20 November 2026, 10 days ago" in found.text
    assert item.user_properties == []


def test_a_test_without_anything_to_compare_with_is_not_waived() -> None:
    nothing = not_judged("slowdown", "no baseline", "make one", Situation.NO_BASELINE)
    found = covered_finding(an_item(a_waiver()), nothing)
    assert found.result.outcome is Outcome.INCONCLUSIVE
    assert not found.is_judgement
