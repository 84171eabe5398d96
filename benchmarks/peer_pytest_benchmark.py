"""The same ops under pytest-benchmark, collected only when it is named: the peer of ``verdicts.py``."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

from verdict_ops import OpCase


def test_op(benchmark: Any) -> None:
    """Time the op that the environment names."""
    case = OpCase(name=os.environ["VERDICT_OP"])
    inputs = case.inputs(0)
    benchmark(lambda: case.run(inputs, nullcontext))
