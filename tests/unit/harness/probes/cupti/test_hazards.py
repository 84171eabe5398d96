"""What spoils a count is named, with what to do about it."""

from __future__ import annotations

import pytest

from harness.probes.cupti.hazards import foreign_tools, hazards

ONE = frozenset({"/opt/cuda/lib64/libcupti.so.13", "/lib/libc.so.6"})


def test_an_ordinary_process_has_no_hazard():
    assert hazards({}, ONE) == ()
    assert hazards({"CUPY_ENABLE_UMP": "0"}, ONE) == ()
    assert hazards({}, frozenset()) == ()


def test_shared_memory_of_cupy_is_named_with_the_fix():
    (line,) = hazards({"CUPY_ENABLE_UMP": "1"}, ONE)
    assert "CUPY_ENABLE_UMP" in line
    assert "unset it" in line


def test_two_copies_of_libcupti_are_both_named():
    (line,) = hazards({}, {*ONE, "/v/nvidia/cu13/lib/libcupti.so.13"})
    assert "2 copies" in line
    assert "/opt/cuda/lib64/libcupti.so.13" in line
    assert "/v/nvidia/cu13/lib/libcupti.so.13" in line


@pytest.mark.parametrize(
    ("subscriber", "tool"),
    [
        ("Nsight Systems", "Nsight Systems (nsys)"),
        ("NVIDIA Nsight Compute", "Nsight Compute (ncu)"),
        ("compute-sanitizer", "compute-sanitizer"),
        ("CUPTI for Kineto", "torch.profiler (Kineto)"),
        ("CUPTI for torch.cuda.warn_on_null_stream_use", "torch.profiler (Kineto)"),
    ],
)
def test_a_subscriber_is_named_by_tool_and_by_its_own_name(subscriber, tool):
    assert foreign_tools(subscriber, {}, ONE) == (f"{tool}, as {subscriber!r}",)


def test_a_tool_nobody_knows_is_named_as_it_names_itself():
    assert foreign_tools("CUPTI for acme", {}, ONE) == ("'CUPTI for acme'",)


@pytest.mark.parametrize(
    ("environ", "files", "tool"),
    [
        (
            {"CUDA_INJECTION64_PATH": "/opt/nvidia/nsight-systems/x/libToolsInjection64.so"},
            ONE,
            "nsys",
        ),
        ({}, {"/opt/nvidia/nsight-compute/2026/libcuda-injection.so"}, "ncu"),
        ({}, {"/usr/local/cuda/compute-sanitizer/libsanitizer-collection.so"}, "compute-sanitizer"),
        ({}, {"/usr/lib/libcudadebugger.so.1"}, "cuda-gdb"),
    ],
)
def test_without_a_subscribers_name_the_injected_library_gives_the_tool_away(environ, files, tool):
    (named,) = foreign_tools("", environ, files)
    assert tool in named


def test_nothing_is_named_when_nothing_tells():
    assert foreign_tools("  ", {}, ONE) == ()
