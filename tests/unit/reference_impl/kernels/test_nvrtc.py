"""The kernels compiled for every architecture, with no driver: none may spill, each keeps to its registers."""

import pytest

from reference_impl.kernels.nvrtc import NvrtcMissingError, resources_of, supported_architectures
from reference_impl.kernels.planner import DeviceLimits, Keeping, plan_rows
from reference_impl.kernels.source import MACHINE, joined, source_parts

CPP = {"float32": "float", "float64": "double", "float16": "Half", "bfloat16": "Bfloat16"}
WIDTH = {"float32": 4, "float64": 2, "float16": 8, "bfloat16": 8}
ARCHITECTURES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)


@pytest.fixture(scope="module", autouse=True)
def architectures():
    try:
        return supported_architectures()
    except NvrtcMissingError as missing:
        pytest.skip(str(missing))


def plans_of(dtype, architecture):
    """Every plan that some number of classes leads to on this architecture, and that of unequal alignment."""
    limits = DeviceLimits(
        compute_capability=divmod(architecture, 10), shared_memory_bytes=163 * 1024, l2_bytes=0
    )
    widths = [2**k + d for k in range(20) for d in (0, 2**k // 2)]
    widths.append(
        150 * 1024 * WIDTH[dtype] // 16
    )  # 150 KiB: too much for registers, not for shared memory
    plans = [plan_rows(dtype=dtype, rows=1, classes=c, limits=limits) for c in widths]
    assert {plan.keeping for plan in plans} >= {*Keeping} - {Keeping.CLUSTER}
    plans.append(plan_rows(dtype=dtype, rows=1, classes=1, limits=limits, in_step=False))
    return {plan.kernel: plan for plan in plans}


def registers_for(dtype, plan):
    """A thread's share of the 65536 registers of a multiprocessor.

    Of 1024 threads each has 64. Of six blocks of 128 threads each has 80; of 512 threads, which is what float64 and
    clusters settle for, 128.
    """
    if dtype == "float64" or plan.cluster > 1:
        return 128
    return 80 if plan.block == 128 else 64


def check(dtype, architecture):
    plans = plans_of(dtype, architecture)
    scaling = f"scale_gradient<{CPP[dtype]}, {WIDTH[dtype]}>"
    for each in resources_of([*plans, scaling, "count_labels"], architecture=architecture):
        assert each.spilled_bytes == each.stack_bytes == 0, each
        limit = registers_for(dtype, plans[each.kernel]) if each.kernel in plans else 64
        assert each.registers <= limit, each
        moves_pieces = f"{CPP[dtype]}, {WIDTH[dtype]}" in each.kernel
        assert (each.wide_loads > 0) == moves_pieces, each


def test_no_kernel_spills_or_takes_more_than_its_registers():
    for dtype, architecture in (("float32", 75), ("bfloat16", 80), ("float32", 90)):
        check(dtype, architecture)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("dtype", CPP)
def test_no_kernel_spills_on_any_architecture(architectures, dtype, architecture):
    if architecture not in architectures:
        pytest.skip(f"this NVRTC compiles for {', '.join(map(str, architectures))} only")
    check(dtype, architecture)


def test_a_kernel_that_spills_is_seen():
    # 32 pieces of 16 bytes are 128 registers of data alone; a thread of a block of 1024 has 64.
    (each,) = resources_of(["rows_in_registers<float, 4, 1024, 32>"], architecture=90)
    assert each.spilled_bytes > 0


def test_a_kernel_that_takes_its_pieces_apart_is_seen():
    parts = dict(source_parts())
    old = "return *in_global_memory(reinterpret_cast<const Piece<T, WIDTH>*>(from + column_of_piece(piece)));"
    new = """Piece<T, WIDTH> apart;
        for (int i = 0; i < WIDTH; ++i) apart.item[i] = from[column_of_piece(piece) + i];
        return apart;"""
    assert parts["rows.cuh"].count(old) == 1
    parts["rows.cuh"] = parts["rows.cuh"].replace(old, new)
    kernel = "rows_in_registers<float, 4, 32, 2>"
    (each,) = resources_of([kernel], architecture=90, source=joined(parts))
    assert each.wide_loads == 0


def test_a_source_that_nvrtc_refuses_is_refused_in_its_words():
    with pytest.raises(ValueError, match=r"sm_90(.|\n)*machine.cuh\(1\)"):
        resources_of([], architecture=90, source=joined({MACHINE: "this is no C++"}))
