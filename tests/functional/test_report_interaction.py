"""What the script of a report does in a real browser: sorting, filtering, links, tooltips, copying."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import NEEDS_BROWSER, Visit, a_browser
from builders import a_defective_record, a_kernel, a_record, a_run, a_trace, a_verdict
from example_runs import HOSTILE, comparison, failed

from harness.report.html import render_html
from harness.session.timeline import timeline_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = NEEDS_BROWSER

DESK = {"width": 1280, "height": 900}
ROWS = "table.cases tbody tr:not(.group)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compared") / "report.html"
    path.write_text(render_html(comparison()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixed") / "report.html"
    path.write_text(render_html(failed()), encoding="utf-8")
    return path


@pytest.fixture
def open_page(browser: Browser) -> Iterator[list[Visit]]:
    """Visits that must have been silent to their end."""
    visits: list[Visit] = []
    yield visits
    for visit in visits:
        assert visit.said == []
        visit.page.close()


@pytest.fixture
def page(browser: Browser, compared: Path, open_page: list[Visit]) -> Page:
    open_page.append(Visit(browser, compared, viewport=DESK))
    return open_page[0].page


def shown(page: Page) -> list[str]:
    links = page.locator(f"{ROWS}:not([hidden]) th a:not(.anchor)")
    return [text[:6] for text in links.all_inner_texts()]


def fragment(page: Page) -> str:
    found = page.evaluate("location.hash")
    assert isinstance(found, str)
    return found


def test_cases_sort_by_ratio_with_the_keyboard_and_back(page: Page) -> None:
    as_it_was = shown(page)
    page.focus("th.of-ratio button")
    page.keyboard.press("Enter")
    assert shown(page) == [HOSTILE[:6], "slower", "open", "same", "faster", "new"]
    assert page.get_attribute("th.of-ratio", "aria-sort") == "descending"
    assert page.locator("table.cases tr.group").count() == 0
    assert (
        "mlp" in page.locator(f"{ROWS} >> nth=4").inner_text()
    )  # its workload, now that groups are gone
    page.keyboard.press("Enter")
    assert shown(page) == ["faster", "same", "open", "slower", HOSTILE[:6], "new"]
    page.keyboard.press("Enter")
    assert shown(page) == as_it_was
    assert page.get_attribute("th.of-ratio", "aria-sort") == "none"
    assert page.locator("table.cases tr.group").count() == 2


def test_every_column_sorts_and_what_has_no_figure_comes_last_both_ways(
    browser: Browser, mixed: Path, open_page: list[Visit]
) -> None:
    open_page.append(Visit(browser, mixed, viewport=DESK))
    page = open_page[0].page
    headings = page.locator("table.cases thead th")
    for heading in headings.all():
        column = (heading.get_attribute("class") or "").removeprefix("of-").replace("-", " ")
        ends = []
        for _ in range(2):
            heading.get_by_role("button").click()
            assert heading.get_attribute("aria-sort") != "none"
            figures = page.locator(f"{ROWS} > [data-label='{column}']").evaluate_all(
                "cells => cells.map(cell => cell.dataset.by ?? null)"
            )
            known = [float(figure) for figure in figures if figure is not None]
            assert figures[: len(known)].count(None) == 0
            assert known in (sorted(known), sorted(known, reverse=True))
            ends.append(known)
        assert ends[0] == ends[1][::-1]
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == "none"


def test_sorting_is_stable(page: Page) -> None:
    before = [name for name in shown(page) if name in ("slower", "open", "same")]
    page.click("th.of-baseline button")  # all took as long
    after = [name for name in shown(page) if name in ("slower", "open", "same")]
    assert after == before


def test_filtering_by_text_tells_how_many_are_left_and_where(page: Page) -> None:
    page.fill("#filter-text", "MLP fast")
    assert shown(page) == ["faster"]
    assert page.locator(".shown").inner_text() == "1 of 6 cases shown"
    assert page.locator("table.cases tr.group:visible").count() == 1
    page.fill("#filter-text", "float32")  # a parameter of all, said once per workload
    assert len(shown(page)) == 6
    page.fill("#filter-text", "no such case")
    assert shown(page) == []
    page.get_by_role("button", name="show all").click()
    assert len(shown(page)) == 6
    assert fragment(page) == "#cases"


def test_a_parameter_set_otherwise_hides_that_of_the_workload(
    browser: Browser, mixed: Path, open_page: list[Visit]
) -> None:
    open_page.append(Visit(browser, mixed, viewport=DESK))
    page = open_page[0].page
    page.fill("#filter-text", "dtype bfloat16")
    assert set(shown(page)) == {"wrong", "everyt", "accept"}
    page.fill("#filter-text", "waived")
    assert shown(page) == ["accept"]


def test_filtering_by_outcome_adds_up_and_counts(page: Page) -> None:
    page.get_by_label("2 failed").check()
    assert shown(page) == [HOSTILE[:6], "slower"]
    page.get_by_label("2 inconclusive").check()
    assert len(shown(page)) == 4
    assert fragment(page) == "#cases?show=failed.inconclusive"
    page.get_by_label("2 failed").uncheck()
    page.get_by_label("2 inconclusive").uncheck()
    assert len(shown(page)) == 6


def test_a_view_can_be_linked_and_comes_back_as_it_was(
    browser: Browser, compared: Path, open_page: list[Visit]
) -> None:
    link = "#cases?text=softmax&show=failed.passed&sort=ratio.ascending"
    open_page.append(Visit(browser, compared, viewport=DESK, fragment=link))
    page = open_page[0].page
    assert shown(page) == ["same", "slower", HOSTILE[:6]]
    assert page.input_value("#filter-text") == "softmax"
    assert page.get_by_label("2 failed").is_checked()
    assert page.get_attribute("th.of-ratio", "aria-sort") == "ascending"
    page.click("th.of-case button")
    assert fragment(page).endswith("&sort=case.ascending")


@pytest.mark.parametrize(
    "link", ["#cases?show=%3Cimg%3E&sort=toString.descending&text=%", "#%", "#row-none", "#cases?"]
)
def test_a_link_that_means_nothing_shows_everything(
    browser: Browser, compared: Path, open_page: list[Visit], link: str
) -> None:
    open_page.append(Visit(browser, compared, viewport=DESK, fragment=link))
    page = open_page[0].page
    page.fill("#filter-text", "")
    assert len(shown(page)) == 6
    assert page.locator("table.cases tr.group").count() == 2


def test_every_row_has_an_address_that_shows_it_though_it_was_filtered_away(page: Page) -> None:
    page.fill("#filter-text", "faster")
    page.evaluate("location.hash = '#row-softmax-cross-entropy-slower'")
    page.wait_for_function("!document.getElementById('row-softmax-cross-entropy-slower').hidden")
    address = page.locator("#row-softmax-cross-entropy-slower .anchor")
    assert address.get_attribute("aria-label") == "address of softmax_cross_entropy slower"
    address.click()
    assert fragment(page) == "#row-softmax-cross-entropy-slower"


def test_a_link_unfolds_the_section_of_its_case(page: Page) -> None:
    section = page.locator("#case-mlp-faster")
    assert not section.is_visible()
    page.get_by_role("link", name="faster", exact=True).click()
    section.wait_for(state="visible")


def test_a_tooltip_comes_by_keyboard_describes_and_goes_with_escape(page: Page) -> None:
    tip = page.get_by_role("tooltip")
    flag = page.locator(".flag").first
    assert not tip.is_visible()
    flag.focus()
    assert tip.inner_text() == "timed 4 values: too few for an interval to be trusted"
    assert flag.get_attribute("aria-describedby") == "tip"
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    assert flag.get_attribute("aria-describedby") is None


def test_a_tooltip_comes_by_pointer_stays_while_pointed_at_and_goes_after(page: Page) -> None:
    tip = page.get_by_role("tooltip")
    page.locator(".flag").last.hover()
    assert tip.is_visible()
    box = tip.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] + 4, steps=4)
    page.mouse.move(0, 0)
    tip.wait_for(state="hidden")


@pytest.mark.parametrize("width", [360, 1280])
def test_a_tooltip_stays_within_the_window_however_long(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 300})
    flag = page.locator(".flag").first
    flag.evaluate("flag => { flag.dataset.tip = 'word '.repeat(120); }")
    flag.focus()
    box = page.get_by_role("tooltip").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] >= 0


def test_a_command_is_copied(browser: Browser, mixed: Path) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(mixed.as_uri())
    page.get_by_role("button", name="copy: commands").click()
    page.get_by_text("copied").first.wait_for()
    assert "git checkout 0123456789abcdef\nharness run" in page.evaluate(
        "navigator.clipboard.readText()"
    )
    context.close()


def test_where_there_is_no_clipboard_the_command_is_selected(page: Page) -> None:
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="copy: commands").click()
    assert page.evaluate("String(getSelection())") == "git checkout 0123456789abcdef\nharness run"
    assert page.get_by_text("press Ctrl+C").count() == 2  # on the button, and said aloud


def test_a_timeline_is_one_stop_from_which_arrow_keys_lead_on(
    browser: Browser, tmp_path: Path
) -> None:
    timeline = timeline_of(a_trace(*(a_kernel(api=f"kernel_{n}") for n in range(3))))
    sides = [replace(record, timeline=timeline) for record in (a_record(), a_defective_record())]
    verdict = a_verdict(traffic=sides[0], controls=(sides[1],))
    file = tmp_path / "timeline.html"
    file.write_text(render_html(a_run(verdict)), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    plane = page.locator(".tl-plane").first
    plane.locator("[tabindex='0']").focus()
    told = page.get_by_role("tooltip")
    for key, name in (("ArrowRight", 1), ("End", 2), ("ArrowDown", 2), ("ArrowUp", 1), ("Home", 0)):
        page.keyboard.press(key)
        assert f"kernel_{name}" in told.inner_text()
        assert plane.locator("[tabindex='0']").count() == 1
    page.close()
