"""What `harness run` tells a CI service beside its log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

USER = Path(__file__).parent / "user"


def run(workload: str, tmp_path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", "run", workload, "--no-benchmark"]
    return subprocess.run(
        [*command, "--device", "simulated", "--output", str(tmp_path / "reports")],
        cwd=USER,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "GITHUB_WORKSPACE": str(USER), **environ},
    )


def test_a_violation_is_annotated_at_its_line_and_told_in_the_summary(tmp_path):
    summary = tmp_path / "summary.md"
    done = run(
        "user_workloads:READS", tmp_path, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary)
    )
    assert done.returncode == 1, done.stderr
    errors = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert any("file=user_workloads.py,line=" in line for line in errors)
    assert "transfer limit exceeded" in summary.read_text(encoding="utf-8")


def test_a_summary_that_cannot_be_written_leaves_the_exit_status_as_it_is(tmp_path):
    done = run(
        "user_workloads:GOOD", tmp_path, GITHUB_ACTIONS="", GITHUB_STEP_SUMMARY=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "harness: the job summary " in done.stderr
    assert "::error" not in done.stdout
