"""Where the time of a step goes: its matrix products alone, and its operations by their share."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from training_steps import Step

_OF_A_STEP = {"forward", "backward", "update", "__call__", "_walk", "_count_uses", "step"}


def products_of(loss: Any) -> Step:
    """All matrix products of the step that ended in ``loss``, one after the other, and nothing else.

    Between arrays of the step's shapes, into arrays that are there already: what a step would take if all but the
    products were free.
    """
    pairs = [pair for x, w, needs_dx in _products(loss) for pair in _pairs(x, w, needs_dx)]

    def products() -> None:
        for left, right, out in pairs:
            np.matmul(left, right, out=out)

    return products


def _products(loss: Any) -> Iterator[tuple[Any, Any, bool]]:
    """(columns or rows, weights, whether the gradient of the former is needed) of every layer with weights."""
    to_visit, seen = [loss.creator], set()
    while to_visit:
        operation = to_visit.pop()
        if operation is None or operation in seen:
            continue
        seen.add(operation)
        to_visit.extend(source.creator for source in operation.sources)
        kind = type(operation).__name__
        if kind == "Convolution":
            product = operation._saved
            yield product.columns.T, product.weights.T, operation.sources[0].requires_grad
        elif kind == "Matmul":
            yield *operation._saved, operation.sources[0].requires_grad


def _pairs(x: Any, w: Any, needs_dx: bool) -> Iterator[tuple[Any, Any, Any]]:
    # A convolution computes the transposes of these, so that its arrays are C-ordered as given here or there.
    y = np.zeros((w.shape[1], x.shape[0]), x.dtype).T if x.T.flags.c_contiguous else x @ w
    yield x, w, y
    yield x.T, y.copy(order="K"), np.empty_like(w)
    if needs_dx:
        yield y.copy(order="K"), w.T, np.empty_like(x)


def shares(step: Step, *, steps: int) -> list[tuple[str, float, float]]:
    """(what, its share of the time, its calls per step) of the functions of this package, the largest first."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(steps):
        step()
    profile.disable()
    found = pstats.Stats(profile)
    total: float = found.total_tt  # type: ignore[attr-defined]
    rows = []
    for (file, _, function), (calls, _, own, cumulative, _) in found.stats.items():  # type: ignore[attr-defined]
        path = Path(file)
        if function not in _OF_A_STEP or "reference_impl" not in path.parts:
            continue
        is_leaf = path.parent.name in ("nn", "ops") or function == "update"
        is_module = function == "__call__" and path.parent.name == "nn"
        time = own if is_module or not is_leaf else cumulative
        rows.append((f"{path.stem}.{function}", time / total, calls / steps))
    return sorted(rows, key=lambda row: -row[1])
