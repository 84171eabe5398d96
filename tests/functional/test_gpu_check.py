"""The check of a real GPU as whoever runs it meets it: one line without a GPU, a folder and a table with one.

Here the GPU is the dry run's. What each section asks is tested in ``tests/unit/gpu_check``.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu.idioms import read_table

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "tests.gpu.check")
NO_CUPTI = 'needs cupti-python: python -m pip install "cupti-python~=13.4"'


@pytest.fixture
def check(tmp_path):
    """Run the check into this test's folder."""

    def run(*arguments, **options):
        return subprocess.run(
            [*COMMAND, "--output", str(tmp_path / "out"), *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )

    return run


def without_gpu() -> dict[str, str]:
    """On a machine that has one, a GPU that nobody may see."""
    return {**os.environ, "CUDA_VISIBLE_DEVICES": ""}


def test_without_a_gpu_it_ends_with_one_line_and_leaves_nothing(check, tmp_path):
    done = check(env=without_gpu())
    assert done.returncode == 3
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "cannot be used" in line
    assert 'python -m pip install -e ".[cuda13,bfloat16]"' in line
    assert "--dry-run" in line
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_leaves_a_folder_a_zip_file_and_the_table_last(check, tmp_path):
    pytest.importorskip("cupti.cupti", reason=NO_CUPTI)
    done = check("--dry-run", "--section", "checklist", "--section", "stress")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("DRY RUN on the simulated device")
    assert lines[1].split()[:2] == ["section", "outcome"]
    assert [line.split()[0] for line in lines[2:4]] == ["checklist", "stress"]
    assert lines[-1] == f"send back: {tmp_path / 'out.zip'}"
    report = json.loads((tmp_path / "out" / "gpu-check.json").read_text())
    assert (report["schema_version"], report["dry_run"]) == (1, True)
    assert {one["name"]: one["ending"] for one in report["sections"]} == {
        "checklist": "finished",
        "stress": "finished",
    }
    assert report["sections"][0]["items"]["1 reads and uploads"] == "CONFIRMED"
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        names = set(archive.namelist())
    for name in ("gpu-check.json", "summary.txt", "checklist/findings.jsonl", "stress/log.txt"):
        assert f"out/{name}" in names
    assert "out/environment/environment.json" in names


def test_a_folder_that_holds_something_is_refused(check, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("")
    done = check("--dry-run")
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_an_unknown_section_is_refused_with_those_there_are(check, tmp_path):
    done = check("--section", "speed")
    assert done.returncode == 2
    assert "'bandwidth'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_interruption_tells_what_was_found_before_it(tmp_path):
    pytest.importorskip("cupti.cupti", reason=NO_CUPTI)
    out = tmp_path / "out"
    arguments = ["--output", str(out), "--dry-run", "--section", "checklist", "--section", "op"]
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not (out / "op" / "log.txt").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "checklist  CONFIRMED" in printed
    assert (tmp_path / "out.zip").exists()


# --- names of CuPy, which no dry run can try ------------------------------------------------------------

MODULES = {
    "xp": "cupy",
    "_cupy": "cupy",
    "cuda": "cupy.cuda",
    "runtime": "cupy.cuda.runtime",
    "cupyx": "cupyx",
}
"""What the sections and the table of idioms call CuPy's modules."""

NO_CUPY = {"peers.py"}
"""Files whose ``cuda`` is PyTorch's."""


def names_in(source: str) -> Iterator[tuple[str, str]]:
    """Module and dotted name of each attribute of CuPy that is looked up: ``("cupy", "linalg.solve")``."""
    for node in ast.walk(ast.parse(source)):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            known = getattr(node.value, "attr", None) or getattr(node.value, "id", None)
            if known in MODULES:
                yield MODULES[known], ".".join(parts)
                break
            node = node.value


def names_of_the_sections() -> set[tuple[str, str]]:
    ours = [
        file
        for file in (ROOT / "tests" / "gpu").glob("*.py")
        if not file.name.startswith(("scripted", "dry_", "test_")) and file.name not in NO_CUPY
    ]
    return {found for file in ours for found in names_in(file.read_text("utf-8"))}


def names_of_the_idioms() -> set[tuple[str, str]]:
    rows = [row for row in read_table() if "not_expressible" not in row]
    texts = [
        text
        for row in rows
        for text in (*row["run"], row.get("setup", ""), row.get("teardown", ""))
    ]
    return {found for text in texts for found in names_in(text)}


@pytest.mark.parametrize(
    ("names", "among"),
    [
        (names_of_the_sections, ("cupy.cuda.runtime", "mallocManaged")),
        (names_of_the_idioms, ("cupy", "linalg.solve")),
    ],
    ids=["sections", "idioms"],
)
def test_every_name_of_cupy_that_is_used_exists(names, among):
    """CuPy imports without a GPU: a misspelt name must not be found out on one."""
    pytest.importorskip(
        "cupy", reason="needs CuPy, though no GPU: python -m pip install cupy-cuda13x"
    )
    importlib.import_module("cupy.testing")
    assert among in names()
    for module, name in sorted(names()):
        found = importlib.import_module(module)
        for part in name.split("."):
            if isinstance(found, property) or type(found).__name__ == "getset_descriptor":
                break  # of an instance: nothing to look into without a device
            assert hasattr(found, part), f"{module}.{name}"
            found = getattr(found, part)


def test_a_misspelt_name_of_cupy_is_found():
    misspelt = set(names_in("bench.cuda.runtime.memcpyAsink(a, b)"))
    assert ("cupy.cuda.runtime", "memcpyAsink") in misspelt
    assert ("cupy", "linalg.solve") in names_in("self._bench.xp.linalg.solve(s, b)")
