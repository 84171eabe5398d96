"""One section in a process of its own, killed at its limit: a hung kernel or a dead context ends that section."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from .findings import Finding, read_findings

__all__ = ["LOG_FILE", "Ended", "Ending", "run_section"]

LOG_FILE = "log.txt"

_UNAVAILABLE = 3

_PATIENCE_S = 5.0
"""For a process to die of SIGKILL: one that the driver holds in the kernel does not."""

_TAIL_LINES = 3


class Ending(Enum):
    """How a section's process ended."""

    FINISHED = "finished"
    UNAVAILABLE = "unavailable"
    CRASHED = "crashed"
    TIME_LIMIT = "time limit"
    NO_TIME = "no time left"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of one section; ``reason`` says it in one line when it did not finish."""

    name: str
    ending: Ending
    seconds: float = 0.0
    reason: str = ""
    findings: tuple[Finding, ...] = ()


def run_section(
    name: str,
    command: Sequence[str],
    *,
    folder: Path,
    findings_file: str,
    limit_s: float,
    environment: Mapping[str, str],
    cwd: Path,
    clock: Callable[[], float] = time.monotonic,
) -> Ended:
    """Run ``command`` and gather what it left in ``folder``; its output goes to ``log.txt`` there.

    It gets a process group of its own, which is killed whole: at ``limit_s``, and when this call is interrupted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    began = clock()
    with (folder / LOG_FILE).open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=cwd,
            start_new_session=True,
        )
        try:
            status = process.wait(limit_s)
            ending, reason = _ending(status, folder)
        except subprocess.TimeoutExpired:
            ending, reason = Ending.TIME_LIMIT, f"killed after {limit_s:.0f} s"
        finally:
            # Whatever it started, too: a harness run, a compiler.
            died = _kill_group(process)
    findings = read_findings(folder / findings_file)
    if reason and findings:
        reason += f"; last found: {findings[-1].item}, {findings[-1].about}"
    if not died:
        reason += f"; process {process.pid} did not die of SIGKILL, so the driver holds it"
    return Ended(
        name=name,
        ending=ending,
        seconds=clock() - began,
        reason=reason,
        findings=findings,
    )


def _ending(status: int, folder: Path) -> tuple[Ending, str]:
    if status == 0:
        return Ending.FINISHED, ""
    if status == _UNAVAILABLE:
        return Ending.UNAVAILABLE, _last_lines(folder, 1)
    how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return Ending.CRASHED, f"{how}: {_last_lines(folder, _TAIL_LINES)}"


def _last_lines(folder: Path, count: int) -> str:
    lines = (folder / LOG_FILE).read_text("utf-8", "replace").strip().splitlines()
    return " | ".join(line.strip() for line in lines[-count:]) or "no output"


def _kill_group(process: subprocess.Popen[bytes]) -> bool:
    """Kill what is left of the group; whether the section itself is gone."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of it has ended
    except PermissionError:
        process.kill()  # a group of which only zombies are left, on some systems
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        return False
    return True
