"""A program is interrupted cleanly from its first import on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reference_impl.training.entry import INTERRUPTED


@pytest.mark.parametrize(
    "interrupted", ["raise KeyboardInterrupt", "exec('raise KeyboardInterrupt')"]
)
@pytest.mark.parametrize("program", ["mlp", "mnist_cnn", "resnet50"])
def test_every_program_imports_what_takes_time_where_an_interrupt_is_answered(
    program: str, interrupted: str, tmp_path: Path
) -> None:
    for module in ("click", "numpy", "rich"):
        (tmp_path / f"{module}.py").write_text(f"{interrupted}\n")
    found = subprocess.run(
        [sys.executable, "-m", f"reference_impl.training.{program}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=Path(__file__).parents[4],
    )
    assert (found.returncode, found.stdout) == (130, "")
    assert found.stderr == f"{INTERRUPTED}\n"
