"""The report in a real browser: silent, offline, readable on a phone and in the dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_limit,
    a_record,
    a_run,
    a_sample,
    a_self_check,
    a_verdict,
    an_estimate,
)

from harness.model.budget import WHOLE_RUN, Quantity
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.verdict import Run, Verdict
from harness.report.html import render_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="install with: pip install -e '.[test]'"
)

CHROMIUM = Path("/usr/bin/chromium")
HOSTILE = "</script><img src=http://example.invalid/x onerror=alert(1)>\u202e" + "x" * 10_000

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"no {CHROMIUM}; install with: apt-get install chromium"
    ),
]


def a_run_of_everything() -> Run:
    good = a_verdict(
        a_check(summary="loss 0.12 of the allowed error; dx 0.31 of the allowed error"),
        traffic=a_record(first_call={WHOLE_RUN: TrafficCounts(h2d=3, h2d_bytes=12, syncs=2)}),
        controls=(a_defective_record(),),
        sample=a_sample(),
        call_time=an_estimate(),
        throughput=Throughput(unit="samples", units_per_call=4096, bytes_per_call=49_152_000),
    )
    bad = a_verdict(a_failed_traffic_check(), case="bad", traffic=a_defective_record(label="bad"))
    open_ = a_check(
        check="traffic", outcome=Outcome.INCONCLUSIVE, summary=HOSTILE, details=(HOSTILE,)
    )
    hostile = a_verdict(
        open_,
        workload=HOSTILE,
        case=HOSTILE,
        parameters={HOSTILE: HOSTILE},
        traffic=a_record(label=HOSTILE),
    )
    checked = (
        a_self_check(),
        a_self_check(key=HOSTILE, outcome=Outcome.INCONCLUSIVE, next_step=HOSTILE, device=HOSTILE),
    )
    return a_run(
        good,
        bad,
        hostile,
        command=f"harness run {HOSTILE}",
        notes=(HOSTILE,),
        copy_bandwidth=a_copy_bandwidth(),
        self_checks=checked,
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield launched
        launched.close()


class Visit:
    """A page opened once, with everything it said and asked for."""

    def __init__(self, browser: Browser, path: Path, **context: Any) -> None:
        self.page = browser.new_page(**context)
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(a_run_of_everything()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def phone(browser: Browser, report: Path) -> Visit:
    return Visit(browser, report, viewport={"width": 360, "height": 740})


def test_the_page_says_nothing_and_asks_for_nothing_but_itself(phone: Visit, report: Path) -> None:
    assert phone.said == []
    assert [url for url in phone.requests if not url.startswith("data:")] == [report.as_uri()]


def test_the_page_never_scrolls_sideways_on_a_phone(phone: Visit) -> None:
    phone.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert phone.page.evaluate("document.documentElement.scrollWidth") == 360


def test_the_verdict_is_on_the_first_screen_of_a_phone(phone: Visit) -> None:
    bottom = phone.page.evaluate("document.querySelector('.tiles').getBoundingClientRect().bottom")
    assert bottom < 740


def test_tables_that_become_cards_are_still_tables_to_a_screen_reader(phone: Visit) -> None:
    rows = phone.page.get_by_role("table", name="Every case").get_by_role("row")
    assert rows.count() == 6  # the headings, two workloads, three cases
    assert rows.nth(1).get_by_role("rowheader", name="softmax_cross_entropy").count() == 1
    assert rows.nth(3).get_by_role("cell").count() == 4


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


def test_a_link_opens_the_section_of_its_case(browser: Browser, report: Path) -> None:
    page = Visit(browser, report).page
    section = page.locator("#case-softmax-cross-entropy-4096x1000-float32")
    assert not section.is_visible()
    page.get_by_role("link", name="4096x1000-float32").first.click()
    section.wait_for(state="visible")


def a_green_case(number: int) -> Verdict:
    everything = tuple(
        a_limit(quantity=quantity) for quantity in (Quantity.D2H, Quantity.H2D, Quantity.SYNCS)
    )
    return a_verdict(
        a_check(summary="loss 0.07 of the allowed error; gradient 0.94 of the allowed error"),
        a_check(check="gradients", summary="gradient of x: agrees with the loss (slope 0.1)"),
        case=f"4096x1000-bfloat16-{number}",
        parameters={"shape": f"4096x{1000 + number}", "dtype": "bfloat16", "layout": "contiguous"},
        traffic=a_record(limits={"forward": everything, WHOLE_RUN: everything}),
        call_time=an_estimate(value=935.3e3, low=754.4e3, high=1.92e6),
        throughput=Throughput(unit="samples", units_per_call=4096, bytes_per_call=49_152_000),
    )


@pytest.fixture(scope="module")
def green(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    path = tmp_path_factory.mktemp("green") / "report.html"
    path.write_text(render_html(a_run(*map(a_green_case, range(33)))), encoding="utf-8")
    return Visit(browser, path, viewport={"width": 1440, "height": 900})


def test_a_full_run_that_passed_fits_about_two_screens(green: Visit) -> None:
    height = green.page.evaluate("document.querySelector('#cases').getBoundingClientRect().height")
    assert height < 2 * 900


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


def test_printing_unfolds_the_cold_call_and_drops_nothing_at_the_side(
    browser: Browser, report: Path
) -> None:
    page = Visit(browser, report, viewport={"width": 688, "height": 1000}).page
    shown = "document.querySelector('.first-call .traffic').checkVisibility()"
    assert not page.evaluate(shown)
    page.emulate_media(media="print")
    assert page.evaluate(shown)
    assert page.evaluate("document.documentElement.scrollWidth") == 688
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.fixture(scope="module")
def comparison(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    path = tmp_path_factory.mktemp("comparison") / "report.html"
    run = a_run(
        a_compared_verdict(case="same", change=a_change(ratio=1.0), outcome=Outcome.PASSED),
        a_compared_verdict(case="slower"),
        a_compared_verdict(case="faster", workload="mlp", change=a_change(ratio=0.9)),
        a_compared_verdict(case=HOSTILE, change=a_change(ratio=1.5, against=HOSTILE)),
        a_verdict(case="new"),
        baseline="main",
        paired_with=HOSTILE,
    )
    path.write_text(render_html(run), encoding="utf-8")
    return Visit(browser, path, viewport={"width": 360, "height": 740})


def test_cases_sort_by_ratio_with_the_keyboard_and_back(comparison: Visit) -> None:
    page = comparison.page

    def order() -> list[str]:
        rows = page.locator("table.cases tbody tr:not(.group) th a")
        return [text[:6] for text in rows.all_inner_texts()]

    as_it_was = order()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.focus("th.of-ratio button")
    page.keyboard.press("Enter")
    assert order() == [HOSTILE[:6], "slower", "same", "faster", "new"]
    assert page.get_attribute("th.of-ratio", "aria-sort") == "descending"
    assert page.locator("table.cases tr.group").count() == 0
    page.keyboard.press("Enter")
    assert order() == ["faster", "same", "slower", HOSTILE[:6], "new"]
    page.keyboard.press("Enter")
    assert order() == as_it_was
    assert page.locator("table.cases tr.group").count() == 2
    assert comparison.said == []


def test_a_comparison_fits_a_phone(comparison: Visit) -> None:
    comparison.page.set_viewport_size({"width": 360, "height": 740})
    assert comparison.page.evaluate("document.documentElement.scrollWidth") == 360
