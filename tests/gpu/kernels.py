"""The fused kernels against the oracle: every plan and its borders, every dtype, hard rows, bad labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from harness.devices.cuda_faults import fault_of
from harness.numerics.compare import compare, comparison_text
from harness.numerics.tolerance import Tolerance
from harness.units import bytes_text
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy

from .bench import Bench
from .findings import Notebook
from .kernel_cases import ROWS, Case, cases

__all__ = ["run_kernels"]

_OVERFLOWING = (40_000, 65_536)
"""Rows and classes of 2.6e9 logits, so that an offset of 32 bits wraps within the last rows."""


def run_kernels(bench: Bench, note: Notebook, chosen: Iterable[Case] | None = None) -> None:
    """All cases or those ``chosen``, the launches' own traffic, equal bits from equal launches, and rows beyond 2**31 logits."""
    limits = bench.kernels.limits_of(0)
    for look in (_traffic, _same_bits, _refusal, _large_offsets):
        _guarded(note.about(look.__name__.strip("_").replace("_", " ")), look, bench)
    for case in cases(limits, small=bench.is_dry) if chosen is None else chosen:
        here = note.about(f"{case.dtype} against the oracle")
        try:
            _check(bench, case, here)
        except Exception as error:  # noqa: BLE001 - one case must not keep the others from being run
            here.broke(case.name, error)
            fault = fault_of(error)
            if fault is not None and fault.sticky:
                here.not_tried("all other cases", f"the device was gone: {fault}")
                return


def _check(bench: Bench, case: Case, note: Notebook) -> None:
    logits, labels = _inputs(case)
    got, complaint = _launched(bench, case, logits, labels)
    bad = np.isin(np.arange(case.shape[0]), list(case.bad_labels))
    truth = softmax_cross_entropy(
        logits,
        np.where(bad, 0, labels).astype(np.int64),
        reduction=case.reduction,
        ignore_index=case.ignore_index,
        dy=_dy(case, case.expected_dy if case.dy is None else case.dy),
    )
    loss = np.where(bad, np.nan, truth.loss) if case.reduction == "none" else truth.loss
    expected = {"loss": np.asarray(loss).reshape(-1)}
    if case.gradient:
        expected["gradient"] = np.where(bad[:, None], np.nan, truth.gradient)
    results = {
        name: compare(got[name], value, _tolerance(case, name)) for name, value in expected.items()
    }
    told = "".join(f" told: {text}" for text in (complaint,) if text)
    wanted = "".join(
        f" told: label {label} in row {row} is outside [0, {case.shape[1]})"
        for row, label in case.bad_labels.items()
    )
    passed = all(result.passed for result in results.values())
    note.holds(
        case.name,
        passed and told == wanted,
        expected=f"within tolerance{wanted}",
        seen=f"within tolerance{told}"
        if passed
        else "; ".join(comparison_text(result, output=name) for name, result in results.items())
        + told,
        worst={name: result.worst_ratio for name, result in results.items()},
        plan=case.plan,
    )


def _inputs(case: Case) -> tuple[Any, Any]:
    rows, classes = case.shape
    rng = np.random.default_rng(classes)
    logits = (4 * rng.standard_normal(case.shape)).astype(_dtype(case.dtype))
    named = min(classes, int(np.iinfo(case.label_dtype).max) + 1)
    labels = rng.integers(0, named, rows).astype(case.label_dtype)
    for row, label in case.bad_labels.items():
        labels[row] = label
    if case.special:
        labels[:] = 2
    for where, value in case.special.items():
        logits[where] = value
    return logits, labels


def _launched(bench: Bench, case: Case, logits: Any, labels: Any) -> tuple[dict[str, Any], str]:
    """Host copies of loss and gradient, and what the workspace complains of."""
    rows, classes = case.shape
    to_device, kernels = bench.device.to_device, bench.kernels
    x, t = to_device(logits), to_device(labels)
    wide = np.float64 if case.dtype == "float64" else np.float32
    loss = to_device(np.zeros(rows if case.reduction == "none" else 1, wide))
    gradient = x if case.in_place else to_device(np.zeros_like(logits))
    workspace = kernels.Workspace(rows)
    kernels.forward_backward(
        x,
        t,
        workspace=workspace,
        loss_out=loss,
        gradient_out=gradient if case.gradient else None,
        reduction=case.reduction,
        ignore_index=case.ignore_index,
        expected_dy=case.expected_dy,
    )
    if case.dy is not None:
        dy = to_device(np.array([case.dy], wide))
        kernels.scale_gradient(gradient, dy, expected_dy=case.expected_dy)
    bench.device.synchronize()
    complaint = ""
    try:
        workspace.check(classes=classes)
    except ValueError as error:
        complaint = str(error)
    return {
        "loss": bench.device.to_host(loss),
        "gradient": bench.device.to_host(gradient),
    }, complaint


def _tolerance(case: Case, output: str) -> Tolerance:
    """As the workload states it, for a gradient that was rounded to its dtype once more where dy is made up for."""
    rows, classes = case.shape
    size = abs(case.expected_dy if case.dy is None else case.dy)
    wide = "float64" if case.dtype == "float64" else "float32"
    plain: dict[str, object] = {"dtype": wide, "reduction_length": classes, "scale": 1.0}
    if output == "loss" and case.reduction == "sum":
        plain["scale"] = float(rows)
    if output == "gradient":
        plain["dtype"] = case.dtype
        plain["scale"] = size / (rows if case.reduction == "mean" else 1)
    return Tolerance.from_plain(plain, output=output)


def _dy(case: Case, value: float) -> Any:
    return np.full(case.shape[0], value) if case.reduction == "none" else value


def _dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes  # noqa: F401 - importing it makes the name known to NumPy

    return np.dtype(name)


def _guarded(note: Notebook, look: Callable[[Bench, Notebook], None], bench: Bench) -> None:
    try:
        look(bench, note)
    except Exception as error:  # noqa: BLE001 - what is asked beside must not keep the cases from being run
        note.broke("all of it", error)


def _traffic(bench: Bench, note: Notebook) -> None:
    """That a warm forward and backward is kernels and nothing else."""
    case = Case(name="", dtype="float32", shape=(64, 10))
    logits, labels = (bench.device.to_device(array) for array in _inputs(case))
    loss, gradient = bench.xp.zeros(1, np.float32), bench.xp.zeros(case.shape, np.float32)
    dy, workspace = bench.xp.ones(1, np.float32), bench.kernels.Workspace(64)

    def step() -> None:
        bench.kernels.forward_backward(
            logits, labels, workspace=workspace, loss_out=loss, gradient_out=gradient
        )
        bench.kernels.scale_gradient(gradient, dy)
        workspace.check(classes=10)

    step()
    with bench.probe().record() as recording:
        step()
    trace = recording.trace()
    counts = trace.counts()
    note.equal(
        "forward and backward",
        expected="0 D2H, 0 H2D, 0 syncs, 2 kernels, 0 doubts",
        seen=f"{counts.d2h} D2H, {counts.h2d} H2D, {counts.syncs} syncs, {counts.kernels} kernels, "
        f"{len(trace.doubts)} doubts",
        kernels=[event.api for event in trace.kernels],
        doubts=list(trace.doubts),
    )


def _same_bits(bench: Bench, note: Notebook) -> None:
    """That the mean is added up in the same order each time."""
    case = Case(name="", dtype="float32", shape=(50 if bench.is_dry else 3001, 101), ignore_index=2)
    logits, labels = _inputs(case)
    losses = {_launched(bench, case, logits, labels)[0]["loss"].tobytes() for _ in range(8)}
    note.equal("losses of 8 equal launches", expected="1 value", seen=f"{len(losses)} value")


def _refusal(bench: Bench, note: Notebook) -> None:
    """That arrays no kernel is written for are refused, not misread."""
    logits, labels = bench.xp.zeros((8, 20), np.float32)[:, ::2], bench.xp.zeros(8, np.int64)
    loss, workspace = bench.xp.zeros(1, np.float32), bench.kernels.Workspace(8)
    try:
        bench.kernels.forward_backward(logits, labels, workspace=workspace, loss_out=loss)
    except TypeError:
        note.equal("strided logits", expected="TypeError", seen="TypeError")
        return
    note.equal("strided logits", expected="TypeError", seen="a result")


def _large_offsets(bench: Bench, note: Notebook) -> None:
    """That the rows beyond 2**31 logits are read and written where they are; needs 7 GB."""
    rows, classes = (20, 64) if bench.is_dry else _OVERFLOWING
    size_bytes = 2 * rows * classes
    if bench.free_bytes() < 1.3 * size_bytes:
        note.not_tried(
            "rows beyond 2**31 logits", f"needs {bytes_text(1.3 * size_bytes)} of free memory"
        )
        return
    case = Case(name="", dtype="float16", shape=(ROWS, classes), reduction="none")
    tail, tail_labels = _inputs(case)
    logits = bench.xp.zeros((rows, classes), np.float16)
    logits[-ROWS:] = bench.device.to_device(tail)
    labels = bench.xp.zeros(rows, np.int64)
    labels[-ROWS:] = bench.device.to_device(tail_labels)
    loss = bench.xp.zeros(rows, np.float32)
    bench.kernels.forward_backward(
        logits,
        labels,
        workspace=bench.kernels.Workspace(rows),
        loss_out=loss,
        gradient_out=logits,
        reduction="none",
    )
    truth = softmax_cross_entropy(tail, tail_labels, reduction="none", dy=np.ones(ROWS))
    got = {
        "loss": bench.device.to_host(loss[-ROWS:]),
        "gradient": bench.device.to_host(logits[-ROWS:]),
    }
    expected = {"loss": truth.loss, "gradient": truth.gradient}
    results = {name: compare(got[name], expected[name], _tolerance(case, name)) for name in got}
    texts = [comparison_text(one, output=name) for name, one in results.items() if not one.passed]
    note.equal(
        f"the last rows of {rows:,}x{classes:,}",
        expected="within tolerance",
        seen="; ".join(texts) or "within tolerance",
    )
