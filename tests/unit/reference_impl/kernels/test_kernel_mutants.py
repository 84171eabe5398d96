"""Defects planted in the CUDA source, each seen by the check meant for it; the source as it is passes all of them."""

from dataclasses import dataclass

import numpy as np
import pytest

from reference_impl.kernels.cuda_on_host import (
    LaunchCrashedError,
    LaunchStoppedError,
    Order,
    Sanitizer,
)
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy as oracle

pytestmark = pytest.mark.slow  # compiles the kernels anew, under sanitizers or with a defect

SINGLE = "rows_in_registers<float, 1, 4, 4>"
SMALL = "rows_in_registers<float, 4, 8, 2>"
BLOCK = "rows_in_registers<float, 4, 128, 4>"
CLUSTER = "rows_in_cluster<float, 4, 512, 16, 2>"
TWICE = "rows_read_twice<float, 4, 1024>"

# The kernel in which each check looks, so that a mutant compiles no other.
KERNEL_OF_CHECK = {
    "any order": BLOCK,
    "several rows": BLOCK,
    "teams without a row": SMALL,
    "cluster": CLUSTER,
    "memory": BLOCK,
    "in place": BLOCK,
    "-inf": TWICE,
    "offset": SINGLE,
    "second launch": SINGLE,
    "bad label": SINGLE,
    "far row": BLOCK,
}


@dataclass(frozen=True)
class Mutant:
    """``old``, which occurs once in ``file``, becomes ``new``; the check named ``seen_by`` must see it."""

    file: str
    old: str
    new: str
    seen_by: str
    sanitizer: Sanitizer = Sanitizer.NONE


SANITIZED = Sanitizer.ADDRESS_AND_UNDEFINED
MUTANTS = {
    "a barrier is missing in the reduction": Mutant(
        "teams.cuh",
        "if (lane == 0) slots[warp] = value;\n            __syncthreads();",
        "if (lane == 0) slots[warp] = value;",
        "any order",
    ),
    "both reductions of a row use the same slots": Mutant(
        "teams.cuh",
        "A(0), scratch<A>().sum, &scratch<A>().sum_of_block",
        "A(0), scratch<A>().peak, &scratch<A>().peak_of_block",
        "several rows",
    ),
    "a team without a row leaves before the shuffle": Mutant(
        "softmax_cross_entropy.cu",
        "        Keeper keeper;\n",
        "        if (!row.exists()) return;\n        Keeper keeper;\n",
        "teams without a row",
    ),
    "half the threads do not reach a barrier": Mutant(
        "teams.cuh",
        "if (lane == 0) slots[warp] = value;\n            __syncthreads();",
        "if (lane == 0) slots[warp] = value;\n            if (warp > 1) return value;\n            __syncthreads();",
        "any order",
    ),
    "the barrier at the end of a cluster is missing": Mutant(
        "teams.cuh",
        "        if constexpr (CLUSTER > 1) cluster_barrier();\n    }\n};",
        "    }\n};",
        "cluster",
    ),
    "a piece too many is read": Mutant(
        "rows.cuh",
        "return is_read() && piece < span.pieces ?",
        "return is_read() && piece <= span.pieces ?",
        "memory",
        SANITIZED,
    ),
    "the edge is written past its end": Mutant(
        "rows.cuh",
        "if (element >= row.span.edge()) break;",
        "if (element > row.span.edge()) break;",
        "memory",
        SANITIZED,
    ),
    "rows are taken for aligned": Mutant(
        "rows.cuh",
        "before = (WIDTH - misalignment(from)) % WIDTH;",
        "before = 0;",
        "memory",
        SANITIZED,
    ),
    "a row's offset has 32 bits": Mutant(
        "softmax_cross_entropy.cu",
        "const long long offset = exists ? index * task.classes : 0;",
        "const int offset = exists ? static_cast<int>(index) * task.classes : 0;",
        "far row",
        SANITIZED,
    ),
    "the label's logit is read after it is written over": Mutant(
        "softmax_cross_entropy.cu",
        "exponential<T>(row.logit - peak) * factor - shared.scale",
        "exponential<T>(widened(row.span.from[row.column]) - peak) * factor - shared.scale",
        "in place",
    ),
    "an empty thread's sum is NaN": Mutant(
        "rows.cuh",
        "peak == -infinity<A>() ? A(0) : peak);",
        "peak);",
        "-inf",
    ),
    "the loss is taken from the logarithm of the whole sum": Mutant(
        "rows.cuh",
        "logarithm(sum) - (logit - peak)",
        "(logarithm(sum) + peak) - logit",
        "offset",
    ),
    "the counter of groups is not reset": Mutant(
        "softmax_cross_entropy.cu",
        "atomicInc(&task.workspace->groups_done, last)",
        "atomicInc(&task.workspace->groups_done, 0xffffffffu)",
        "second launch",
    ),
    "a bad label wraps around": Mutant(
        "softmax_cross_entropy.cu",
        "if (label < 0 || label >= task.classes) return {span, Row<T, WIDTH>::BAD};",
        "if (label < 0) return {span, static_cast<int>(label + task.classes)};",
        "bad label",
    ),
}

CHECKS_IN_USE = sorted({(mutant.seen_by, mutant.sanitizer) for mutant in MUTANTS.values()}, key=str)


@pytest.fixture(scope="module")
def checks(logits_of, labels_of, assert_fused, far_row):
    def agrees(gpu, shape, *, architecture="sm_90", orders=Order, **options):
        x, t = logits_of(shape, np.float32), labels_of(*shape)
        for order in orders:
            call = gpu.like(architecture).call(x, t, order=order, seed=3, **options)
            assert_fused(gpu.run([call])[0], oracle(x, t), rows=shape[0])

    def minus_infinity(gpu):
        # 1024 threads see 4 classes each: the first 8 all of the -inf.
        x, t = logits_of((2, 40000), np.float32).copy(), np.array([5, 39999])
        x[0, :32] = -np.inf
        t[0] = 100
        got = gpu.like("sm_75").forward_backward(x, t)
        assert_fused(got, oracle(x, t), rows=2)

    def in_place(gpu):
        x = logits_of((3, 2048), np.float32)
        t = x.argmax(axis=1)  # a label whose probability shows in its gradient
        for order in Order:
            got = gpu.forward_backward(x, t, gradient="in place", order=order)
            assert_fused(got, oracle(x, t), rows=3)

    def offset(gpu):
        got = gpu.forward_backward(np.full((2, 10), 1e8, np.float32), np.array([0, 9]))
        np.testing.assert_allclose(got["loss"], np.log(10), rtol=1e-6)

    def second_launch(gpu):
        x, t = logits_of((67, 10), np.float32), labels_of(67, 10)
        first = gpu.call(x, t)
        second = gpu.call(x, t, workspace=first[1]["workspace"])
        for got in gpu.run([first, second]):
            assert_fused(got, oracle(x, t), rows=67)

    def bad_label(gpu):
        x, t = logits_of((3, 10), np.float32), np.array([1, -1, 2])
        got = gpu.forward_backward(x, t, reduction="none")
        assert np.isnan(got["losses"]).tolist() == [False, True, False]

    def far(gpu):
        x, t = logits_of((1, 2048), np.float32), labels_of(1, 2048)
        got = far_row(gpu, x, t, row=2**21)
        assert_fused(got, oracle(x, t, reduction="none"), loss="losses")

    return {
        "any order": lambda gpu: agrees(gpu, (2, 2048)),
        "several rows": lambda gpu: agrees(gpu, (6, 2048), rows_per_group=3),
        "teams without a row": lambda gpu: agrees(gpu, (5, 33)),
        "cluster": lambda gpu: agrees(gpu, (2, 40000), architecture="sm_120"),
        "memory": lambda gpu: agrees(gpu, (3, 2047), orders=[Order.FORWARD]),
        "in place": in_place,
        "-inf": minus_infinity,
        "offset": offset,
        "second launch": second_launch,
        "bad label": bad_label,
        "far row": far,
    }


@pytest.fixture(scope="module")
def gpu_of(build_kernels, host_parts, fused_on_host):
    def mutated(mutant):
        parts = dict(host_parts)
        assert parts[mutant.file].count(mutant.old) == 1, "the mutant no longer fits the source"
        parts[mutant.file] = parts[mutant.file].replace(mutant.old, mutant.new)
        kernels = (KERNEL_OF_CHECK[mutant.seen_by],)
        return fused_on_host(build_kernels(parts, kernels, sanitizer=mutant.sanitizer))

    return mutated


@pytest.fixture(scope="module")
def unmutated(build_kernels, host_parts, fused_on_host):
    def device(sanitizer):
        kernels = {KERNEL_OF_CHECK[check] for check, used in CHECKS_IN_USE if used is sanitizer}
        return fused_on_host(build_kernels(host_parts, sorted(kernels), sanitizer=sanitizer))

    return device


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_defect_is_seen(gpu_of, checks, name):
    mutant = MUTANTS[name]
    gpu = gpu_of(mutant)
    with pytest.raises((AssertionError, LaunchCrashedError, LaunchStoppedError)):
        checks[mutant.seen_by](gpu)


@pytest.mark.parametrize(("check", "sanitizer"), CHECKS_IN_USE)
def test_the_source_as_it_is_passes_every_check(unmutated, checks, check, sanitizer):
    checks[check](unmutated(sanitizer))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "half the threads do not reach a barrier",
            "divergent barrier: some threads wait at teams.cuh",
        ),
        ("a team without a row leaves before the shuffle", "a warp waits for it at teams.cuh"),
        ("the barrier at the end of a cluster is missing", "after that block has ended"),
        ("a piece too many is read", "heap-buffer-overflow"),
        ("rows are taken for aligned", "misaligned address"),
        ("a row's offset has 32 bits", "signed integer overflow"),
    ],
)
def test_what_was_seen_is_named(gpu_of, checks, name, words):
    mutant = MUTANTS[name]
    with pytest.raises((LaunchCrashedError, LaunchStoppedError), match=words):
        checks[mutant.seen_by](gpu_of(mutant))
