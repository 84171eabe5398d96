"""The GPU under test; all tests of this folder skip, with what is missing, where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gpu.bench import Bench, GpuBench
from gpu.findings import Notebook, Outcome, read_findings

from harness.errors import UnavailableError


@pytest.fixture(scope="session")
def bench() -> Bench:
    """The first GPU."""
    try:
        return GpuBench()
    except UnavailableError as error:
        pytest.skip(f"{error}")


@pytest.fixture
def confirm(tmp_path) -> Callable[[Callable[[Notebook], None]], None]:
    """Runs something that notes findings: fails with every difference, skips where nothing could be tried."""

    def run(look: Callable[[Notebook], None]) -> None:
        file = tmp_path / "findings.jsonl"
        look(Notebook(file, "this"))
        found = read_findings(file)
        differing = [finding.text for finding in found if finding.outcome is Outcome.DIFFERS]
        assert not differing, "\n".join(differing)
        if all(finding.outcome is Outcome.NOT_TRIED for finding in found):
            pytest.skip("; ".join(finding.text for finding in found) or "nothing was looked at")

    return run
