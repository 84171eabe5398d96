"""Summaries cut to a cell: at a clause or a word, the worst first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.view.brief import brief

RATIO = "{} of the allowed error"


def within(**ratios: str) -> str:
    return "; ".join(f"{name} {RATIO.format(ratio)}" for name, ratio in ratios.items())


def test_outputs_within_tolerance_are_told_worst_first_without_repeating_the_unit() -> None:
    assert brief(within(loss="0.07", gradient="0.09"), 30) == "gradient 0.09, loss 0.07"


def test_of_many_outputs_the_worst_stay_and_the_others_are_counted() -> None:
    summary = within(losses="0.01", w0="0.31", b0="0.00", w1="0.20", b1="0.00")
    assert brief(summary, 20) == "w0 0.31, w1 0.20; 3 more"
    assert brief(summary, 10) == "w0 0.31; 4 more"


def test_an_output_without_a_ratio_is_counted_among_the_others() -> None:
    summary = f"loss agrees (none of its 5 entries finite); {within(gradient='0.10')}"
    assert brief(summary, 30) == "gradient 0.10; 1 more"


def test_one_output_keeps_its_sentence() -> None:
    assert brief(within(loss="0.07"), 40) == "loss 0.07 of the allowed error"


def test_what_fits_is_left_alone() -> None:
    assert brief("loss: 1 of 1 entry wrong; and more", 40) == "loss: 1 of 1 entry wrong; and more"


def test_of_several_wrong_outputs_the_worst_is_told() -> None:
    wrong = "{}: 1 of 6 entries beyond tolerance, worst {} times the allowed 0.1 at [0]"
    summary = "; ".join(
        [wrong.format("w0", "2.5"), wrong.format("w1", "7.4e+05"), wrong.format("b", "30")]
    )
    assert brief(summary, 80) == f"worst: {wrong.format('w1', '7.4e+05')}; 2 more"


def test_thousands_are_read_as_such() -> None:
    wrong = "{}: 1 of 6 entries beyond tolerance, worst {} times the allowed 0.1 at [0]"
    summary = "; ".join([wrong.format("w0", "999"), wrong.format("w1", "1,220")])
    assert brief(summary, 80) == f"worst: {wrong.format('w1', '1,220')}; 1 more"


@pytest.mark.parametrize(
    "worse",
    [
        "b: 3 entries nan where a finite number was expected, first at [0]",
        "b: 1 of 6 entries beyond tolerance, worst beyond any multiple of the allowed 0 at [0]",
    ],
)
def test_what_has_no_ratio_at_all_is_worse_than_any_ratio(worse: str) -> None:
    summary = (
        f"a: 1 of 6 entries beyond tolerance, worst 9e+09 times the allowed 0.1 at [0]; {worse}"
    )
    assert brief(summary, 90).startswith(f"worst: {worse[:40]}")


def test_two_findings_about_one_output_are_one() -> None:
    summary = (
        "a: 1 of 6 entries beyond tolerance, worst 2 times the allowed 0.1 at [0]; "
        "2 entries nan where a finite number was expected, first at [1]; b: shape (3,) where (4,) was expected"
    )
    assert brief(summary, 100).endswith("; 1 more")


def test_a_sentence_without_outputs_ends_at_a_word() -> None:
    sentence = "the traffic was held against a budget that nobody has ever given a reason for"
    assert brief(sentence, 40) == "the traffic was held against a budget …"


@given(st.text(max_size=200), st.integers(min_value=1, max_value=60))
def test_no_text_breaks_it_and_none_comes_out_much_longer(summary: str, limit: int) -> None:
    found = brief(summary, limit)
    assert found == summary or len(found) <= limit + len("worst:  …; 999 more")
