"""The choices about tests whose speed cannot simply be judged."""

from __future__ import annotations

import pytest

from harness.pytest_plugin.policy import DEFAULTS, Action, Situation, read_policy


def test_every_situation_has_a_default():
    assert set(DEFAULTS) == set(Situation)


def test_what_is_inconclusive_never_passes():
    with pytest.raises(pytest.UsageError, match="inconclusive can skip or fail"):
        read_policy(["inconclusive=pass"], source="--harness-policy")


def test_all_choices_given_apply():
    texts = ["new=fail, missing=pass", "renamed=pass,,"]
    assert read_policy(texts, source="--harness-policy") == {
        Situation.NEW: Action.FAIL,
        Situation.MISSING: Action.PASS,
        Situation.RENAMED: Action.PASS,
    }


def test_choices_that_contradict_each_other_are_refused():
    with pytest.raises(pytest.UsageError, match="new is to fail and to pass; say it once"):
        read_policy(["new=fail", "new=pass"], source="--harness-policy")


@pytest.mark.parametrize("text", ["new", "=fail", "neu=fail", "new=FAIL", "new=fail=fail"])
def test_what_is_no_choice_is_refused_in_one_line(text):
    with pytest.raises(pytest.UsageError) as raised:
        read_policy([text], source="--harness-policy")
    assert "\n" not in str(raised.value)
