import math

import pytest

from reference_impl.kernels.planner import (
    MAX_CLASSES,
    MAX_GROUPS,
    DeviceLimits,
    Keeping,
    default_expected_dy,
    plan_counting,
    plan_rows,
    plan_scaling,
)

SIZE = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2}
CPP = {"float32": "float", "float64": "double", "float16": "Half", "bfloat16": "Bfloat16"}

# The last number of classes of each plan, and the plan: an H200's.
FLOAT32_EDGES = [
    (16, "rows_in_registers<float, 1, 4, 4>"),
    (32, "rows_in_registers<float, 1, 8, 4>"),
    (67, "rows_in_registers<float, 4, 8, 2>"),
    (131, "rows_in_registers<float, 4, 16, 2>"),
    (259, "rows_in_registers<float, 4, 32, 2>"),
    (515, "rows_in_registers<float, 4, 32, 4>"),
    (1027, "rows_in_registers<float, 4, 32, 8>"),
    (2051, "rows_in_registers<float, 4, 128, 4>"),
    (4099, "rows_in_registers<float, 4, 256, 4>"),
    (8195, "rows_in_registers<float, 4, 256, 8>"),
    (16387, "rows_in_registers<float, 4, 512, 8>"),
    (32771, "rows_in_registers<float, 4, 1024, 8>"),
    (57983, "rows_in_shared_memory<float, 4, 1024>"),
    (65539, "rows_in_cluster<float, 4, 512, 16, 2>"),
    (131075, "rows_in_cluster<float, 4, 512, 16, 4>"),
    (262147, "rows_in_cluster<float, 4, 512, 16, 8>"),
    (MAX_CLASSES, "rows_read_twice<float, 4, 1024>"),
]


@pytest.fixture(scope="module")
def h200():
    return DeviceLimits(
        compute_capability=(9, 0), shared_memory_bytes=227 * 1024, l2_bytes=50 * 2**20
    )


def test_every_edge_of_the_plan_in_float32(h200):
    first = 1
    for last, kernel in FLOAT32_EDGES:
        for classes in (first, last):
            plan = plan_rows(dtype="float32", rows=7, classes=classes, limits=h200)
            assert plan.kernel == kernel, classes
        first = last + 1


@pytest.mark.parametrize(
    ("dtype", "classes", "kernel"),
    [
        ("float16", 32, "rows_in_registers<Half, 1, 8, 4>"),
        ("float16", 33, "rows_in_registers<Half, 8, 8, 2>"),
        ("float16", 2055, "rows_in_registers<Half, 8, 32, 8>"),
        ("float16", 65543, "rows_in_registers<Half, 8, 1024, 8>"),
        ("float16", 65544, "rows_in_shared_memory<Half, 8, 1024>"),
        ("float16", 524295, "rows_in_cluster<Half, 8, 512, 16, 8>"),
        ("float16", 524296, "rows_read_twice<Half, 8, 1024>"),
        ("float64", 513, "rows_in_registers<double, 2, 32, 8>"),
        ("float64", 514, "rows_in_registers<double, 2, 128, 4>"),
        ("float64", 8193, "rows_in_registers<double, 2, 512, 8>"),
        ("float64", 8194, "rows_in_shared_memory<double, 2, 512>"),
        ("float64", 30000, "rows_in_cluster<double, 2, 512, 8, 4>"),
        ("float64", 65538, "rows_read_twice<double, 2, 512>"),
    ],
)
def test_edges_of_the_other_formats_lie_where_their_bytes_do(h200, dtype, classes, kernel):
    assert plan_rows(dtype=dtype, rows=7, classes=classes, limits=h200).kernel == kernel


@pytest.mark.parametrize("dtype", SIZE)
@pytest.mark.parametrize("rows", [0, 1, 31, 33, 4096, 2**20 + 1, 2**33])
@pytest.mark.parametrize("classes", [1, 10, 17, 33, 1000, 1001, 32000, 50257, 128256, 300000])
def test_a_launch_covers_every_row_and_stays_within_cuda(h200, dtype, rows, classes):
    plan = plan_rows(dtype=dtype, rows=rows, classes=classes, limits=h200)
    assert plan.groups * plan.rows_per_group >= rows
    assert (plan.groups - 1) * plan.rows_per_group < max(1, rows)
    assert 1 <= plan.groups <= MAX_GROUPS
    assert plan.grid == plan.groups * plan.cluster <= 2**31 - 1
    assert plan.block % 32 == 0
    assert 128 <= plan.block <= 1024
    assert plan.shared_bytes <= h200.shared_memory_bytes
    assert plan.rows_per_group <= 2**31 - 1
    assert CPP[dtype] in plan.kernel


@pytest.mark.parametrize("dtype", SIZE)
def test_what_holds_a_row_has_room_for_it(h200, dtype):
    for classes in sorted({2**k + d for k in range(19) for d in (-1, 0, 1)} - {0}):
        plan = plan_rows(dtype=dtype, rows=1, classes=classes, limits=h200)
        row_bytes = classes * SIZE[dtype] // 16 * 16
        numbers = [int(n) for n in plan.kernel.partition("<")[2].strip(">").split(", ")[1:]]
        if plan.keeping is Keeping.REGISTERS:
            width, lanes, each = numbers
            assert classes // width <= lanes * each
        elif plan.keeping is Keeping.CLUSTER:
            width, threads, each, cluster = numbers
            assert classes // width <= threads * each * cluster
            assert (threads, cluster) == (plan.block, plan.cluster)
        elif plan.keeping is Keeping.SHARED_MEMORY:
            assert plan.shared_bytes >= row_bytes


@pytest.mark.parametrize("classes", [10, 100, 1000, 10000])
def test_several_rows_to_a_block_make_whole_passes(h200, classes):
    for rows in (1, 1000, 10**6, 10**8):
        plan = plan_rows(dtype="float32", rows=rows, classes=classes, limits=h200)
        lanes = int(plan.kernel.split(", ")[2])
        assert plan.rows_per_group % (plan.block // lanes) == 0


def test_the_grid_is_the_same_on_every_device(h200):
    other = DeviceLimits(compute_capability=(7, 5), shared_memory_bytes=64 * 1024, l2_bytes=4 << 20)
    for classes in (10, 1000, 32000):
        plans = [
            plan_rows(dtype="float32", rows=10**6, classes=classes, limits=limits)
            for limits in (h200, other)
        ]
        assert plans[0].grid == plans[1].grid
        assert plans[0].rows_per_group == plans[1].rows_per_group


def test_before_clusters_a_row_that_fits_nowhere_is_read_twice():
    a100 = DeviceLimits(
        compute_capability=(8, 0), shared_memory_bytes=163 * 1024, l2_bytes=40 << 20
    )
    shared = plan_rows(dtype="float32", rows=4, classes=41000, limits=a100)
    twice = plan_rows(dtype="float32", rows=4, classes=42000, limits=a100)
    assert (shared.keeping, shared.passes_over_logits) == (Keeping.SHARED_MEMORY, 1)
    assert (twice.keeping, twice.passes_over_logits) == (Keeping.NOWHERE, 2)


def test_unequal_alignment_is_met_element_by_element(h200):
    plan = plan_rows(dtype="float32", rows=4, classes=1000, limits=h200, in_step=False)
    assert plan.kernel == "rows_read_twice<float, 1, 1024>"


def test_a_gradient_that_outgrows_the_cache_is_streamed(h200):
    small = plan_rows(dtype="float32", rows=4096, classes=1000, limits=h200)
    large = plan_rows(dtype="float32", rows=4096, classes=32000, limits=h200)
    assert (small.streaming_stores, large.streaming_stores) == (False, True)


@pytest.mark.parametrize("rows", [0, 1, 7, 4096, 10**7])
@pytest.mark.parametrize("classes", [1, 10, 1000, 128256, MAX_CLASSES])
def test_scaling_covers_every_row_with_counts_that_fit_int32(h200, rows, classes):
    plan = plan_scaling(dtype="float32", rows=rows, classes=classes, limits=h200)
    assert plan.grid * plan.rows_per_group >= rows
    assert plan.rows_per_group * classes <= MAX_CLASSES
    assert plan.grid <= 2**31 - 1


def test_scaling_that_has_nothing_to_do_starts_few_blocks(h200):
    for rows, classes in ((4096, 1000), (8192, 128256), (10**6, 10)):
        plan = plan_scaling(dtype="float32", rows=rows, classes=classes, limits=h200)
        assert plan.grid <= 4096


@pytest.mark.parametrize("rows", [0, 1, 1024, 1025, 10**9])
def test_counting_takes_at_most_a_block_to_a_multiprocessor(rows):
    plan = plan_counting(rows=rows)
    assert 1 <= plan.grid <= 128


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_the_expected_dy_is_one_where_the_format_has_the_range(dtype):
    assert default_expected_dy(dtype=dtype, rows=4096, is_mean=True) == 1.0


@pytest.mark.parametrize("rows", [1, 2, 3, 1000, 4096, 30000, 10**6])
def test_the_expected_dy_keeps_a_mean_in_float16_as_large_as_a_sum(rows):
    dy = default_expected_dy(dtype="float16", rows=rows, is_mean=True)
    assert math.log2(dy).is_integer()
    assert dy <= 2**15
    assert dy == 2**15 or 0.7 <= dy / rows <= 1.42


def test_the_expected_dy_of_no_mean_is_one():
    assert default_expected_dy(dtype="float16", rows=4096, is_mean=False) == 1.0
    assert default_expected_dy(dtype="float16", rows=0, is_mean=True) == 1.0


def test_what_no_kernel_takes_is_refused_by_name(h200):
    with pytest.raises(TypeError, match="int32"):
        plan_rows(dtype="int32", rows=1, classes=1, limits=h200)
    for classes in (0, MAX_CLASSES + 1):
        with pytest.raises(ValueError, match=f"{classes} classes"):
            plan_rows(dtype="float32", rows=1, classes=classes, limits=h200)
    with pytest.raises(ValueError, match="-1 rows"):
        plan_scaling(dtype="float32", rows=-1, classes=1, limits=h200)
