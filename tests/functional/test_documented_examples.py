"""Every example that the documents show runs as it is printed."""

from __future__ import annotations

import itertools
import re
import textwrap
from pathlib import Path

import pytest

import harness

ROOT = Path(harness.__file__).parent.parent
PAGES = ["README.md", "docs/pytest.md"]

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of one language, in order, as a reader would copy them."""
    found = _BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))
    return [textwrap.dedent(block[3]) for block in found if block[2] == language]


def file_name(block: str) -> str | None:
    """The file a block says it is, in a comment on its first line."""
    named = re.match(r"# (\S+\.py)\n", block)
    return named[1] if named else None


@pytest.fixture
def copied(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Copy the Python blocks of a page into files, one test module each, and run them."""

    def run(page: str, *options: str) -> pytest.RunResult:
        numbers = itertools.count()
        for block in blocks(page, "python"):
            path = pytester.path / (file_name(block) or f"test_example_{next(numbers)}.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block, encoding="utf-8")
        quiet = "-Wignore::pytest.PytestAssertRewriteWarning"
        plugins = ("-pharness.pytest_plugin", "-ppytest_benchmark.plugin")
        short = ("--benchmark-max-time=0.01", "--harness-benchmark-seconds=0.5")
        return pytester.runpytest(
            quiet, *plugins, *short, "--harness-device=simulated", "-rA", *options
        )

    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "200")
    pytester.syspathinsert()
    return run


def test_every_page_with_tests_is_copied_here():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    names = [str(page.relative_to(ROOT)) for page in pages]
    with_tests = [
        name for name in names if any("def test_" in block for block in blocks(name, "python"))
    ]
    assert with_tests == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_every_python_block_is_a_whole_file(page):
    for block in blocks(page, "python"):
        assert "def " in block
        compile(block, page, "exec")


def test_the_example_of_the_readme_passes(copied):
    copied("README.md").assert_outcomes(passed=1)


def test_the_examples_of_the_plugin_do_what_the_page_says(copied):
    """A machine that is very busy may not be able to tell that twice the work takes longer, which is no failure."""
    result = copied("docs/pytest.md")
    ended = result.parseoutcomes()
    assert (ended["passed"], ended["xfailed"]) == (2, 1)
    assert (ended["failed"], ended.get("skipped", 0)) in [(2, 0), (1, 1)]
    result.stdout.fnmatch_lines_random(
        [
            "PASSED *test_one_read_per_step",
            "PASSED *test_the_loss_is_read_once",
            "XFAIL *test_the_mean_stays_on_the_device *",
            "FAILED *test_the_loss_stays_on_the_device *",
        ]
    )


def test_the_failure_reads_as_the_page_shows_it(copied):
    """Line for line: the line of code and its number are those of the block above it."""
    output = copied("docs/pytest.md").stdout.str()
    (shown,) = (
        block for block in blocks("docs/pytest.md", "") if "transfer limit exceeded" in block
    )
    assert shown in output


def test_no_example_asks_an_array_for_its_namespace():
    """CuPy's arrays have no such method, so an example that calls it breaks on a GPU."""
    for page in PAGES:
        assert not [block for block in blocks(page, "python") if "__array_namespace__" in block]
