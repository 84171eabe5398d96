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
from harness.report.embedding import ELEMENT, embed, extract, is_page
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
        (b"<!doctype html><p>hello</p>", "is a web page with no run in it"),
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


def test_a_small_page_cannot_unpack_into_a_large_memory() -> None:
    bomb = base64.b64encode(gzip.compress(b"0" * 10**7)).decode()
    with pytest.raises(FileFormatError, match="larger than 10,000 B"):
        extracted(a_page(bomb))


def test_a_page_is_told_from_a_run_file() -> None:
    assert is_page(b"\n<!DOCTYPE html>")
    assert not is_page(encode_run(a_run()))
