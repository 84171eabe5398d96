"""The op before and after the fix of SINGA-502, through the real ``harness run``: the first fails, the second passes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError
from harness.model.event import Direction
from harness.model.outcome import Evidence, Outcome
from harness.model.trace import TrafficCounts
from harness.model.verdict import CheckResult, Run, TrafficRecord, Verdict
from harness.report.json import read_run

from .bench import Bench
from .findings import Notebook

__all__ = ["Command", "judge_corrected", "judge_pre_fix", "run_op"]

_PRE_FIX = "reference_impl.workloads.softmax_cross_entropy:PRE_FIX"
_PRE_FIX_S = 30.0
_CORRECTED_S = 45.0
"""Most of it compiling kernels. What is done by then is reported: the command writes what it has when it is told to end."""

_ENDING_S = 5.0

_SEVERAL = 3
"""Reasons told in one finding; the report has them all."""


@dataclass(frozen=True, slots=True)
class Command:
    """One ``harness run`` into ``folder``: its exit status, and the run it wrote, if it did."""

    status: int
    run: Run | None
    problem: str = ""


def run_op(bench: Bench, note: Notebook, folder: Path) -> None:
    """The op before its fix, then the corrected op on all its cases, then the network around it."""
    evidence = Evidence.SIMULATED if bench.is_dry else Evidence.PROVEN
    before = note.about("pre-fix op")
    command = _harness_run(bench, [_PRE_FIX], folder / "pre_fix", seconds=_PRE_FIX_S)
    if command.run is None:
        before.not_tried("harness run", command.problem)
    else:
        judge_pre_fix(command.status, command.run, before, evidence=evidence)
    after = note.about("corrected op")
    names = (
        ["softmax_cross_entropy/64x10-float32"]
        if bench.is_dry
        else ["softmax_cross_entropy", "mlp"]
    )
    command = _harness_run(bench, names, folder / "corrected", seconds=_CORRECTED_S)
    if command.run is None:
        after.not_tried("harness run", command.problem)
    else:
        judge_corrected(command.run, after, evidence=evidence)


def judge_pre_fix(status: int, run: Run, note: Notebook, *, evidence: Evidence) -> None:
    """It must fail, and for the one reason there is: one read of 4 bytes and the wait for it, in forward."""
    note.equal("exit status", expected="1", seen=str(status))
    for verdict in run.verdicts:
        traffic = _check(verdict, "traffic")
        record = verdict.traffic
        if record is None or traffic is None:
            note.not_tried(verdict.key, _first_problem(verdict))
            continue
        expected = (
            f"failed: 1 D2H of 4 B, 0 H2D, 1 sync in forward, none in backward, {evidence.value}"
        )
        seen = (
            f"{traffic.outcome.value}: {_region_text(record, 'forward')} in forward, "
            f"{_backward_text(record)} in backward, {record.evidence.value}"
        )
        _equal_counts(verdict.key, expected, seen, record, note)
        note.equal(
            f"line of the read of {verdict.key}",
            expected="host_round_trip.py",
            seen=_line_of_read(record),
        )
        _note_capture(verdict, Outcome.FAILED, note)


def judge_corrected(run: Run, note: Notebook, *, evidence: Evidence) -> None:
    """Every case passes, and what was seen is nothing at all."""
    for verdict in run.verdicts:
        record = verdict.traffic
        if record is None:
            note.not_tried(verdict.key, _first_problem(verdict))
            continue
        traffic = _check(verdict, "traffic")
        expected = f"passed: 0 D2H, 0 H2D, 0 syncs, {evidence.value}"
        seen = (
            f"{traffic.outcome.value if traffic else 'unchecked'}: {_region_text(record, 'run')}, "
            f"{record.evidence.value}"
        )
        if traffic is not None and traffic.outcome is not Outcome.PASSED:
            seen += f" ({traffic.summary})"
        _equal_counts(verdict.key, expected, seen, record, note)
        others = [
            check for check in verdict.checks if check.outcome.severity > Outcome.SKIPPED.severity
        ]
        note.equal(
            f"all checks of {verdict.key}",
            expected="passed",
            seen="; ".join(f"{check.check}: {check.summary}" for check in others[:_SEVERAL])
            or "passed",
        )
        _note_capture(verdict, Outcome.PASSED, note)
    for check in run.checks:
        note.not_tried(f"the rest: {check.check}", check.summary)


def _harness_run(bench: Bench, names: Sequence[str], folder: Path, *, seconds: float) -> Command:
    """``harness run NAMES`` on the bench's device, told to end and report after ``seconds``."""
    arguments = ["run", *names, "--device", bench.name, "--no-benchmark", "--output", str(folder)]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness", *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        status = _ended(process, seconds)
    written = sorted(folder.glob("*/run.json"))
    if not written:
        tail = (folder / "log.txt").read_text("utf-8", "replace").strip().splitlines()[-1:]
        return Command(status, None, f"exit status {status}, no report: {' '.join(tail)}")
    try:
        return Command(status, read_run(written[-1]))
    except HarnessError as error:
        return Command(status, None, str(error))


def _ended(process: subprocess.Popen[bytes], seconds: float) -> int:
    for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, _ENDING_S)):
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
    return process.wait(_ENDING_S)


def _equal_counts(
    about: str, expected: str, seen: str, record: TrafficRecord, note: Notebook
) -> None:
    note.equal(
        about, expected=expected, seen=seen, runs=record.runs, evidence=record.evidence.value
    )


def _check(verdict: Verdict, name: str) -> CheckResult | None:
    return next((check for check in verdict.checks if check.check == name), None)


def _first_problem(verdict: Verdict) -> str:
    worst = max(verdict.checks, key=lambda check: check.outcome.severity, default=None)
    return f"{worst.check}: {worst.summary}" if worst is not None else "nothing was checked"


def _region_text(record: TrafficRecord, region: str) -> str:
    counts = record.regions.get(region, TrafficCounts())
    size = f" of {counts.d2h_bytes} B" if counts.d2h else ""
    syncs = "1 sync" if counts.syncs == 1 else f"{counts.syncs} syncs"
    return f"{counts.d2h} D2H{size}, {counts.h2d} H2D, {syncs}"


def _backward_text(record: TrafficRecord) -> str:
    text = _region_text(record, "backward")
    return "none" if text == "0 D2H, 0 H2D, 0 syncs" else text


def _line_of_read(record: TrafficRecord) -> str:
    reads = [line for line in record.lines if line.direction is Direction.DEVICE_TO_HOST]
    sites = {line.site.file.rpartition("/")[2] if line.site else "no line" for line in reads}
    return ", ".join(sorted(sites)) or "no read"


def _note_capture(verdict: Verdict, expected: Outcome, note: Notebook) -> None:
    """The second witness, where the device has one; a skip says why it could not look."""
    check = _check(verdict, "capture")
    if check is None:
        return
    about = f"capture of {verdict.key}"
    if check.outcome is Outcome.SKIPPED:
        note.measured(about, f"skipped: {check.summary}")  # cuBLAS, which CuPy does not capture
        return
    note.equal(about, expected=expected.value, seen=check.outcome.value, summary=check.summary)
