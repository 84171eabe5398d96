"""The stand-in for a device: what it can and cannot let pass, on kernels of a few lines."""

import numpy as np
import pytest

from reference_impl.kernels.cuda_on_host import (
    HostBuffer,
    HostLaunch,
    LaunchCrashedError,
    LaunchStoppedError,
    Order,
    Sanitizer,
)

PARAMETER = np.dtype([("numbers", np.uint64), ("count", np.int64)])

SOURCE = {
    "probe.cu": """
struct Arguments { int* numbers; long long count; };

__global__ void own_index(Arguments a) { a.numbers[blockIdx.x * 64 + threadIdx.x] = blockIdx.x * 64 + threadIdx.x; }

__global__ void neighbours(Arguments a) {
    int* shared = static_cast<int*>(dynamic_shared());
    shared[threadIdx.x] = threadIdx.x;
    __syncthreads();
    a.numbers[threadIdx.x] = shared[(threadIdx.x + 40) % 64];
}

__global__ void neighbours_without_barrier(Arguments a) {
    int* shared = static_cast<int*>(dynamic_shared());
    shared[threadIdx.x] = threadIdx.x;
    a.numbers[threadIdx.x] = shared[(threadIdx.x + 40) % 64];
}

__global__ void early_exit(Arguments a) {
    if (threadIdx.x >= 40) return;
    __syncthreads();
}

__global__ void shuffle_in_a_branch(Arguments a) {
    if (threadIdx.x % 2) a.numbers[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
}

__global__ void two_barriers(Arguments a) {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

__global__ void swapped(Arguments a) { a.numbers[threadIdx.x] = __shfl_xor_sync(0xffffffffu, int(threadIdx.x), 1); }

__global__ void rank_in_cluster(Arguments a) {
    unsigned* mine = static_cast<unsigned*>(dynamic_shared());
    if (threadIdx.x == 0) *mine = 10 + cluster_rank();
    cluster_barrier();
    a.numbers[blockIdx.x * 32 + threadIdx.x] = word_of_block(mine, 1 - cluster_rank());
    cluster_barrier();
}

__global__ void beyond(Arguments a) { a.numbers[a.count + threadIdx.x] = 1; }

__global__ void beyond_shared(Arguments a) { static_cast<char*>(dynamic_shared())[16 + threadIdx.x] = 1; }

__global__ void overflow(Arguments a) { a.numbers[0] = int(a.count) * 2; }

__global__ void convert(Arguments a) {
    for (long long i = threadIdx.x; i < a.count; i += 32) {
        a.numbers[i] = float_to_half(__uint_as_float(static_cast<unsigned>(a.numbers[i])));
    }
}

__global__ void widen(Arguments a) {
    for (long long i = threadIdx.x; i < a.count; i += 32) {
        a.numbers[i] = static_cast<int>(__float_as_uint(half_to_float(static_cast<unsigned short>(a.numbers[i]))));
    }
}

__global__ void maxima(Arguments a) {
    a.numbers[threadIdx.x] = static_cast<int>(__vmaxs2(a.numbers[threadIdx.x], 0x00050005));
}
"""
}
KERNELS = [
    line.split("void ")[1].split("(")[0]
    for line in SOURCE["probe.cu"].splitlines()
    if line.startswith("__global__")
]


@pytest.fixture(scope="module")
def plain(build_kernels):
    return build_kernels(SOURCE, KERNELS)


@pytest.fixture(scope="module")
def sanitized(build_kernels):
    return build_kernels(SOURCE, KERNELS, sanitizer=Sanitizer.ADDRESS_AND_UNDEFINED)


def run(device, kernel, numbers, *, count=0, **geometry):
    parameter = np.zeros(1, PARAMETER)
    parameter["count"] = count
    buffer = HostBuffer(np.asarray(numbers, np.int32))
    geometry = {"grid": 1, "block": 64, "shared_bytes": 256} | geometry
    pointers = {"numbers": buffer}
    launch = HostLaunch(kernel=kernel, parameter=parameter, pointers=pointers, **geometry)
    return device.run([launch])[buffer]


@pytest.mark.parametrize("order", Order)
def test_every_thread_of_every_block_runs_once(plain, order):
    got = run(plain, "own_index", np.full(192, -1), grid=3, order=order)
    np.testing.assert_array_equal(got, np.arange(192))


def test_one_block_of_many_can_be_run_alone(plain):
    got = run(plain, "own_index", np.full(192, -1), grid=3, only_cluster=1)
    assert got.tolist() == [-1] * 64 + list(range(64, 128)) + [-1] * 64


@pytest.mark.parametrize("order", Order)
def test_a_barrier_orders_what_is_shared(plain, order):
    got = run(plain, "neighbours", np.zeros(64), order=order)
    np.testing.assert_array_equal(got, (np.arange(64) + 40) % 64)


def test_a_missing_barrier_shows_in_the_result(plain):
    for order in Order:
        got = run(plain, "neighbours_without_barrier", np.zeros(64), order=order)
        assert (got != (np.arange(64) + 40) % 64).any(), order


def test_shared_memory_starts_as_no_number(plain):
    got = run(plain, "neighbours_without_barrier", np.zeros(64))
    assert -1 in got


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("early_exit", r"divergent barrier: 24 of 64 threads ended before probe\.cu:21"),
        ("two_barriers", r"divergent barrier: some threads wait at probe\.cu:30, others at probe"),
        ("shuffle_in_a_branch", r"lane 0 ended, but a warp waits for it at probe\.cu:25"),
    ],
)
@pytest.mark.parametrize("order", Order)
def test_what_would_hang_a_device_is_named(plain, kernel, words, order):
    with pytest.raises(LaunchStoppedError, match=words):
        run(plain, kernel, np.zeros(64), order=order)


def test_a_shuffle_exchanges_lanes(plain):
    got = run(plain, "swapped", np.zeros(64))
    np.testing.assert_array_equal(got, np.arange(64) ^ 1)


@pytest.mark.parametrize("order", Order)
def test_blocks_of_a_cluster_read_one_anothers_shared_memory(plain, order):
    got = run(plain, "rank_in_cluster", np.zeros(128), grid=4, block=32, cluster=2, order=order)
    assert got.reshape(4, 32)[:, 0].tolist() == [11, 10, 11, 10]


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("beyond", "heap-buffer-overflow"),
        ("beyond_shared", "heap-buffer-overflow"),
        ("overflow", r"probe\.cu:50.*signed integer overflow"),
    ],
)
def test_a_sanitizer_ends_the_launch_and_names_the_line(sanitized, kernel, words):
    count = 2**30 if kernel == "overflow" else 64
    with pytest.raises(LaunchCrashedError, match=words):
        run(sanitized, kernel, np.zeros(64), count=count, shared_bytes=16)


def test_what_a_sanitizer_finds_nothing_in_runs_to_its_end(sanitized):
    got = run(sanitized, "neighbours", np.zeros(64))
    np.testing.assert_array_equal(got, (np.arange(64) + 40) % 64)


def test_a_geometry_that_no_device_takes_is_refused(plain):
    with pytest.raises(LaunchStoppedError, match="a block of 40 threads"):
        run(plain, "own_index", np.zeros(64), block=40)
    with pytest.raises(LaunchStoppedError, match="3 blocks is no multiple"):
        run(plain, "rank_in_cluster", np.zeros(96), grid=3, block=32, cluster=2)


def test_a_kernel_that_was_not_built_is_named(plain):
    with pytest.raises(LaunchStoppedError, match="no kernel unknown"):
        run(plain, "unknown", np.zeros(1))


def test_a_source_that_does_not_compile_is_refused_in_the_compilers_words(build_kernels):
    with pytest.raises(ValueError, match=r"probe\.cu:1"):
        build_kernels({"probe.cu": "this is no C++"}, ["nothing"])


def test_every_float16_is_widened_as_numpy_does(plain):
    bits = np.arange(2**16, dtype=np.uint16)
    got = run(plain, "widen", bits.astype(np.int32), count=2**16, block=32).view(np.float32)
    np.testing.assert_array_equal(got, bits.view(np.float16).astype(np.float32))


def test_float32_is_rounded_to_float16_as_numpy_does(plain):
    every = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    every = every[np.isfinite(every)]
    between = (every[:-1] + every[1:]) / 2
    bits = np.random.default_rng(0).integers(0, 2**32, 50_000, dtype=np.uint32)
    anything = bits.view(np.float32)
    above = np.nextafter(between, np.float32(np.inf))
    values = np.concatenate([every, between, above, anything[np.isfinite(anything)]])
    values = np.append(values, np.array([np.inf, -np.inf], np.float32))
    got = run(plain, "convert", values.view(np.int32), count=len(values), block=32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            got.astype(np.uint16), values.astype(np.float16).view(np.uint16)
        )


def test_the_maximum_of_halves_is_signed(plain):
    words = np.array([0x00060004, 0x0004FFFF, -1, 0x7FFF8000, 0], np.int64).astype(np.int32)
    got = run(plain, "maxima", np.resize(words, 64)).astype(np.uint32)[:5]
    assert [hex(word) for word in got] == ["0x60005", "0x50005", "0x50005", "0x7fff0005", "0x50005"]
