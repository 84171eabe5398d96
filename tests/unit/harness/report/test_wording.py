"""Foreign text is shown, never obeyed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.event import Site
from harness.report.wording import cut, encodable, shortened, site_text, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("4096x1000-float32", "4096x1000-float32"),
        ("שלום 世界 é", "שלום 世界 é"),
        ("nul\0", r"nul\x00"),
        ("two\nlines\r\n\ttab", r"two\nlines\r\n\ttab"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("line\u2028sep", r"line\u2028sep"),
        ("\udcff.py", r"\udcff.py"),
        ("</script><b>", "</script><b>"),
    ],
)
def test_what_would_hide_break_or_reorder_text_is_shown_as_its_escape(
    text: str, shown: str
) -> None:
    assert visible(text) == shown


@given(st.text(st.characters()))
def test_visible_text_is_one_line_any_encoder_takes_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert shown.encode().decode() == shown
    assert visible(shown) == shown


def test_a_short_label_is_left_alone() -> None:
    assert shortened("x" * 120) == "x" * 120


def test_a_long_label_keeps_both_ends_and_tells_its_length() -> None:
    label = shortened("head" + "x" * 10_000 + "tail")
    assert label.startswith("head")
    assert label.endswith("tail")
    assert "(10,008 characters)" in label
    assert len(label) < 160


def test_a_label_a_little_too_long_loses_its_middle() -> None:
    assert shortened("abcdefghij", limit=6) == "abcd…ij"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/work/project/ops/a.py", "ops/a.py:31 in forward"),
        ("/work/other/a.py", "/work/other/a.py:31 in forward"),
        ("/work/project-2/a.py", "/work/project-2/a.py:31 in forward"),
        ("ops/a.py", "ops/a.py:31 in forward"),
        ("<stdin>", "<stdin>:31 in forward"),
        ("/work/project/\0.py", r"\x00.py:31 in forward"),
    ],
)
def test_files_below_the_folder_are_shown_relative_to_it(file: str, shown: str) -> None:
    assert site_text(Site(file, 31, "forward"), relative_to=Path("/work/project")) == shown


def test_a_missing_site_says_so() -> None:
    assert site_text(None, relative_to=None) == "no Python line known"


def test_without_a_folder_files_are_shown_as_they_are() -> None:
    assert site_text(Site("/a/b.py", 1, "f"), relative_to=None) == "/a/b.py:1 in f"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "✓ é → 世"),
        ("latin-1", r"+ é -> \u4e16"),
        ("ascii", r"+ \xe9 -> \u4e16"),
    ],
)
def test_what_a_terminal_cannot_encode_is_replaced(encoding: str, shown: str) -> None:
    assert encodable("✓ é → 世", encoding) == shown


@pytest.mark.parametrize(
    ("text", "limit", "found"),
    [
        ("as it is", 8, "as it is"),
        ("b1 0.00 of the allowed error", 16, "b1 0.00 of the …"),
        ("agrees with the loss (slope 0.1, +- 1e-8)", 32, "agrees with the loss …"),
        ("loss: wrong; gradient: wrong too", 13, "loss: wrong …"),
        ("a/path/without/any/blank.py", 10, "a/path/wit …"),
    ],
)
def test_a_cut_ends_at_a_word_or_before_an_open_bracket(text: str, limit: int, found: str) -> None:
    assert cut(text, limit) == found
