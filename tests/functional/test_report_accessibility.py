"""Reports under axe-core, in light and dark, everything unfolded, with their own policy in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import example_runs
import pytest
from browsing import NEEDS_BROWSER, OPEN_ALL, Visit, a_browser

from harness.model.verdict import Run
from harness.report.html import render_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

base = pytest.importorskip(
    "axe_playwright_python.base", reason="install with: pip install -e '.[test]'"
)

pytestmark = NEEDS_BROWSER

SERIOUS = """
([options]) => axe.run(document, {...options, resultTypes: ['violations']}).then(({violations}) => violations
    .filter(found => ['serious', 'critical'].includes(found.impact))
    .flatMap(found => found.nodes.map(node => `${found.id}: ${node.html.slice(0, 160)}`)))
"""
CONTRAST = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules that a colour scheme can break."""

ALL_BUT_CONTRAST = {"rules": {"color-contrast": {"enabled": False}}}

PAGES: dict[str, Callable[[], Run]] = {
    "passed": example_runs.passed,
    "failed": partial(example_runs.failed, "<b>foreign</b>"),
    "inconclusive": example_runs.inconclusive,
    "comparison": partial(example_runs.comparison, "<b>foreign</b>"),
}
"""What is foreign is short: axe measures the contrast of every line of it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as launched:
        yield launched


@contextmanager
def visited(browser: Browser, folder: Path, text: str, *, width: int = 1280) -> Iterator[Page]:
    """The page unfolded, with axe in it: the debugger may run what the page's own policy would not."""
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    page = Visit(browser, path, viewport={"width": width, "height": 900}).page
    page.evaluate(OPEN_ALL)
    page.evaluate(base.AXE_SCRIPT)
    yield page
    page.close()


def serious(page: Page, **options: object) -> list[str]:
    found = page.evaluate(SERIOUS, [options])
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_no_reader_is_shut_out_in_light_or_dark(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    with visited(browser, tmp_path, render_html(PAGES[name]())) as page:
        assert serious(page) == []
        page.emulate_media(color_scheme="dark")
        assert serious(page, **CONTRAST) == []


def test_no_reader_of_a_phone_is_shut_out(browser: Browser, tmp_path: Path) -> None:
    text = render_html(PAGES["comparison"]())
    with visited(browser, tmp_path, text, width=360) as page:
        assert serious(page, **ALL_BUT_CONTRAST) == []


def test_what_shuts_readers_out_is_found(browser: Browser, tmp_path: Path) -> None:
    text = render_html(PAGES["inconclusive"]())
    nameless = text.replace('<label for="filter-text">', "<label>").replace("placeholder=", "list=")
    with visited(browser, tmp_path, nameless) as page:
        page.evaluate("document.querySelector('h1').style.color = '#ccc'")
        found = serious(page, runOnly=["label", "color-contrast"])
    assert {each.partition(":")[0] for each in found} == {"label", "color-contrast"}
