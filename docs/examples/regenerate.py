"""Make the example reports and their pictures again: ``python docs/examples/regenerate.py``, about two minutes.

Each page is what a command of the harness wrote here and now. Pictures need playwright and Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
SOFTMAX = "softmax_cross_entropy"
PAGES = "pages"
"""Where in the scratch folder they are gathered."""

PICTURES = {
    "failed": ("failed", None, 1200, 760),
    "before-and-after": ("passed", "#before-and-after article", 1200, 900),
    "slower": ("slower", "#cases", 1200, 900),
}
"""Picture to page, the part of it that is shown (``None``: what a window of that size shows), and the window."""

AROUND = """part => {
    const box = document.querySelector(part).getBoundingClientRect();
    return {x: box.x - 16, y: box.y + scrollY, width: box.width + 32, height: box.height + 12};
}"""
"""The place of a part on the whole page, with a margin on three sides: taken there, no navigation lies on it."""


def main() -> None:
    """Every example, put in its place when all are made, since pages tell of uncommitted files; then every picture."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / PAGES).mkdir()
        passed(folder)
        harness("failed", folder, "run", "reference_impl.workloads.softmax_cross_entropy:PRE_FIX")
        harness("inconclusive", folder, "run", "ops:SMOOTHED", path=FOLDER)
        slower(folder)
        several(folder)
        shutil.copytree(folder / PAGES, FOLDER, dirs_exist_ok=True)
    take_pictures()


def passed(folder: Path) -> None:
    """A run with a past and a training record."""
    record = folder / "digits.json"
    training = ("-m", "reference_impl.training.mnist_cnn", "--epochs", "30", "--images", "500")
    program([sys.executable, *training, "--record", str(record)], REPOSITORY)
    cases = [f"{SOFTMAX}/64x10-float32", f"{SOFTMAX}/256x*", f"{SOFTMAX}/4096x1000-float32", "mlp"]
    history = ["--history", f"sqlite:///{folder / 'history.db'}"]
    for _ in range(4):
        harness("past", folder, "run", *cases, "--seconds", "0.3", *history)
    harness("passed", folder, "run", *cases, *history, "--training", str(record))


def slower(folder: Path) -> None:
    """A working tree with one pass more than its commit."""
    repository = folder / "repository"
    repository.mkdir()
    shutil.copy(FOLDER / "ops.py", repository)
    git = ("git", "-c", "user.name=example", "-c", "user.email=example@example.invalid")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "Normalise rows")):
        program([*git, *command], repository)
    file = repository / "ops.py"
    file.write_text(file.read_text().replace("EXTRA_PASSES = 0", "EXTRA_PASSES = 1"))
    harness("slower", folder, "compare", "--against", "HEAD", "ops:NORMALISED", path=repository)


def several(folder: Path) -> None:
    """What three runs of the same cases say on one page."""
    runs = [str(run) for run in sorted(folder.glob("past/*/run.json"))[-3:]]
    page = folder / PAGES / "several.html"
    program([sys.executable, "-m", "harness", "report", *runs, "-o", str(page)], REPOSITORY)


def harness(name: str, folder: Path, *arguments: str, path: Path = REPOSITORY) -> None:
    """Run a command whose page becomes ``name.html``, unless it is only the past of another."""
    command = [sys.executable, "-m", "harness", *arguments, "--output", str(folder / name)]
    program(command, path, allowed=(0, 1, 4))
    if name != "past":
        (page,) = (folder / name).glob("*/report.html")
        shutil.copy(page, folder / PAGES / f"{name}.html")


def program(command: Sequence[str], folder: Path, *, allowed: Sequence[int] = (0,)) -> None:
    """Run it in a folder, with this repository to import from; any other exit status ends everything."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(REPOSITORY)))}
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.decode()}")


def take_pictures() -> None:
    """What README.md shows of the pages."""
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"))
        for name, (page, part, width, height) in PICTURES.items():
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.goto((FOLDER / f"{page}.html").as_uri())
            clip = tab.evaluate(AROUND, part) if part else None
            tab.screenshot(path=FOLDER / f"{name}.png", full_page=bool(part), clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
