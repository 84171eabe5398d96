"""The report in a real browser: silent, offline, readable on a phone and in the dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import FIRST_PAINT, NEEDS_BROWSER, OPEN_ALL, WIDTH, Visit, a_browser
from builders import a_run
from example_runs import EXAMPLES, a_green_case

from harness.report.html import render_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every example as a page."""
    folder = tmp_path_factory.mktemp("reports")
    for name, make in EXAMPLES.items():
        (folder / f"{name}.html").write_text(render_html(make()), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_says_nothing_asks_for_nothing_and_fits_a_phone(
    browser: Browser, folder: Path, name: str
) -> None:
    path = folder / f"{name}.html"
    visit = Visit(browser, path, viewport={"width": 360, "height": 740})
    visit.page.evaluate(OPEN_ALL)
    wide = visit.page.evaluate("""
        [...document.querySelectorAll('section, header, nav')].filter(
            part => part.scrollWidth > innerWidth).map(part => part.id || part.tagName)""")
    assert wide == []
    assert visit.page.evaluate(WIDTH) == 360
    assert visit.said == []
    assert [url for url in visit.requests if not url.startswith("data:")] == [path.as_uri()]
    visit.page.close()


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    return folder / "failed.html"


@pytest.fixture(scope="module")
def phone(browser: Browser, report: Path) -> Visit:
    return Visit(browser, report, viewport={"width": 360, "height": 740})


def test_the_verdict_is_on_the_first_screen_of_a_phone(phone: Visit) -> None:
    bottom = phone.page.evaluate("document.querySelector('.tiles').getBoundingClientRect().bottom")
    assert bottom < 740


def test_tables_that_become_cards_are_still_tables_to_a_screen_reader(phone: Visit) -> None:
    rows = phone.page.get_by_role("table", name="Every case").get_by_role("row")
    assert rows.count() == 9  # the headings, two workloads, six cases
    assert rows.nth(1).get_by_role("rowheader", name="softmax_cross_entropy").count() == 1
    assert rows.nth(3).get_by_role("cell").count() == 5  # of seven, two are empty


def test_the_navigation_of_a_phone_wraps_and_stays_out_of_the_way(phone: Visit) -> None:
    box = "document.querySelector('nav .inner')"
    assert phone.page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
    assert (
        phone.page.evaluate("getComputedStyle(document.querySelector('nav')).position") == "static"
    )


def test_the_dark_scheme_is_dark_and_legible(browser: Browser, report: Path) -> None:
    page = Visit(browser, report, color_scheme="dark").page
    channels = "[...getComputedStyle(document.body).{}.matchAll(/\\d+/g)].map(Number)"
    assert max(page.evaluate(channels.format("backgroundColor"))) < 60
    assert min(page.evaluate(channels.format("color"))) > 180


@pytest.fixture(scope="module")
def green(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    path = tmp_path_factory.mktemp("green") / "report.html"
    path.write_text(render_html(a_run(*map(a_green_case, range(33)))), encoding="utf-8")
    return Visit(browser, path, viewport={"width": 1440, "height": 900})


def test_a_full_run_that_passed_fits_about_two_screens(green: Visit) -> None:
    height = green.page.evaluate("document.querySelector('#cases').getBoundingClientRect().height")
    assert height < 2.1 * 900


@pytest.mark.parametrize("width", [1920, 1440, 1200, 970, 800, 480, 360, 280])
def test_no_cell_reaches_into_its_neighbour_at_any_width(green: Visit, width: int) -> None:
    green.page.set_viewport_size({"width": width, "height": 900})
    beyond = green.page.evaluate("""
        [...document.querySelectorAll('.cases td')].filter(cell => {
            const end = cell.getBoundingClientRect().right + 1;
            return [...cell.querySelectorAll(':not(.hidden)')].some(
                part => part.getBoundingClientRect().right > end);
        }).length""")
    assert beyond == 0
    assert green.page.evaluate("document.documentElement.scrollWidth") == width


def test_a_link_opens_its_case_among_many_that_are_folded_together(green: Visit) -> None:
    section = green.page.locator("#case-softmax-cross-entropy-4096x1000-bfloat16-7")
    assert not section.is_visible()
    green.page.get_by_role("link", name="4096x1000-bfloat16-7", exact=True).click()
    section.wait_for(state="visible")


def test_cases_stay_folded_on_paper_unless_somebody_opened_them(green: Visit) -> None:
    green.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = false)")
    green.page.emulate_media(media="print")
    section = "document.querySelector('#case-softmax-cross-entropy-4096x1000-bfloat16-8')"
    assert not green.page.evaluate(f"{section}.checkVisibility({{contentVisibilityAuto: true}})")
    green.page.evaluate(f"{section}.closest('.fold').open = true")
    green.page.evaluate(f"{section}.closest('.case').open = true")
    assert green.page.evaluate(f"{section}.checkVisibility()")


@pytest.mark.parametrize("name", ["passed", "failed", "comparison"])
def test_paper_has_all_of_it_and_nothing_is_cut_off_at_its_side(
    browser: Browser, folder: Path, name: str
) -> None:
    page = Visit(browser, folder / f"{name}.html", viewport={"width": 688, "height": 1000}).page
    page.emulate_media(media="print")
    cut_off = page.evaluate("""
        [...document.querySelectorAll('main *')].filter(part => {
            const box = part.getBoundingClientRect();
            return box.width > 1 && box.right > innerWidth + 1;
        }).map(part => part.outerHTML.slice(0, 80))""")
    assert cut_off == []
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")
    assert paper.count(b"/Type /Page\n") >= 2
    page.close()


def test_printing_unfolds_what_is_folded_beside_the_cases_and_folds_it_again(
    browser: Browser, folder: Path
) -> None:
    page = Visit(browser, folder / "passed.html", viewport={"width": 688, "height": 1000}).page
    folded = "document.querySelector('details:not(.case, .fold)').open"
    shown = "document.querySelector('.first-call .traffic').checkVisibility()"
    assert not page.evaluate(shown)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(folded)
    assert page.evaluate("document.querySelectorAll('.case[open]').length") == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate(folded)
    page.emulate_media(media="print")
    assert page.evaluate(shown)  # also where no script ran
    page.close()


def test_a_page_whose_scripts_are_forbidden_shows_all_its_text(
    browser: Browser, folder: Path
) -> None:
    page = Visit(browser, folder / "passed.html", java_script_enabled=False).page
    assert page.locator("tr[id^=row-]").count() == 8
    assert not page.locator(".filter").is_visible()
    assert page.get_by_text("git checkout").is_visible()
    page.get_by_role("link", name="4096x1000-bfloat16-7", exact=True).click()
    page.locator("#case-softmax-cross-entropy-4096x1000-bfloat16-7").wait_for(state="visible")
    page.close()


def test_a_thousand_cases_are_painted_long_before_a_reader_gives_up(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_html(a_run(*map(a_green_case, range(1000)))), encoding="utf-8")
    visit = Visit(browser, path, viewport={"width": 1280, "height": 900})
    painted_ms = visit.page.evaluate(FIRST_PAINT)
    assert 0 < painted_ms < 20_000  # 0.6 s on one idle core
    visit.page.fill("#filter-text", "bfloat16-99")
    assert visit.page.locator(".shown").inner_text() == "11 of 1,000 cases shown"
    visit.page.close()
