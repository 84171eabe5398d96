"""The bench of a dry run, and a notebook whose findings can be read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gpu.dry_bench import DryBench
from gpu.findings import Finding, Notebook, read_findings

from harness.errors import UnavailableError


@pytest.fixture
def bench() -> Iterator[DryBench]:
    """Simulated arrays and a scripted CUPTI."""
    try:
        made = DryBench()
    except UnavailableError as error:
        pytest.skip(f"{error}")
    yield made
    made.gpu.close()


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "findings.jsonl"


@pytest.fixture
def note(file) -> Notebook:
    return Notebook(file, "this")


@pytest.fixture
def found(file) -> Callable[[], tuple[Finding, ...]]:
    """The findings so far."""
    return lambda: read_findings(file)
