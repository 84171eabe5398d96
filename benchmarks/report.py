"""Pages of many cases beside a pytest-html page of as many tests: bytes, time to build, time until something is drawn.

The floor is the data alone: the run's JSON, compressed and in base64 as it is embedded. Pages are opened from files in a
fresh window of Debian's Chromium. Read the bytes anywhere, the times on an idle machine only.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rounds import machine, say

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # its builders of runs

from browsing import FIRST_PAINT, a_browser
from builders import a_change, a_compared_verdict, a_history, a_run
from example_runs import a_green_case

from harness.model.verdict import Run, Verdict
from harness.report.embedding import embed
from harness.report.html import render_html
from harness.report.json import encode_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_PEER = "pytest_html"

_READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def main() -> None:
    """Prints the table and what it was measured with."""
    options = _options()
    packages = [f"{name} {version(name)}" for name in ("jinja2", "playwright")]
    say(f"{machine()}; {', '.join(packages)}; medians of {options.repeat}")
    say(f"{'page':36}{'MB':>8}{'data MB':>9}{'build s':>9}{'first paint s':>15}{'ready s':>9}")
    with a_browser() as browser, tempfile.TemporaryDirectory() as folder:
        for name, make in _runs().items():
            run = make()
            seconds, page = _built(run, options.repeat)
            path = Path(folder) / "report.html"
            path.write_text(page, encoding="utf-8")
            data = len(embed(encode_run(run)))
            _row(name, path, data, seconds, _opened(browser, path, options.repeat))
        peer = _peer(Path(folder))
        if peer is None:
            say("pytest-html is not installed")
        else:
            name = f"pytest-html {version('pytest-html')}, 1,000 tests"
            _row(name, peer, None, None, _opened(browser, peer, options.repeat))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="medians of so many (default: 5)")
    return parser.parse_args()


def _runs() -> dict[str, Callable[[], Run]]:
    return {
        "no case": a_run,
        "33 cases that passed": lambda: a_run(*map(a_green_case, range(33))),
        "100 cases, 50 runs of history each": _with_history,
        "1,000 cases that passed": lambda: a_run(*map(a_green_case, range(1000))),
        "1,000 cases compared, 80 pairs each": lambda: a_run(
            *map(_compared, range(1000)), paired_with="main"
        ),
    }


def _with_history() -> Run:
    verdicts = [a_green_case(number) for number in range(100)]
    histories = (
        a_history(key=verdict.key, runs=50, change_at=place % 50 or None)
        for place, verdict in enumerate(verdicts)
    )
    return a_run(*verdicts, history=tuple(histories))


def _compared(number: int) -> Verdict:
    """No two of its times alike, so that nothing is saved by compression that a real run would not save."""
    drawn = random.Random(number)
    return a_compared_verdict(
        case=f"4096x{1000 + number}-float32",
        change=a_change(ratio=1 + number % 20 / 1000),
        ratios=tuple(drawn.gauss(1.0, 0.01) for _ in range(80)),
        process_starts=tuple(range(0, 80, 16)),
    )


def _built(run: Run, repeat: int) -> tuple[float, str]:
    seconds, page = [], ""
    for _ in range(repeat):
        start = time.perf_counter()
        page = render_html(run)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), page


def _opened(browser: Browser, path: Path, repeat: int) -> tuple[float, float]:
    """Seconds until anything was drawn, and until all was read and the script had run."""
    painted, ready = [], []
    for _ in range(repeat):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        painted.append(page.evaluate(FIRST_PAINT) / 1e3)
        ready.append(page.evaluate(_READY) / 1e3)
        page.close()
    return statistics.median(painted), statistics.median(ready)


def _peer(folder: Path) -> Path | None:
    """The page pytest-html makes of 1,000 tests with a parameter each, self-contained as ours."""
    if importlib.util.find_spec(_PEER) is None:
        return None
    suite, page = folder / "test_many.py", folder / "peer.html"
    suite.write_text(
        "import pytest\n\n@pytest.mark.parametrize('number', range(1000))\n"
        "def test_case(number):\n    pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    arguments = [f"--html={page}", "--self-contained-html", f"--rootdir={folder}", str(suite)]
    subprocess.run([*command, *arguments], check=True, capture_output=True, cwd=folder)
    return page


def _row(
    name: str, page: Path, data: int | None, built: float | None, opened: tuple[float, float]
) -> None:
    megabytes = page.stat().st_size / 1e6
    of_data = f"{data / 1e6:9.2f}" if data is not None else f"{'':9}"
    of_build = f"{built:9.2f}" if built is not None else f"{'':9}"
    say(f"{name:36}{megabytes:8.2f}{of_data}{of_build}{opened[0]:15.2f}{opened[1]:9.2f}")


if __name__ == "__main__":
    main()
