"""A CUPTI that cannot be used says why, and what to do, in one line."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

from harness.errors import ExitCode, UnavailableError
from harness.probes.cupti import CuptiProbe, Host
from harness.probes.cupti.binding import (
    _NEEDED,
    _REASONS,
    call_names,
    load_cupti,
    status_name,
    unavailable,
)

MODULE = SimpleNamespace(**dict.fromkeys(_NEEDED))


def a_host(**changes):
    fine = {
        "driver_version": lambda: 13000,
        "package_version": lambda name: "13.4.0",
        "environ": {},
        "mapped_files": frozenset,
    }
    return Host(**{**fine, **changes})


def complaint(host, module=MODULE):
    with pytest.raises(UnavailableError) as caught:
        load_cupti(host, module)
    text = str(caught.value)
    assert "\n" not in text
    assert caught.value.exit_code is ExitCode.UNAVAILABLE
    return text


def missing(name):
    raise importlib.metadata.PackageNotFoundError(name)


def no_driver():
    raise UnavailableError("libcuda.so.1 did not load")


def test_a_usable_module_is_given_back_with_its_version():
    assert load_cupti(a_host(), MODULE) == (MODULE, "13.4.0")


@pytest.mark.parametrize("version", ["11.8.0", "14.0.0"])
def test_a_generation_nobody_looked_at_is_named_with_the_install_line(version):
    text = complaint(a_host(package_version=lambda name: version))
    assert version in text
    assert "pip install" in text


def test_the_generation_of_cuda_12_is_usable_with_its_driver():
    host = a_host(driver_version=lambda: 12080, package_version=lambda name: "12.8.0")
    assert load_cupti(host, MODULE) == (MODULE, "12.8.0")


@pytest.mark.parametrize(("driver", "release"), [(12080, ">=12.8,<13"), (13020, "~=13.4")])
def test_the_install_line_fits_the_driver(driver, release):
    assert release in complaint(a_host(driver_version=lambda: driver, package_version=missing))


@pytest.mark.parametrize(("driver", "release"), [(13000, "~=13.4"), (12080, ">=12.8,<13")])
def test_a_missing_package_is_named_with_the_install_line_of_the_driver(
    monkeypatch, driver, release
):
    monkeypatch.setitem(sys.modules, "cupti", None)
    text = complaint(a_host(driver_version=lambda: driver), None)
    assert "needs cupti-python, which is not installed" in text
    assert f'pip install "cupti-python{release}"' in text


def test_a_package_that_does_not_import_says_why_and_is_to_be_reinstalled(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupti", ModuleType("cupti"))
    text = complaint(a_host(), None)
    assert "cupti-python does not import (cannot import name 'cupti'" in text
    assert "reinstall it" in text


def test_a_module_without_its_package_is_named():
    assert "cupti-python" in complaint(a_host(package_version=missing))


@pytest.mark.parametrize("name", _NEEDED)
def test_a_missing_function_is_named(name):
    lacking = SimpleNamespace(**{n: None for n in _NEEDED if n != name})
    assert name in complaint(a_host(), lacking)


def test_an_old_driver_is_named_with_what_it_supports():
    text = complaint(a_host(driver_version=lambda: 12080))
    assert "12.8" in text
    assert "update the NVIDIA driver" in text


def test_no_driver_passes_through():
    assert "libcuda.so.1" in complaint(a_host(driver_version=no_driver))


def test_the_needed_names_exist_in_cupti():
    module = pytest.importorskip("cupti.cupti", reason="needs cupti-python")
    assert all(hasattr(module, name) for name in _NEEDED)
    assert call_names(module, 1)["cuCtxSynchronize"] > 0
    assert call_names(module, 2)["cudaMemcpyAsync_v3020"] > 0


def test_the_statuses_explained_are_cuptis(cupti):
    assert set(_REASONS) <= set(cupti.Result.__members__)


def test_a_status_is_named_and_explained(cupti):
    error = unavailable(cupti, "enable MEMCPY", cupti.cuptiError(14))
    assert str(error).startswith("CUPTI failed to enable MEMCPY (ERROR_NOT_COMPATIBLE): ")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS"), "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (RuntimeError(""), "RuntimeError"),
    ],
)
def test_an_exception_without_status_is_its_own_text(cupti, error, name):
    assert status_name(cupti, error) == name


def test_a_status_cupti_has_no_name_for_is_given_as_a_number(cupti):
    error = RuntimeError()
    error.status = 54321
    assert status_name(cupti, error) == "status 54321"


def test_on_this_machine_a_probe_is_made_or_says_why_not():
    """Without a GPU the message must be ours, whichever of package and driver is missing first."""
    try:
        found = CuptiProbe().name
    except UnavailableError as error:
        found = str(error)
    assert "\n" not in found
    assert re.match(r"cupti \d+\.\d+$", found) or re.search("install|update", found)
