"""``harness selfcheck`` as a user or a CI job meets it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

USER = Path(__file__).parent / "user"
BRIEF = ("--seconds", "0.05", "--decisions", "5")
EASY = (*BRIEF, "--find", "80%", "--margin", "40%")
IMPOSSIBLE = (*BRIEF, "--find", "0.011%", "--margin", "0.01%")


@pytest.fixture
def harness(tmp_path):
    """Run ``harness VERB ARGS`` on the user's workload in a process of its own, reports in this test's folder."""

    def run(verb, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "harness", verb, *arguments, "--output", str(tmp_path)],
            cwd=USER,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def test_what_it_finds_is_printed_kept_and_shown_by_every_later_run(harness, tmp_path):
    before = harness("run", "user_workloads:GOOD", "--seconds", "0.05")
    assert "self-check      none was made on this machine" in before.stdout
    done = harness("selfcheck", "user_workloads:GOOD", *EASY)
    assert done.returncode in (0, 4), done.stdout + done.stderr
    assert "double/small" in done.stdout
    assert f"kept in  {tmp_path / 'selfcheck.json'}" in done.stdout
    announced, first, *_ = done.stderr.splitlines()
    assert announced == "self-check of 1 op: 20 decisions at most, up to 1 s"
    assert first.startswith("[0/20] double/small")
    assert first.endswith("s left")
    assert "\x1b" not in done.stdout + done.stderr
    after = harness("run", "user_workloads:GOOD", "--seconds", "0.05")
    assert "decisions on identical code" in after.stdout
    assert "self-check      none" not in after.stdout
    newest = max(tmp_path.glob("*/run.json"))
    (check,) = json.loads(newest.read_text())["self_checks"]
    assert (check["key"], check["decisions"], check["find"]) == ("double/small", 5, 0.8)
    page = newest.with_name("report.html").read_text()
    assert "Self-check of this machine" in page
    assert "double/small" in page.partition('id="self-check"')[2]


def test_a_machine_that_cannot_find_what_was_asked_must_not_gate(harness):
    done = harness("selfcheck", "user_workloads:GOOD", *IMPOSSIBLE)
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.startswith("? INCONCLUSIVE  exit 4")
    assert "next " in done.stdout


def test_a_broken_op_fails_by_name(harness):
    done = harness("selfcheck", "user_workloads:RAISES", "user_workloads:GOOD", *EASY)
    assert done.returncode == 1
    assert "RuntimeError: cannot double this" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("no_such",), 2, "unknown workload 'no_such'"),
        (("--find", "1%"), 2, "1.0 % is not beyond the margin of 1.0 %"),
        (("--decisions", "2"), 2, "5<=x<=10000"),
        (("--find", "2"), 2, "write it as 5% or 0.05"),
        (("mlp", "--device", "simulated"), 3, "has no time of its own"),
        (("softmax_cross_entropy/edge*",), 2, "matches no case"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(harness, arguments, status, says):
    done = harness("selfcheck", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_file_is_told_before_anything_is_timed_and_fails_no_run(harness, tmp_path):
    (tmp_path / "selfcheck.json").write_text("{")
    done = harness("selfcheck", "user_workloads:GOOD", *EASY)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "selfcheck.json" in line
    assert "remove it" in line
    run = harness("run", "user_workloads:GOOD", "--seconds", "0.05")
    assert run.returncode == 0
    assert "note  no self-check is shown" in run.stdout


def test_a_cancelled_job_keeps_what_is_done(tmp_path):
    command = [sys.executable, "-m", "harness", "selfcheck", "user_workloads:GOOD"]
    process = subprocess.Popen(
        [*command, "--seconds", "30", "--output", str(tmp_path)],
        cwd=USER,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while not process.stderr.readline().startswith("[0/"):
        pass
    os.kill(process.pid, signal.SIGTERM)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert out.startswith("? INTERRUPTED  exit 130")
    assert "interrupted after 0 of 1 ops" in out
    assert not (tmp_path / "selfcheck.json").exists()
