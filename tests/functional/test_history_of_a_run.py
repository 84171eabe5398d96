"""A run adds itself to the history, and a database that is gone costs neither its verdict nor its timings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.baseline.stores.opening import open_store

USER = Path(__file__).parent / "user"


def _harness(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=USER,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_run_survives_a_database_that_is_down_and_is_pushed_when_it_is_back(
    tmp_path: Path,
) -> None:
    pytest.importorskip("psycopg", reason="python -m pip install 'ondevice-harness[postgres]'")
    down = "postgresql://ci:s3cret@localhost:1/perf"
    done = _harness(
        "run", "user_workloads:GOOD", "--seconds", "0.05", "--output", tmp_path, "--history", down
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("harness: ")]
    (run,) = tmp_path.glob("*/run.json")
    assert "the history was not written: postgresql://ci:***@localhost:1/perf cannot be" in line
    later = "later, with its password in PGPASSWORD or ~/.pgpass: harness history push"
    assert line.endswith(f"{later} {run} --store postgresql://ci@localhost:1/perf")
    written = run.read_text() + (run.parent / "report.html").read_text()
    assert "s3cret" not in done.stdout + done.stderr + written
    assert "ci:***@localhost" in json.loads(run.read_text())["command"]
    within = ("run", "user_workloads:GOOD", "--seconds", "0.05", "--output", tmp_path / "again")
    done = _harness(*within, HARNESS_HISTORY=down)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("harness: ")]
    (again,) = (tmp_path / "again").glob("*/run.json")
    assert line.endswith(f'; later: HARNESS_STORE="$HARNESS_HISTORY" harness history push {again}')
    where = f"sqlite:///{tmp_path}/history.db"
    done = _harness("history", "push", run, "--store", where)
    assert done.returncode == 0, done.stderr
    (record,) = open_store(where).history()
    assert record.key.startswith("double/")
    sample = open_store(where).sample(record.run_id, record.key)
    assert sample is not None
    assert list(sample.call_ns) == json.loads(run.read_text())["verdicts"][0]["sample"]["call_ns"]
