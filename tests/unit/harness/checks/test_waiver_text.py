"""A file of waivers is read strictly: every slip is one line that names the file and the entry."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checks.waiver_text import parse_waivers
from harness.errors import FileFormatError, UsageError
from harness.model.waiver import Waiver
from harness.session.waiver_file import read_waivers

TODAY = date(2026, 11, 30)

ENTRY = {
    "case": '"softmax*/4096*"',
    "check": '"traffic"',
    "reason": '"cuBLAS copies its workspace"',
    "since": "2026-01-03",
    "until": "2026-12-31",
}


def an_entry(**changes: str | None) -> str:
    entry = {**ENTRY, **changes}
    lines = [f"{name} = {value}" for name, value in entry.items() if value is not None]
    return "\n".join(["[[waiver]]", *lines, ""])


def parsed(text: str) -> tuple[Waiver, ...]:
    return parse_waivers(text, source="w.toml", today=TODAY)


def test_a_file_is_read_in_its_order() -> None:
    first, second = parsed(an_entry() + an_entry(case='"mlp/*"', until=None))
    assert first == Waiver(
        case="softmax*/4096*",
        check="traffic",
        reason="cuBLAS copies its workspace",
        since="2026-01-03",
        until="2026-12-31",
    )
    assert (second.case, second.until) == ("mlp/*", "")


def test_a_file_without_waivers_is_no_error() -> None:
    assert parsed("") == parsed("# all gone\n") == ()


def test_a_reason_over_several_lines_becomes_one() -> None:
    (waiver,) = parsed(an_entry(reason='"""\nknown to\n  the vendor"""'))
    assert waiver.reason == "known to the vendor"


NAMED = r"^w\.toml, waiver 1 \('softmax\*/4096\*'\): "


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[waiver]\n", r"^w\.toml: is not TOML: .*at line 1"),
        ("[waiver]\n", r"^w\.toml: has a waiver that is no table; write \[\[waiver\]\]"),
        ("waiver = [1]\n", "a waiver that is no table"),
        ("[[waivers]]\n", r"unknown name 'waivers'; every entry is a \[\[waiver\]\]"),
        (
            an_entry(untill="2026-12-31"),
            f"{NAMED}has the unknown key 'untill'; did you mean 'until'",
        ),
        (an_entry(since=None), f"{NAMED}has no since; every waiver has case, check, reason, since"),
        (an_entry(case=None), r"^w\.toml, waiver 1: has no case"),
        (an_entry(case='" "'), "case is empty"),
        (an_entry(case="1"), "case is 1; write it as text, in quotes"),
        (an_entry(check='"trafic"'), f"{NAMED}check 'trafic' is unknown; did you mean 'traffic'"),
        (an_entry(check='"run"'), f"{NAMED}check 'run' cannot be waived: a crash"),
        (
            an_entry(check='"positive control"'),
            "cannot be waived: it says whether the checks can see",
        ),
        (an_entry(check='"interrupted"'), "cannot be waived: it belongs to the whole run"),
        (an_entry(reason='""'), f"{NAMED}reason is empty"),
        (an_entry(reason='" \\n "'), "reason is empty"),
        (an_entry(reason='"flaky one"'), "reason 'flaky one' has 9 characters, at least 10"),
        (an_entry(since='"2026-01-03"'), "since is '2026-01-03'; write a date without quotes"),
        (an_entry(since="2026-01-03T10:00:00"), "since is 2026-01-03 10:00:00; write a date"),
        (an_entry(since="2026-12-02"), "since is 2 December 2026, which lies in the future"),
        (an_entry(until="2026-01-02"), "until is 2 January 2026, before since, 3 January 2026"),
        (
            an_entry() + an_entry(reason='"another good reason"'),
            r"waiver 2 \('softmax\*/4096\*'\): waives the same case and check as waiver 1",
        ),
        (an_entry(case='"a\\nb\\u202ec"', check="1"), r"\('a\\nb\\u202ec'\): check is 1"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_file_and_the_entry(text, says) -> None:
    with pytest.raises(FileFormatError, match=says) as caught:
        parsed(text)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.exit_code == 2


def test_it_may_be_tomorrow_where_the_file_was_written() -> None:
    assert parsed(an_entry(since="2026-12-01"))[0].since == "2026-12-01"


def _refusal(text: str) -> str:
    """The line that refuses a text; empty where it is read."""
    try:
        parsed(text)
    except FileFormatError as error:
        return str(error)
    return ""


@given(
    st.one_of(st.text(), st.text(alphabet='[]waiver="\n# 2026-01:T').map("[[waiver]]\n".__add__))
)
def test_any_text_is_read_or_refused_in_one_line(text) -> None:
    assert _refusal(text).isprintable()


def test_text_that_nests_without_end_is_refused() -> None:
    with pytest.raises(FileFormatError, match="nests too deep"):
        parsed("a = " + "[" * 100_000)


def test_a_file_that_cannot_be_read_is_named(tmp_path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(UsageError, match=r"none\.toml' cannot be read: No such file"):
        read_waivers(missing, day=TODAY)
    with pytest.raises(UsageError, match="is no file; name a TOML file"):
        read_waivers(tmp_path, day=TODAY)
    missing.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_waivers(missing, day=TODAY)
    missing.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(UsageError, match="is larger than"):
        read_waivers(missing, day=TODAY)
    missing.write_text(an_entry(), "utf-8-sig")
    assert len(read_waivers(missing, day=TODAY)) == 1


@pytest.mark.parametrize(
    ("reason", "refused"),
    [
        ("." * 18, True),
        ("1234567890-1", True),
        ("#1234 a b c d", True),
        ("see issue #12", False),
        ("供应商会在十三点二修好它", False),
    ],
)
def test_a_reason_has_words(reason: str, refused: bool) -> None:
    text = f'[[waiver]]\ncase = "a/b"\ncheck = "traffic"\nreason = "{reason}"\nsince = 2026-01-03\n'
    if refused:
        with pytest.raises(FileFormatError, match="has no word; say why"):
            parse_waivers(text, source="w.toml", today=date(2026, 2, 1))
    else:
        assert parse_waivers(text, source="w.toml", today=date(2026, 2, 1))
