"""Whatever hides code from the simulated device leaves a doubt in the trace, so that no zero is believed that may be wrong."""

from __future__ import annotations

import contextlib
import inspect
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.checks.traffic import check_traffic
from harness.model.budget import WHOLE_RUN, Budget
from harness.model.outcome import Outcome
from harness.model.trace import Trace
from harness.model.verdict import CheckResult
from harness.probes import simulated
from harness.probes.simulated import NotModelledError, SimulatedProbe, cupy_names, extensions
from harness.probes.simulated import namespace as xp

A = xp.asarray([[1.0, 2.0], [3.0, 4.0]])

OWNERS: dict[str, Any] = {
    "": xp,
    "cuda": xp.cuda,
    "cuda.Device": xp.cuda.Device(),
    "cuda.Event": xp.cuda.Event(),
    "cuda.MemoryAsyncPool": xp.cuda.MemoryAsyncPool(),
    "cuda.MemoryPointer": A.data,
    "cuda.MemoryPool": xp.cuda.MemoryPool(),
    "cuda.PinnedMemoryPointer": xp.cuda.alloc_pinned_memory(8),
    "cuda.PinnedMemoryPool": xp.cuda.PinnedMemoryPool(),
    "cuda.Stream": xp.cuda.Stream.null,
    "cuda.nvtx": xp.cuda.nvtx,
    "cuda.runtime": xp.cuda.runtime,
    "cupyx": extensions,
    "exceptions": xp.exceptions,
    "flatiter": A.flat,
    "lib": xp.lib,
    "lib.stride_tricks": xp.lib.stride_tricks,
    "linalg": xp.linalg,
    "ndarray": A,
    "random": xp.random,
    "random.Generator": xp.random.default_rng(0),
    "random.RandomState": xp.random.RandomState(0),
    "testing": xp.testing,
    "ufunc": xp.add,
}
"""Everything of CuPy's that is modelled at all, and so can be asked for a name."""

NEVER_REACHED = {"cupyx.scipy.special", "fft", "polynomial"}
"""Modules that are refused as a whole."""


BUDGET = Budget.from_plain({WHOLE_RUN: {"d2h": 0, "because": "it must"}})


def record(action: Callable[[], object]) -> Trace:
    with SimulatedProbe().record() as recording, contextlib.suppress(Exception):
        action()
    return recording.trace()


def evaluate(expression: str) -> Any:
    return eval(
        compile(expression, "the expression", "eval"),
        {"A": A, "extensions": extensions, "np": np, "xp": xp},
    )


def here(offset: int = 0) -> str:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno + offset}"


def judged(trace: Trace) -> CheckResult:
    control = CheckResult(check="control", outcome=Outcome.PASSED, summary="", evidence="seen")
    return check_traffic([trace], BUDGET, control=control)


def test_every_owner_of_names_is_asked_below() -> None:
    assert set(cupy_names.OWNERS) == set(OWNERS) | NEVER_REACHED


@pytest.mark.parametrize("owner", sorted(OWNERS))
def test_asking_for_a_name_of_cupys_that_is_not_here_is_a_doubt_and_for_no_other(
    owner: str,
) -> None:
    thing = OWNERS[owner]
    names = sorted(cupy_names.OWNERS[owner] | {"no_such_name", "insert", "nanpercentile", "bool8"})
    for name in names:
        with SimulatedProbe().record() as recording:
            found = hasattr(thing, name)
            place = here(-1)
        doubts = recording.trace().doubts
        if found or name not in cupy_names.OWNERS[owner]:
            assert doubts == (), name
        else:
            assert len(doubts) == 1, name
            assert doubts[0].startswith(("xp.", "cupyx.", "ndarray."))
            assert f".{name} at {place} is not modelled, so what this code" in doubts[0]


def test_a_probe_for_a_missing_function_cannot_pass() -> None:
    def forward() -> None:
        if hasattr(xp, "poly1d"):
            float(A.sum())

    def fixed() -> None:
        A.sum()

    result = judged(record(forward))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert f"xp.poly1d at {__file__}:" in result.summary
    assert "is not modelled, so what this code does on a GPU is unknown" in result.summary
    assert judged(record(fixed)).outcome is Outcome.PASSED


def test_a_swallowed_refusal_cannot_pass() -> None:
    def forward() -> None:
        try:
            xp.unique(A, axis=0)
            float(A.sum())
        except Exception:  # noqa: BLE001 - the swallowing is what is tested
            A.sum()

    result = judged(record(forward))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "xp.unique(axis=...)" in result.summary


def test_what_was_copied_all_the_same_still_fails() -> None:
    def forward() -> None:
        if not hasattr(xp, "poly1d"):
            float(A.sum())

    assert judged(record(forward)).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("use", "named"),
    [
        ("np.fft.fft(A)", "xp.fft"),
        ("xp.fft.fft(A)", "xp.fft"),
        ("np.roots(A[0])", "xp.roots"),
        ('getattr(xp, "RawKernel", None)', "xp.RawKernel"),
        ("xp.random.multivariate_normal", "xp.random.multivariate_normal"),
        ("xp.random.RandomState(0).multivariate_normal", "RandomState.multivariate_normal"),
        ("xp.random.default_rng(0).dirichlet", "xp.random.Generator.dirichlet"),
        ("xp.cuda.malloc_managed(8)", "xp.cuda.malloc_managed"),
        ("xp.cuda.runtime.memcpy(0, 0, 0, 0)", "xp.cuda.runtime.memcpy"),
        ("A.data.copy_to_host", "xp.cuda.MemoryPointer.copy_to_host"),
        ("extensions.scipy", "cupyx.scipy"),
        ("xp.testing.shaped_random", "xp.testing.shaped_random"),
        ("A.cstruct", "ndarray.cstruct"),
        ('hasattr(xp.ndarray, "cstruct")', "ndarray.cstruct"),
        ('hasattr(A, "__cuda_array_interface__")', "ndarray.__cuda_array_interface__"),
        ("A.__dlpack__()", "__dlpack__"),
        ("A.view(type=xp.ndarray)", "ndarray.view(type=...)"),
        ('xp.ndarray((2,), "float32", A.data)', "xp.ndarray over given memory"),
        ("xp.unique(A, axis=0)", "xp.unique(axis=...)"),
        ('xp.pad(A, 1, mode="linear_ramp")', "xp.pad(mode='linear_ramp')"),
        ("xp.pad(A, 1, end_values=3)", "xp.pad(end_values=...)"),
        ('xp.percentile(A, 5, interpolation="lower")', "xp.percentile(interpolation=...)"),
        ("xp.argmax(A, axis=(0, 1))", "xp.argmax(axis=<tuple>)"),
        ("xp.gradient(A[0], [0.0, 1.0])", "gradient"),
        ("xp.einsum(A, [0, 1])", "einsum"),
        ("xp.matmul(A, A, axes=[])", "xp.matmul(axes=...)"),
        ('xp.linalg.matmul(A, A, order="F")', "xp.linalg.matmul(order=...)"),
        ('xp.zeros(2, [("x", "f4")])', "structured dtype"),
        ("xp.cuda.Stream().begin_capture()", "Stream.begin_capture"),
        ("xp.cuda.Device(1)", "xp.cuda.Device(1)"),
        ("xp.from_dlpack(np.ones(2))", "xp.from_dlpack of numpy.ndarray"),
        ("xp.sum(np.ones(2))", "xp.sum(a=<ndarray>)"),
        ("xp.dot(A, [1.0, 2.0])", "xp.dot(b=<list>)"),
        ("xp.sum(A, axis=A[0, 0])", "xp.sum(axis=<device array>)"),
        ("xp.arange(A[0, 0], 5)", "xp.arange with a start"),
        ("xp.random.poisson(-1.0)", "xp.random.poisson of these parameters"),
        ("xp.random.default_rng(0).poisson(-1.0)", "Generator.poisson of these parameters"),
    ],
)
def test_whatever_cupy_might_do_and_is_refused_here_is_a_doubt(use: str, named: str) -> None:
    doubts = record(lambda: evaluate(use)).doubts
    assert any(named in doubt for doubt in doubts), doubts
    assert all(" at the expression:1 " in doubt for doubt in doubts)


@pytest.mark.parametrize(
    "use",
    [
        "np.insert(A, 0, 1.0)",
        "np.nanpercentile(A, 5)",
        "np.vecdot(A, A)",
        "np.spacing(A)",
        "np.asarray(A)",
        "A + np.ones((2, 2))",
        'A + "x"',
        "np.sum(A, where=A > 1)",
        "xp.sum(A, 0, 0, 0, 0, 0)",
        "A[[0.5]]",
        "A.get(out=[1.0])",
        "bool(A)",
        "xp.linalg.inv(A[0])",
        "xp.reshape(A, (7,))",
        'xp.pad(A, 1, mode="no such mode")',
        "xp.array(A, subok=True)",
        "xp.random.normal(mean=0.0)",
        'xp.asarray("text")',
        'hasattr(A, "__array_interface__")',
        'hasattr(A, "__array_struct__")',
    ],
)
def test_what_cupy_refuses_too_is_no_doubt(use: str) -> None:
    with pytest.raises(
        (AssertionError, AttributeError, IndexError, TypeError, ValueError, NotImplementedError)
    ):
        assert evaluate(use)
    assert record(lambda: evaluate(use)).doubts == ()


def test_a_refusal_says_what_is_missing_and_what_to_do() -> None:
    for use, name in (
        (lambda: xp.fft.fft(A), "xp.fft"),
        (lambda: xp.unique(A, axis=0), "xp.unique(axis=...)"),
        (lambda: xp.RawKernel("", "f"), "launch(kernel, ...)"),
    ):
        with pytest.raises(NotModelledError) as refusal:
            use()
        assert name in str(refusal.value)
        assert isinstance(refusal.value, NotImplementedError)
        assert isinstance(refusal.value, AttributeError)
    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name', here or in CuPy 14\.2"):
        _ = xp.no_such_name


def test_the_same_line_doubts_once_and_every_recording_is_told() -> None:
    seen: list[Trace] = []
    opened, done = threading.Event(), threading.Event()

    def watch() -> None:
        with SimulatedProbe().record() as other:
            opened.set()
            done.wait(5)
        seen.append(other.trace())

    thread = threading.Thread(target=watch)
    with SimulatedProbe().record() as recording:
        thread.start()
        opened.wait(5)
        for _ in range(3):
            hasattr(xp, "poly1d")
        hasattr(xp, "poly1d")
        done.set()
        thread.join()
    assert len(recording.trace().doubts) == 2
    assert seen[0].doubts == recording.trace().doubts


def test_a_doubt_belongs_to_its_recording_only() -> None:
    hasattr(xp, "poly1d")
    assert record(lambda: hasattr(xp, "poly1d")).doubts != ()
    assert record(lambda: A.sum()).doubts == ()


def test_names_that_are_not_modelled_are_listed_like_those_that_are() -> None:
    assert set(cupy_names.OWNERS[""]) <= set(dir(xp))
    assert set(cupy_names.OWNERS["ndarray"]) <= set(dir(A)) & set(dir(xp.ndarray))
    for owner in ("cuda", "linalg", "random", "cupyx"):
        assert set(dir(OWNERS[owner])) == set(cupy_names.OWNERS[owner])


def test_no_refusal_bypasses_the_doubt() -> None:
    folder = Path(simulated.__file__).parent
    raising = re.compile(r"raise NotModelledError\(|return NotModelledError\(")
    found = {path.name for path in folder.glob("*.py") if raising.search(path.read_text("utf-8"))}
    assert found == {"refusal.py"}
