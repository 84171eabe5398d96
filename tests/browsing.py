"""Debian's Chromium, driven headless: pages opened from files, with everything they said and asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")

NEEDS_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM.exists(), reason=f"no {CHROMIUM}; install with: apt-get install chromium"
    ),
]

OPEN_ALL = "document.querySelectorAll('details').forEach(part => part.open = true)"
FIRST_PAINT = """new Promise(painted => new PerformanceObserver(seen => painted(seen.getEntries()[0].startTime))
    .observe({type: 'paint', buffered: true}))"""
"""Milliseconds from the beginning of the navigation until anything was drawn."""

WIDTH = "document.documentElement.scrollWidth"


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Skips the test where Playwright is not installed."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="install with: pip install -e '.[test]'"
    )
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield launched
        launched.close()


class Visit:
    """A page opened from its file under the policy it carries, with everything it said and asked for."""

    def __init__(self, browser: Browser, path: Path, *, fragment: str = "", **context: Any) -> None:
        self.page = browser.new_page(**context)
        self.page.set_default_timeout(10_000)
        self.said: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(f"{path.as_uri()}{fragment}")
