"""The run inside its page: small, found again, and refused when it is damaged."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest
from builders import a_record, a_run, a_verdict
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import FileFormatError
from harness.report.embedding import ELEMENT, embed, extract, extract_all, is_page
from harness.report.html import render_html
from harness.report.json import encode_run, read_run

PAGE = '<!doctype html>\n<script type="application/gzip" id="run-data">\n{}\n</script>'


def a_page(text: str) -> bytes:
    return PAGE.format(text).encode()


def extracted(page: bytes, *, largest: int = 10_000) -> bytes:
    return extract(page, source="report.html", largest=largest)


@given(st.binary(max_size=500))
def test_what_was_embedded_comes_out_again(data: bytes) -> None:
    assert extracted(a_page(embed(data))) == data


def test_the_same_run_always_gives_the_same_text() -> None:
    data = encode_run(a_run(a_verdict()))
    assert embed(data) == embed(data)


def test_nothing_embedded_can_end_the_element() -> None:
    assert "<" not in embed(b"</script>" * 50)


def test_the_element_is_named_as_documented() -> None:
    assert f'id="{ELEMENT}"' in PAGE


def test_a_run_is_read_back_from_its_page(tmp_path: Path) -> None:
    run = a_run(a_verdict(traffic=a_record()))
    path = tmp_path / "report.html"
    path.write_text(render_html(run), encoding="utf-8")
    assert read_run(path) == run


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (b"<!doctype html><p>hello</p>", "is a web page with no run of the harness in it"),
        (a_page(embed(b"x" * 99)[:-12]), "the run in this page is cut off"),
        (a_page(base64.b64encode(b"no gzip").decode()), "the run in this page is damaged"),
        (a_page("AAA"), "the run in this page is damaged"),
        (a_page(embed(b"0" * 10_001)), "the run in this page is larger than 10,000 B"),
    ],
)
def test_a_page_without_a_whole_run_is_refused_by_name(page: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=r"report\.html: ") as caught:
        extracted(page)
    assert problem in str(caught.value)
    assert "run.json" in str(caught.value)


def test_a_page_of_the_harness_that_was_cut_off_anywhere_is_told_as_that() -> None:
    page = render_html(a_run(a_verdict())).encode()
    for length in (400, len(page) // 3, page.index(b'id="run-data"') + 200, len(page) - 30):
        with pytest.raises(FileFormatError, match="this page of the harness is cut off"):
            extracted(page[:length])


def test_a_small_page_cannot_unpack_into_a_large_memory() -> None:
    bomb = base64.b64encode(gzip.compress(b"0" * 10**7)).decode()
    with pytest.raises(FileFormatError, match="larger than 10,000 B"):
        extracted(a_page(bomb))


def test_a_page_is_told_from_a_run_file() -> None:
    assert is_page(b"\n<!DOCTYPE html>")
    assert not is_page(encode_run(a_run()))


def a_page_of(*texts: str) -> bytes:
    elements = (
        f'<script type="application/gzip" id="run-data{f"-{n}" if n > 1 else ""}">\n{text}\n</script>'
        for n, text in enumerate(texts, start=1)
    )
    return ("<!doctype html>\n" + "\n".join(elements)).encode()


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=4))
def test_all_that_was_embedded_comes_out_in_order(runs: list[bytes]) -> None:
    page = a_page_of(*map(embed, runs))
    assert list(extract_all(page, source="report.html", largest=1_000)) == runs


def test_where_one_run_is_wanted_a_page_of_several_is_refused_with_their_number() -> None:
    with pytest.raises(FileFormatError, match=r"report\.html: holds 2 runs, where one is wanted"):
        extracted(a_page_of(embed(b"a"), embed(b"b")))


def test_one_damaged_run_among_several_is_no_run_less_without_a_word() -> None:
    page = a_page_of(embed(b"a"), embed(b"b" * 99)[:-12])
    with pytest.raises(FileFormatError, match="is cut off"):
        list(extract_all(page, source="report.html", largest=1_000))
