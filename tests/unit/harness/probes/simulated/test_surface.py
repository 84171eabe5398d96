"""The namespace has CuPy's names, takes CuPy's parameters, and the documentation says how much of both."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.probes.simulated import cupy_names, extensions
from harness.probes.simulated import namespace as xp

_SIGNATURES = tomllib.loads(Path(__file__).with_name("cupy_signatures.toml").read_text("utf-8"))
_PROBES = Path(__file__).parents[5] / "docs" / "probes.md"
_OWNERS: dict[str, Any] = {
    "": xp,
    "cuda": xp.cuda,
    "cupyx": extensions,
    "linalg": xp.linalg,
    "ndarray": xp.ones((2, 2)),
    "random": xp.random,
    "random.Generator": xp.random.default_rng(0),
    "random.RandomState": xp.random.RandomState(0),
}


_UFUNCS_OF_CUPY = {"fix", "i0", "sinc"}
"""Functions here and in NumPy."""


def _modelled() -> Iterator[tuple[str, Any]]:
    for name in _SIGNATURES:
        owner, _, function = name.rpartition(".")
        owner = {"RandomState": "random.RandomState", "Generator": "random.Generator"}.get(
            owner, owner
        )
        thing = _OWNERS[owner]
        if hasattr(thing, function):
            yield name, getattr(thing, function)


@pytest.mark.parametrize("owner", sorted(_OWNERS))
def test_there_are_no_names_that_cupy_lacks(owner: str) -> None:
    thing = _OWNERS[owner]
    ours = {"": {"launch"}}.get(owner, set())
    own = vars(thing) if hasattr(thing, "__dict__") else {}
    names = {*own} if inspect.ismodule(thing) else {*own, *dir(type(thing))}
    names = {name for name in names if name.isidentifier() and name[0] != "_"}
    assert names - cupy_names.OWNERS[owner] - ours == set()


def test_what_cupy_takes_is_taken() -> None:
    checked = 0
    for name, function in _modelled():
        words = _SIGNATURES[name].split()
        if words and words[0][0] == "*" and words[0] != "*":
            continue
        starred = next((n for n, word in enumerate(words) if word[0] == "*"), len(words))
        by_position = words[:starred]
        by_name = [word for word in words[starred:] if word[0] != "*"]
        signature = inspect.signature(function)
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        try:
            signature.bind(*by_position, **dict.fromkeys(by_name))
            if not kinds & {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}:
                signature.bind(**dict.fromkeys(by_position + by_name))
                assert [each for each in signature.parameters if each in by_position] == by_position
        except (TypeError, AssertionError) as error:
            pytest.fail(f"{name}({_SIGNATURES[name]}) is {signature} here: {error}")
        checked += 1
    assert checked > 430


def test_the_signatures_are_those_of_every_function_that_is_modelled() -> None:
    described = {name for name, _ in _modelled()}
    for name in sorted(cupy_names.OWNERS[""]):
        function = getattr(xp, name, None)
        if inspect.isfunction(function) and name != "launch":
            assert name in described or name in _UFUNCS_OF_CUPY, name


@pytest.mark.parametrize("owner", sorted(_OWNERS))
def test_the_documentation_counts_the_names(owner: str) -> None:
    row = re.search(
        rf"^\| `{re.escape('xp.' + owner if owner not in ('', 'ndarray', 'cupyx') else owner or 'xp')}` +\| +(\d+) \| +(\d+) \| +(\d+) \|",
        _PROBES.read_text("utf-8"),
        re.MULTILINE,
    )
    assert row is not None
    names = cupy_names.OWNERS[owner]
    refused = {name for name in names if not hasattr(_OWNERS[owner], name)}
    assert [int(cell) for cell in row.groups()] == [
        len(names),
        len(names) - len(refused),
        len(refused),
    ]


def test_the_documentation_names_what_is_refused() -> None:
    text = _PROBES.read_text("utf-8")
    for owner in ("", "linalg", "ndarray", "random", "random.RandomState", "random.Generator"):
        for name in cupy_names.OWNERS[owner]:
            if not hasattr(_OWNERS[owner], name):
                assert f"`{name}`" in text, name


def test_names_are_numpys_where_cupy_uses_numpys() -> None:
    for name in ("float32", "int_", "newaxis", "s_", "pi", "isdtype", "printoptions", "bool"):
        assert getattr(xp, name) is getattr(np, name)
    assert xp.exceptions.AxisError is xp.AxisError is np.exceptions.AxisError
    assert (xp.complex_, xp.Inf, xp.NZERO) == (np.complex128, np.inf, 0.0)
    for name in ("disp", "safe_eval", "find_common_type"):
        with pytest.raises(RuntimeError, match=f"{name}.. was removed in NumPy 2"):
            getattr(xp, name)()


def test_questions_about_types_are_answered_on_the_host() -> None:
    assert xp.obj2sctype(float) is np.float64
    assert xp.obj2sctype(np.int8) is np.int8
    assert xp.obj2sctype(np.ones(1, "f4")) is np.float32
    assert xp.obj2sctype("no type", 3) == 3
    assert xp.sctype2char(np.float32) == "f"
    with pytest.raises(ValueError, match="no scalar type"):
        xp.sctype2char("no type")
    assert xp.issctype(np.dtype("i4"))
    assert not xp.issctype(3)
    assert xp.issubclass_(bool, int)
    assert not xp.issubclass_(3, int)
    assert xp.issubsctype("f4", np.floating)
    assert xp.is_available()
    calls: list[int] = []
    remember = xp.memoize()(calls.append)
    remember(1)
    remember(1)
    assert calls == [1]


def test_profiler_marks_and_device_numbers_cost_nothing() -> None:
    xp.cuda.nvtx.RangePush("step")
    xp.cuda.nvtx.RangePushC("part", 0)
    xp.cuda.nvtx.Mark("here")
    xp.cuda.nvtx.MarkC("here", 0)
    xp.cuda.nvtx.RangePop()
    assert xp.cuda.nvtx.available
    assert (xp.cuda.get_device_id(), xp.cuda.runtime.getDevice()) == (0, 0)
    assert xp.cuda.runtime.getDeviceCount() == 1
    assert not xp.cuda.Stream().is_non_blocking
    assert xp.cuda.Stream(priority=-1).priority == -1
    assert xp.ndarray[Any, np.dtype[Any]] is not None
