"""A section that hangs, crashes or leaves processes behind ends alone, and what it found stays."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from gpu.runner import Ending, run_section

FINDING = '{"item": "1", "about": "a", "outcome": "CONFIRMED", "expected": "x", "seen": "x"}'
NOTE = f"open('findings.jsonl', 'a').write('{FINDING}\\n')"


@pytest.fixture
def run(tmp_path):
    """Run Python code as a section, in its own folder."""

    def section(code: str, *, limit_s: float = 10.0):
        folder = tmp_path / "section"
        folder.mkdir()
        return run_section(
            "probe",
            [sys.executable, "-c", code],
            folder=folder,
            findings_file="findings.jsonl",
            limit_s=limit_s,
            environment=dict(os.environ),
            cwd=folder,
        )

    return section


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_section_that_ends_well_has_finished_with_its_findings(run):
    ended = run(NOTE)
    assert (ended.ending, ended.reason) == (Ending.FINISHED, "")
    assert [finding.about for finding in ended.findings] == ["a"]
    assert ended.seconds > 0


def test_a_section_that_hangs_is_killed_at_its_limit_and_keeps_what_it_found(run):
    began = time.monotonic()
    ended = run(f"{NOTE}\nimport time\ntime.sleep(60)", limit_s=0.5)
    assert ended.ending is Ending.TIME_LIMIT
    assert len(ended.findings) == 1
    assert ended.reason.endswith("last found: 1, a")
    assert time.monotonic() - began < 10


def test_a_section_deaf_to_termination_is_killed_all_the_same(run):
    deaf = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)"
    assert run(deaf, limit_s=0.5).ending is Ending.TIME_LIMIT


def test_what_a_killed_section_had_started_is_killed_with_it(run, tmp_path):
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    code = f"import subprocess, sys, time\nprint({child}.pid, flush=True)\ntime.sleep(60)"
    run(code, limit_s=0.7)
    pid = int((tmp_path / "section" / "log.txt").read_text())
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(pid)


def test_a_crash_names_its_signal_and_keeps_what_was_found(run):
    ended = run(f"{NOTE}\nimport os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert ended.ending is Ending.CRASHED
    assert "SIGSEGV" in ended.reason
    assert len(ended.findings) == 1


def test_an_exception_is_told_with_the_last_lines_of_the_log(run):
    ended = run("raise KeyError('lost')")
    assert ended.ending is Ending.CRASHED
    assert ended.reason.startswith("exit status 1: ")
    assert "KeyError: 'lost'" in ended.reason


def test_a_missing_gpu_is_told_in_the_sections_own_line(run):
    ended = run("import sys\nprint('first')\nprint('no GPU here', file=sys.stderr)\nsys.exit(3)")
    assert (ended.ending, ended.reason) == (Ending.UNAVAILABLE, "no GPU here")


def test_an_interruption_ends_the_section_too(run, tmp_path):
    pid = tmp_path / "section" / "pid"

    def interrupt():
        while not pid.exists() or not pid.read_text():
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run("import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)")
    thread.join()
    assert not is_alive(int(pid.read_text()))
