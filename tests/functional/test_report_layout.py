"""Every text of every kind of page can be read: on a phone, a tablet and a desk nothing is cut off, covered or pale."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import example_runs
import pytest
from browsing import NEEDS_BROWSER, OPEN_ALL, WIDTH, Visit, a_browser
from builders import (
    a_check,
    a_defective_record,
    a_failed_traffic_check,
    a_run,
    a_training,
    a_verdict,
)

from harness.model.training import Stage, StageTimes
from harness.model.verdict import Run
from harness.report.html import render_html
from harness.report.matrix_html import render_matrix

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = NEEDS_BROWSER

GALLERY = sorted((Path(__file__).resolve().parents[2] / "docs/examples").glob("*.html"))

WIDTHS = (360, 400, 768, 1280)

FAULTS = """() => {
    const found = [];
    const say = (fault, part) =>
        found.push(`${fault}: ${part.localName}.${part.getAttribute('class')} ${part.textContent.trim().slice(0, 60)}`);
    // a timeline of many events is as wide as they need, and is moved under its window
    const moved = (part) => part.querySelector(':scope > .tl-pictures');
    const clips = (part) => getComputedStyle(part).overflowX !== 'visible' && getComputedStyle(part).display !== 'inline';
    const left_to_itself = 'title, script, style, .hidden, [hidden], .hidden *';
    const unseen = (part) => part.matches(left_to_itself) || getComputedStyle(part).clipPath !== 'none';

    for (const part of document.querySelectorAll('body *')) {
        const wide = part.scrollWidth > part.clientWidth + 1;
        if (wide && part.clientWidth && clips(part) && !part.closest('svg') && !unseen(part) && !moved(part))
            say('scrolls', part);
    }

    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const part = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || !part.checkVisibility({contentVisibilityAuto: true})) continue;
        const around = [];
        for (let each = part; each !== document.body; each = each.parentElement) around.push(each);
        if (around.some(unseen)) continue;
        if (parseFloat(getComputedStyle(part).fontSize) < 10) say('tiny', part);
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        for (const line of range.getClientRects()) {
            const seen = {left: line.left, right: line.right, top: line.top, bottom: line.bottom, part};
            let under_a_window = false;
            for (const each of around) {
                const box = each.getBoundingClientRect();
                const held = each.matches('p, td, th, li, dt, dd, figure, pre, section') && !part.closest('svg');
                under_a_window ||= moved(each);
                if ((clips(each) || held) && !under_a_window && (line.right > box.right + 1.5 || line.left < box.left - 1.5)) {
                    say(`beyond its ${each.localName}`, part);
                    break;
                }
                if (!clips(each)) continue;
                seen.left = Math.max(seen.left, box.left), seen.right = Math.min(seen.right, box.right);
                seen.top = Math.max(seen.top, box.top), seen.bottom = Math.min(seen.bottom, box.bottom);
            }
            if (!under_a_window && (line.right > innerWidth + .5 || line.left < -.5)) say('off the page', part);
            if (seen.right > seen.left && seen.bottom > seen.top && !part.closest('nav')) texts.push(seen);
        }
    }

    texts.sort((one, other) => one.top - other.top);
    texts.forEach((one, index) => {
        for (let next = index + 1; next < texts.length && texts[next].top < one.bottom - 3; next++) {
            const other = texts[next];
            const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
            if (one.part !== other.part && across > 1 && Math.min(one.bottom, other.bottom) - other.top > 3) {
                say('lies on another', one.part);
                say('  the other', other.part);
            }
        }
    });
    return [...new Set(found)];
}"""
"""What a reader cannot read of an unfolded page, in words. A hiding ``thead`` of cards is for screen readers."""

PALE = """() => {
    const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [red, green, blue] = channels(colour).map(
            each => (each /= 255) <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4);
        return .2126 * red + .7152 * green + .0722 * blue;
    };
    const ground = (part) => {
        const colour = getComputedStyle(part).backgroundColor;
        return channels(colour)[3] === 0 ? ground(part.parentElement) : colour;
    };
    const pale = [...document.querySelectorAll('svg text')].filter(text => {
        const [one, other] = [light(getComputedStyle(text).fill), light(ground(text))];
        return (Math.max(one, other) + .05) / (Math.min(one, other) + .05) < 4.5;
    });
    return [document.querySelectorAll('svg text').length, pale.map(text => text.textContent)];
}"""
"""How many texts the pictures have, and those whose contrast to the ground is under 4.5; axe looks at no picture."""


def trained() -> Run:
    """Records as the programs leave them: four loops with the ticket's figures, and names of real length."""
    stages = tuple(
        Stage(name=name, seconds=seconds, published_s=seconds / 40)
        for name, seconds in (("forward", 4.72), ("softmax", 441e-6), ("of which sgd", 0.671))
    )
    loop = partial(StageTimes, per_second=110.3, unit="images")
    labels = ("the ticket's loop, corrected op", "the ticket's loop, pre-fix op")
    loops = tuple(loop(label=label, stages=stages, syncs=325, reads=1) for label in labels)
    without_waits = loop(label="no waits, corrected op", stages=(), syncs=0, reads=0)
    resnet = a_training(program="resnet50", curves=(), timings=(*loops, without_waits))
    return replace(example_runs.passed(), training=(resnet, a_training(timings=())))


def in_pytest() -> Run:
    """Tests that failed and passed, under the names pytest gives them."""
    case = partial(a_verdict, workload="tests/ops/test_losses.py", parameters={}, sample=None)
    name = "test_the_loss_stays_on_the_device_whatever_the_reduction"
    return a_run(
        case(a_failed_traffic_check(), case=f"{name}[mean-4096]", traffic=a_defective_record()),
        case(a_check(check="test", summary="the test's own assertions hold"), case=f"{name}[sum]"),
        command=f"pytest -q --harness-report reports/losses.html tests/ops/test_losses.py::{name} --durations 20",
    )


def of_several() -> str:
    return render_matrix([example_runs.passed(), example_runs.failed("foreign"), in_pytest()])


def of(make: Callable[[], Run]) -> str:
    return render_html(make())


RUNS = {**example_runs.EXAMPLES, "trained": trained, "in_pytest": in_pytest}
KINDS = {**{name: partial(of, make) for name, make in RUNS.items()}, "of_several": of_several}
"""What writes each kind of page."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind of page as this version writes it."""
    folder = tmp_path_factory.mktemp("pages")
    paths = {name: folder / f"{name}.html" for name in KINDS}
    for name, path in paths.items():
        path.write_text(KINDS[name](), encoding="utf-8")
    return paths


def unfolded(browser: Browser, path: Path, width: int) -> Page:
    page = Visit(browser, path, viewport={"width": width, "height": 900}).page
    page.evaluate(OPEN_ALL)
    return page


def unreadable(page: Page, width: int) -> list[str]:
    page.set_viewport_size({"width": width, "height": 900})
    found = page.evaluate(FAULTS)
    assert isinstance(found, list)
    return found if page.evaluate(WIDTH) == width else [*found, "the page is wider than its window"]


@pytest.mark.parametrize("name", KINDS)
def test_no_text_is_cut_off_or_covered_at_any_width(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    page = unfolded(browser, pages[name], 1280)
    assert {width: found for width in WIDTHS if (found := unreadable(page, width))} == {}
    page.close()


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_no_text_of_the_gallery_is_cut_off_or_covered_on_a_phone(
    browser: Browser, path: Path
) -> None:
    page = unfolded(browser, path, 360)
    assert unreadable(page, 360) == []
    page.close()


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        ("whiteSpace = 'nowrap'", "off the page: p.reason"),
        ("cssText = 'white-space: nowrap; overflow: hidden'", "scrolls: p.reason"),
        ("cssText = 'white-space: nowrap; overflow: hidden'", "beyond its p: p.reason"),
        ("fontSize = '8px'", "tiny: p.reason"),
        ("transform = 'translateY(-2rem)'", "lies on another: h1"),
        ("width = '400px'", "the page is wider"),
    ],
)
def test_what_cannot_be_read_is_found(
    browser: Browser, pages: dict[str, Path], spoil: str, fault: str
) -> None:
    page = unfolded(browser, pages["interrupted"], 360)
    page.evaluate(f"document.querySelector('.reason').style.{spoil}")
    assert [found for found in unreadable(page, 360) if found.startswith(fault)]
    page.close()


@pytest.mark.parametrize("name", ["trained", "comparison"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_words_in_pictures_stand_out_from_their_ground(
    browser: Browser, pages: dict[str, Path], name: str, scheme: str
) -> None:
    page = Visit(browser, pages[name], color_scheme=scheme).page
    page.evaluate(OPEN_ALL)
    number, pale = page.evaluate(PALE)
    assert (number > 5, pale) == (True, [])
    page.evaluate("document.querySelector('svg text').style.fill = '#777'")
    assert len(page.evaluate(PALE)[1]) == 1
    page.close()


def test_tables_that_become_cards_name_every_figure(
    browser: Browser, pages: dict[str, Path]
) -> None:
    page = unfolded(browser, pages["trained"], 360)
    nameless = page.evaluate("""
        [...document.querySelectorAll('table.cards')].flatMap(table => [...table.tBodies[0].rows].filter(row =>
            row.cells.length === table.tHead.rows[0].cells.length
            && [...row.cells].some((cell, column) => (cell.dataset.label ?? '')
                && cell.dataset.label !== table.tHead.rows[0].cells[column].textContent))
        ).map(row => row.textContent)""")
    assert nameless == []
    loops = page.get_by_role("table", name="one iteration").first
    assert loops.get_by_role("row").count() == 4
    assert loops.get_by_role("cell", name="throughput 110 images/s").count() == 3
    page.close()
