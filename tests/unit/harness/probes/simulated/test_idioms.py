"""Every CuPy idiom of the table costs on the simulated device what CuPy's source says it costs."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import pickle
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.probes.simulated import (
    ForeignArray,
    SimulatedProbe,
    cuda,
    empty_pinned,
    extensions,
    namespace,
)

_TABLE = tomllib.loads(Path(__file__).with_name("idioms.toml").read_text("utf-8"))["idiom"]
_EXPRESSIBLE = [row for row in _TABLE if "not_expressible" not in row]
_CASES = [(row, expression) for row in _EXPRESSIBLE for expression in row["run"]]


def _names(tmp_path: Path) -> dict[str, Any]:
    a = namespace.arange(5, dtype="float32")
    return {
        "Foreign": ForeignArray,
        "a": a,
        "b": a + 1,
        "copy": copy,
        "cuda": cuda,
        "cupyx": extensions,
        "file": tmp_path / "elements",
        "i": namespace.asarray([1, 0, 3, 2, 4]),
        "io": io,
        "mask": a > 1,
        "math": math,
        "n": 5,
        "np": np,
        "pageable": np.zeros(5, "float32"),
        "pickle": pickle,
        "pinned": empty_pinned(5, "float32"),
        "xp": namespace,
    }


@pytest.mark.parametrize(
    ("row", "expression"), _CASES, ids=[f"{row['name']}: {run}" for row, run in _CASES]
)
def test_an_idiom_costs_what_cupy_makes_of_it(
    row: dict[str, Any], expression: str, tmp_path: Path
) -> None:
    names = _names(tmp_path)
    exec(row.get("setup", ""), names)
    code = compile(expression, "idiom", "eval")
    refusal = pytest.raises(_error(row["raises"])) if "raises" in row else contextlib.nullcontext()
    try:
        with SimulatedProbe().record() as recording, refusal:
            eval(code, names)
    finally:
        exec(row.get("teardown", ""), names)

    counts = recording.trace().counts()
    expected = {kind: row.get(kind, 0) for kind in ("d2h", "h2d", "syncs")}
    observed = {kind: getattr(counts, kind) for kind in expected}
    if row.get("or_more"):
        assert all(observed[kind] >= expected[kind] for kind in expected)
        assert observed["d2h"] == observed["syncs"]
        assert observed["h2d"] == expected["h2d"]
    else:
        assert observed == expected
        assert counts.blocking_copies == row.get("blocking", expected["d2h"])


def _error(name: str) -> type[Exception]:
    return {"TypeError": TypeError, "ValueError": ValueError}[name]


def test_the_table_is_whole_and_nearly_all_of_it_runs() -> None:
    assert len(_TABLE) == 111
    assert len({row["name"] for row in _TABLE}) == 111
    assert all(row["source"] for row in _TABLE)
    left_out = {row["name"]: row["not_expressible"] for row in _TABLE if row not in _EXPRESSIBLE}
    assert all(left_out.values())
    assert len(_EXPRESSIBLE) == 109, f"not expressible: {sorted(left_out)}"
