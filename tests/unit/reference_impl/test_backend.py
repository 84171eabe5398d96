import subprocess
import sys
import types

import ml_dtypes
import numpy as np
import pytest

from reference_impl.backend import accumulation_dtype, is_host, namespace


def test_numpy_arrays_and_scalars_belong_to_numpy():
    assert namespace(np.zeros(2), np.float32(1), np.zeros(())) is np


def test_an_array_names_its_own_namespace(device):
    assert namespace(device.array([1.0]), device.array([2.0])) is device


def test_an_array_without_a_namespace_method_belongs_to_its_root_package(monkeypatch):
    package = types.ModuleType("fakecupy")
    package.ndarray = type("ndarray", (), {"__module__": "fakecupy._core.core", "dtype": None})
    monkeypatch.setitem(sys.modules, "fakecupy", package)
    assert namespace(package.ndarray()) is package
    assert not is_host(package.ndarray())


def test_arrays_of_two_namespaces_are_refused_by_name(device):
    with pytest.raises(TypeError, match=r"numpy and strict"):
        namespace(np.zeros(2), device.array([1.0]))


@pytest.mark.parametrize("value", [[1.0], 1.0, None, "x", object()])
def test_what_is_not_an_array_is_refused_by_type(value):
    with pytest.raises(TypeError, match=f"{type(value).__name__} is not an array"):
        namespace(value)


def test_no_array_at_all_is_refused():
    with pytest.raises(TypeError, match="at least one"):
        namespace()


def test_only_host_arrays_are_on_the_host(device):
    assert is_host(np.zeros(1))
    assert is_host(np.float64(0))
    assert not is_host(device.array([0.0]))


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [
        (np.float16, np.float32),
        (ml_dtypes.bfloat16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
    ],
)
def test_sums_are_taken_in_float32_or_wider(dtype, wide):
    assert accumulation_dtype(np.dtype(dtype)) == np.dtype(wide)


@pytest.mark.parametrize("dtype", ["int32", "complex64", "bool", "O"])
def test_a_dtype_without_an_accumulation_format_is_refused_by_name(dtype):
    with pytest.raises(TypeError, match=np.dtype(dtype).name):
        accumulation_dtype(dtype)


def test_importing_the_ops_imports_no_array_library_but_numpy():
    code = (
        "import sys, reference_impl.ops, reference_impl.optim;"
        "print(sorted({'cupy', 'ml_dtypes', 'torch', 'jax', 'harness', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
