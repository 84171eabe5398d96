"""Lines that fit a terminal, whatever they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.layout import Line, Span, cell_width, fitted, sentence, wrapped

WORDS = st.lists(st.text("ab世e\u0301", min_size=1, max_size=12), min_size=1, max_size=30)


def texts(line: Line, width: int | None) -> list[str]:
    return [part.text for part in wrapped(line, width)]


def test_a_line_that_may_not_be_wrapped_never_is() -> None:
    line = Line((Span("x " * 100),))
    assert texts(line, 40) == [line.text]


def test_without_a_width_nothing_is_wrapped() -> None:
    line = sentence("  ", "x " * 100)
    assert texts(line, None) == [line.text]


def test_the_styles_before_a_sentence_stay_on_its_first_line() -> None:
    line = Line((Span("✗", "red"), Span("  "), Span("one two three four five six seven")), 3)
    first, second = wrapped(line, 27)
    assert first.spans[0] == Span("✗", "red")
    assert (first.text, second.text) == ("✗  one two three four five", "   six seven")


def test_in_too_few_columns_a_sentence_is_left_to_the_terminal() -> None:
    line = sentence("     evidence  ", "one two three four")
    assert texts(line, 20) == [line.text]


def test_blanks_within_a_sentence_are_kept_where_it_is_not_broken() -> None:
    assert texts(sentence("", "0 D2H   (because it stays there for good)"), 30) == [
        "0 D2H   (because it stays",
        "there for good)",
    ]


@given(WORDS, st.integers(min_value=30, max_value=80))
def test_no_word_is_lost_or_broken_and_no_line_is_too_wide(words: list[str], width: int) -> None:
    parts = texts(sentence("    ", " ".join(words)), width)
    assert " ".join(" ".join(parts).split()) == " ".join(words)
    assert all(cell_width(part) <= width for part in parts)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("short", "short     "),
        ("exactly-10", "exactly-10"),
        ("rather-too-long", "rather…ong"),
        ("世界世界世界", "世界世…界 "),
    ],
)
def test_a_name_is_filled_or_cut_to_its_column(text: str, found: str) -> None:
    assert fitted(text, 10) == found
    assert cell_width(found) == 10
