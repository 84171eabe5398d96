"""Importing the harness and loading its pytest plugin costs next to nothing, and no framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FRAMEWORKS = ("cuda", "cudnn", "cupti", "cupy", "jax", "pynvml", "torch")
HEAVY = {*FRAMEWORKS, "jinja2", "msgspec", "numpy", "rich"}


@pytest.fixture(scope="module")
def decoys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty modules named like the frameworks, so that an import in a try block is seen here too."""
    folder = tmp_path_factory.mktemp("decoys")
    for name in FRAMEWORKS:
        (folder / f"{name}.py").write_text("")
    return folder


def run(code: str, *, path: Path | None = None) -> str:
    """What ``code`` prints in a fresh interpreter."""
    folders = [str(path)] if path else []
    folders += [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(code: str, decoys: Path) -> set[str]:
    """Names of all modules in a fresh interpreter after running ``code``."""
    printed = run(f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))", path=decoys)
    return set(json.loads(printed))


def test_importing_the_harness_imports_nothing_heavy(decoys):
    assert not loaded_by("import harness", decoys) & HEAVY


def test_loading_the_plugin_imports_nothing_heavy_and_no_other_part_of_the_harness(decoys):
    loaded = loaded_by("import harness.pytest_plugin", decoys)
    assert not loaded & HEAVY
    parts = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("harness")}
    assert parts == {"harness", "harness.errors", "harness.pytest_plugin"}


@pytest.mark.parametrize(
    "module",
    [
        "harness.checks.traffic",
        "harness.cli",
        "harness.devices.registry",
        "harness.model.verdict",
        "harness.probes.capture",
        "harness.probes.cupti",
        "harness.probes.simulated",
        "harness.report.text",
        "harness.session",
        "reference_impl",
    ],
)
def test_no_part_imports_a_framework(module, decoys):
    assert not loaded_by(f"import {module}", decoys) & set(FRAMEWORKS)


def test_the_command_imports_no_verb_before_it_is_asked_for(decoys):
    code = (
        "import contextlib, io\n"
        "from harness.cli.command import run_command_line\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    run_command_line(['--help'])"
    )
    loaded = loaded_by(code, decoys)
    assert "harness.cli.command" in loaded
    assert not loaded & (HEAVY | {"harness.cli.run", "harness.cli.options", "harness.session"})


@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_a_heavy_import_would_be_noticed(name, decoys):
    assert name in loaded_by(f"import harness, {name}", decoys) & HEAVY
