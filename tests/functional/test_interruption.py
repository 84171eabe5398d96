"""Being stopped while the command is still importing, and having no room for the report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

USER = Path(__file__).parent / "user"
CONSOLE_SCRIPT = "import sys; from harness.cli import main; sys.exit(main())"


@pytest.mark.parametrize("module", ["click", "rich", "numpy", "msgspec"])
@pytest.mark.parametrize("start", [("-c", CONSOLE_SCRIPT), ("-m", "harness")])
def test_an_interrupt_amid_the_imports_is_one_line(tmp_path, module, start):
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt\n")
    done = subprocess.run(
        [sys.executable, *start, "run"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=USER.parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr == "harness: interrupted\n"


def limited(tmp_path, *arguments):
    """A command that may write files of 4 KiB at most."""
    command = [sys.executable, "-m", "harness", *arguments, "--output", str(tmp_path / "reports")]
    return subprocess.run(
        ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash", *command],
        cwd=USER,
        capture_output=True,
        text=True,
        timeout=300,
    )


COMPARE = ("compare", "--against", "peer", "--device", "cpu", "--seconds", "0.1")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("run", "--no-benchmark", "user_workloads:RAISES"), 1, "FAILED"),
        (("run", "--no-benchmark", "user_workloads:GOOD"), 2, "PASSED"),
        ((*COMPARE, "stuck_workloads:TIMED_LEAVES"), 1, "FAILED"),
        ((*COMPARE, "user_workloads:GOOD"), 2, "INCONCLUSIVE"),
    ],
)
def test_the_verdict_is_told_where_its_report_has_no_room(tmp_path, arguments, status, says):
    done = limited(tmp_path, *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stdout.splitlines()[0]
    last = done.stderr.splitlines()[-1]
    assert "cannot be written: File too large; raise the limit" in last


def test_a_self_check_is_told_where_its_file_has_no_room(tmp_path):
    names = [f"stuck_workloads:{name}" for name in ("TIMED_LEAVES", "TIMED_CRASHES")]
    names += ["user_workloads:GOOD", "user_workloads:ALSO_GOOD", "stuck_workloads:TIMED"]
    quick = ("--seconds", "0.05", "--decisions", "5", "--device", "cpu")
    done = limited(tmp_path, "selfcheck", *quick, *names)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED" in done.stdout.splitlines()[0]
    assert "cannot be written: File too large" in done.stderr.splitlines()[-1]
