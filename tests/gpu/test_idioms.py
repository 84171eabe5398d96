"""CuPy on this GPU copies and waits as the simulated device says."""

from __future__ import annotations

import pytest
from gpu.idioms import read_table, run_idioms

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("row", read_table(), ids=lambda row: row["name"])
def test_an_idiom_costs_on_the_gpu_what_it_costs_on_the_simulated_device(bench, confirm, row):
    confirm(lambda note: run_idioms(bench, note, [row]))
