"""One decision on speed: ``harness compare --against HEAD`` in a repository whose working tree does other work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.model.verdict import Verdict
from harness.report.json import read_run
from harness.stats.change import compare_pairs

MARGIN = 0.01
CONFIDENCE = 0.95
_PROCESSES_PER_S = 2
"""As many as ``harness compare`` takes at least."""

HERE = Path(__file__).resolve().parent
EXTRA_WORK = (
    '"""The extra work that the ops do in this tree."""\n\nEXTRA = {share}\nEXTRA_ROWS = {rows}\n'
)


@dataclass(frozen=True)
class Extra:
    """Extra work: as a share of the calls of the step, and in rows of the large op."""

    share: float
    rows: int


def decide(
    op: str, *, candidate: Extra, baseline: Extra, seconds: float, seed: int
) -> Mapping[str, Any]:
    """Measure the op with some extra work beside it with other, and decide."""
    with tempfile.TemporaryDirectory() as folder:
        repository = _repository(Path(folder) / "ops", candidate=candidate, baseline=baseline)
        began = time.perf_counter()
        status = _compared(repository, op, seconds, seed)
        took = time.perf_counter() - began
        (written,) = (repository / "reports").glob("*/run.json")
        (verdict,) = read_run(written).verdicts
    return {
        **_figures(verdict),
        "exit": status,
        "took_s": took,
        "load": os.getloadavg()[0],
    }


def shortened(row: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
    """The row of a long decision as it would have been with less time: its first processes, which ran the same way."""
    count = min(len(row["process_starts"]), round(_PROCESSES_PER_S * seconds))
    starts = list(row["process_starts"][: count + 1])
    end = starts.pop() if len(starts) > count else len(row["call_ns"])
    pairs = row["call_ns"][:end], row["peer_ns"][:end]
    return {
        **row,
        "seconds": seconds,
        "took_s": row["took_s"] * count / len(row["process_starts"]),
        "call_ns": pairs[0],
        "peer_ns": pairs[1],
        "process_starts": starts,
        **judged(*pairs, starts),
    }


def judged(
    call_ns: Sequence[float], peer_ns: Sequence[float], starts: Sequence[int]
) -> Mapping[str, Any]:
    """The decision at the margin and at none, and the interval."""
    change, at_all = (
        compare_pairs(call_ns, peer_ns, margin=margin, confidence=CONFIDENCE, process_starts=starts)
        for margin in (MARGIN, 0.0)
    )
    assert change.ratio is not None, change.reason
    return {
        "decision": change.decision.value,
        "at_all": at_all.decision.value,
        "ratio": change.ratio.value,
        "low": change.ratio.low,
        "high": change.ratio.high,
        "pairs": len(call_ns),
        "processes": len(starts),
    }


def _figures(verdict: Verdict) -> Mapping[str, Any]:
    (speed,) = (result for result in verdict.checks if result.check == THROUGHPUT_CHECK)
    sample = verdict.sample
    assert sample is not None, speed.summary
    found = judged(sample.call_ns, sample.peer_ns, sample.process_starts)
    assert speed.summary.partition(":")[0] == found["decision"], speed.summary
    return {
        **found,
        "outcome": speed.outcome.value,
        "call_ms": median(sample.peer_ns) / 1e6,
        "call_ns": [round(value) for value in sample.call_ns],
        "peer_ns": [round(value) for value in sample.peer_ns],
        "process_starts": list(sample.process_starts),
    }


def _repository(folder: Path, *, candidate: Extra, baseline: Extra) -> Path:
    """A commit that does the baseline's work, under a working tree that does the candidate's."""
    folder.mkdir()
    shutil.copy(HERE / "verdict_ops.py", folder)
    (folder / "extra_work.py").write_text(EXTRA_WORK.format(**asdict(baseline)))
    (folder / ".gitignore").write_text("reports/\n__pycache__/\n")
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "baseline"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "extra_work.py").write_text(EXTRA_WORK.format(**asdict(candidate)))
    return folder


def _compared(repository: Path, op: str, seconds: float, seed: int) -> int:
    command = [
        *(sys.executable, "-m", "harness", "compare", "--against", "HEAD"),
        *(f"verdict_ops:WORKLOAD/{op}", "--seconds", str(seconds), "--seed", str(seed)),
    ]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 4):
        raise RuntimeError(done.stderr)
    return done.returncode
