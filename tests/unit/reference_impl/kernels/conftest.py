"""The CUDA kernels on the host: built once per source, called like the op calls them on a GPU."""

import time
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from reference_impl.kernels.cuda_on_host import (
    CompilerMissingError,
    HostBuffer,
    HostDevice,
    HostLaunch,
    Order,
    Sanitizer,
    build,
)
from reference_impl.kernels.planner import (
    DeviceLimits,
    Launch,
    plan_counting,
    plan_rows,
    plan_scaling,
)
from reference_impl.kernels.source import MACHINE, joined, source_parts
from reference_impl.kernels.task import COMPLAINT, TASK, WORKSPACE, Flag

ACCUMULATOR = {"float32": np.float32, "float64": np.float64}
REDUCTIONS = {"mean": Flag.MEAN, "sum": Flag.SUM, "none": Flag(0)}

# Widths of rows for each format: enough to meet every plan in float32, and in the others those whose code differs.
CLASSES = {
    "float32": (
        1,
        3,
        10,
        16,
        17,
        32,
        33,
        64,
        101,
        511,
        1000,
        1024,
        1027,
        2048,
        32000,
        32771,
        40000,
        65543,
    ),
    "float64": (3, 17, 101, 600),
    "float16": (3, 17, 101, 1003),
    "bfloat16": (3, 17, 101, 1003),
}


def limits(*, compute_capability=(9, 0), shared_memory_bytes=227 * 1024, l2_bytes=50 * 2**20):
    """An H200, unless said otherwise."""
    return DeviceLimits(
        compute_capability=compute_capability,
        shared_memory_bytes=shared_memory_bytes,
        l2_bytes=l2_bytes,
    )


# Three devices between which every plan is chosen: rows of 40000 float32 fit the shared memory of the first only, of
# the others the second has clusters.
DEVICES = {
    "sm_90": limits(),
    "sm_120": limits(compute_capability=(12, 0), shared_memory_bytes=99 * 1024),
    "sm_75": limits(compute_capability=(7, 5), shared_memory_bytes=64 * 1024),
}


def planned_kernels():
    """The kernels that those rows need on those devices, and the ones of backward and of unequal alignment."""
    rows = {
        plan_rows(dtype=dtype, rows=1, classes=classes, limits=device).kernel
        for dtype, widths in CLASSES.items()
        for classes in widths
        for device in DEVICES.values()
    }
    others = ("count_labels", "rows_read_twice<float, 1, 1024>", "rows_read_twice<Half, 8, 1024>")
    return (*sorted(rows), *others, "scale_gradient<float, 4>", "scale_gradient<Half, 8>")


@pytest.fixture(scope="session")
def programs(request, tmp_path_factory):
    """Where built programs stay from one test run to the next, a week long: they are named for what is in them."""
    cache = getattr(request.config, "cache", None)
    if cache is None:
        return tmp_path_factory.mktemp("cuda_on_host")
    folder = cache.mkdir("cuda_on_host")
    for program in folder.iterdir():
        if program.stat().st_mtime < time.time() - 7 * 24 * 3600:
            program.unlink()
    return folder


@pytest.fixture(scope="session")
def build_kernels(programs):
    """A function from sources by name to a device; skips where there is no g++."""

    def built(parts, kernels, *, sanitizer=Sanitizer.NONE, facts=None):
        try:
            program = build(
                joined(parts), kernels, folder=programs, sanitizer=sanitizer, facts=facts
            )
        except CompilerMissingError as missing:
            pytest.skip(str(missing))
        return HostDevice(program)

    return built


@pytest.fixture(scope="session")
def host_parts():
    return {name: text for name, text in source_parts().items() if name != MACHINE}


@pytest.fixture(scope="session")
def host_gpu(build_kernels, host_parts):
    return FusedOnHost(build_kernels(host_parts, planned_kernels()))


@pytest.fixture(scope="session")
def devices():
    return DEVICES


@pytest.fixture(scope="session")
def far_row():
    """A function that runs the one block whose work is row ``row``, the only row there is memory for."""

    def run(gpu, x, t, *, row):
        ((each,), buffers) = gpu.call(x, t, reduction="none")
        sizes = {"logits": x[0].nbytes, "gradient": x[0].nbytes, "labels": 8, "losses": 4}
        pointers = {
            name: HostBuffer(buffer.array, distance=row * sizes.get(name, 0))
            for name, buffer in buffers.items()
        }
        task = each.parameter.copy()
        task["rows"] = row + 1
        groups = row // int(task["rows_per_group"][0])
        # The row must be the group's first: the team that has it is then the block's first.
        assert row % int(task["rows_per_group"][0]) == 0, "choose a row that begins a group"
        far = replace(each, parameter=task, pointers=pointers, grid=groups + 1, only_cluster=groups)
        contents = gpu.device.run([far])
        return {name: contents[buffer] for name, buffer in pointers.items()}

    return run


@pytest.fixture(scope="session")
def fused_on_host():
    return FusedOnHost


@dataclass(frozen=True)
class FusedOnHost:
    """The op's calls on a device of ``cuda_on_host``. ``limits`` is what the planner is told of it."""

    device: HostDevice
    limits: DeviceLimits = DEVICES["sm_90"]

    def like(self, architecture):
        return replace(self, limits=DEVICES[architecture])

    def forward_backward(self, logits, labels, **options):
        return self.run([self.call(logits, labels, **options)])[0]

    def call(
        self,
        logits,
        labels,
        *,
        reduction="mean",
        ignore_index=None,
        expected_dy=1.0,
        order=Order.FORWARD,
        seed=1,
        gradient="own",
        misalignment=0,
        kernel=None,
        workspace=None,
        rows_per_group=None,
    ):
        rows, classes = logits.shape
        plan = plan_rows(
            dtype=logits.dtype.name,
            rows=rows,
            classes=classes,
            limits=self.limits,
            in_step=gradient == "in place" or misalignment == 0,
        )
        if rows_per_group is not None:
            groups = -(-rows // rows_per_group)
            plan = replace(plan, rows_per_group=rows_per_group, grid=groups * plan.cluster)
        flags = REDUCTIONS[reduction]
        flags |= Flag.LABELS_ARE_INT64 if labels.dtype == np.int64 else Flag(0)
        flags |= Flag.HAS_IGNORE_INDEX if ignore_index is not None else Flag(0)
        flags |= Flag.STREAMING_STORES if plan.streaming_stores else Flag(0)
        task = a_task(rows, classes, plan, flags, expected_dy)
        task["ignore_index"] = ignore_index or 0
        wide = wide_dtype(logits.dtype)
        buffers = {
            "logits": HostBuffer(logits, misalignment=misalignment),
            "labels": HostBuffer(labels),
            "losses": HostBuffer(np.full(rows, 7, wide)),
            "loss": HostBuffer(np.full(1, 7, wide)),
            "partials": HostBuffer(np.full(plan.groups, np.nan)),
            "workspace": workspace or HostBuffer(np.zeros(1, WORKSPACE)),
            "complaint": HostBuffer(np.zeros(1, COMPLAINT)),
        }
        if gradient == "own":
            buffers["gradient"] = HostBuffer(np.full(logits.shape, 7, logits.dtype))
        if gradient == "in place":
            buffers["gradient"] = buffers["logits"]
        launches = [launch(plan, task, buffers, order=order, seed=seed, kernel=kernel)]
        if reduction == "mean" and ignore_index is not None:
            launches.insert(0, launch(plan_counting(rows=rows), task, buffers, order=order))
        return launches, buffers

    def run(self, calls):
        """Several calls, one after another in one process; the contents of each one's buffers by name."""
        contents = self.device.run([each for launches, _ in calls for each in launches])
        return [
            {name: contents[buffer] for name, buffer in buffers.items()} for _, buffers in calls
        ]

    def scale_gradient(self, gradient, dy, *, expected_dy=1.0, order=Order.FORWARD):
        rows, classes = gradient.shape
        plan = plan_scaling(
            dtype=gradient.dtype.name, rows=rows, classes=classes, limits=self.limits
        )
        flags = Flag.DY_PER_ROW if dy.size > 1 else Flag(0)
        buffers = {"gradient": HostBuffer(gradient), "dy": HostBuffer(dy)}
        task = a_task(rows, classes, plan, flags, expected_dy)
        contents = self.device.run([launch(plan, task, buffers, order=order)])
        return contents[buffers["gradient"]]


def a_task(rows, classes, plan: Launch, flags, expected_dy):
    task = np.zeros(1, TASK)
    task["rows"] = rows
    task["classes"] = classes
    task["rows_per_group"] = plan.rows_per_group
    task["flags"] = flags
    task["expected_dy"] = expected_dy
    return task


def launch(plan: Launch, task, buffers, *, order=Order.FORWARD, seed=1, kernel=None):
    return HostLaunch(
        kernel=kernel or plan.kernel,
        grid=plan.grid,
        block=plan.block,
        cluster=plan.cluster,
        shared_bytes=plan.shared_bytes,
        parameter=task,
        pointers=buffers,
        order=order,
        seed=seed,
    )


def wide_dtype(dtype):
    return np.float64 if dtype == np.float64 else np.float32


@cache
def random_logits(shape, dtype, seed=0, spread=4.0):
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) * spread).astype(dtype)


@pytest.fixture(scope="session")
def logits_of():
    return random_logits


@pytest.fixture(scope="session")
def labels_of():
    def labels(rows, classes, dtype=np.int64, seed=1):
        return np.random.default_rng(seed).integers(0, classes, rows).astype(dtype)

    return labels


@pytest.fixture(scope="session")
def assert_fused():
    """Loss and gradient against the float64 oracle, to a few roundings of the formats they are kept in."""

    def check(got, truth, *, rows=1, loss="loss"):
        with np.errstate(invalid="ignore"):  # inf - inf
            compare(got, truth, rows, loss)

    def compare(got, truth, rows, loss):
        gradient = got["gradient"]
        wide = wide_dtype(gradient.dtype)
        classes = gradient.shape[1]
        expected = truth.loss if np.ndim(truth.loss) else np.array([truth.loss])
        one = np.maximum(1.0, np.abs(np.where(np.isfinite(expected), expected, 1.0)))
        # Four roundings of the loss, and the accumulated ones of a sum over the classes.
        room = np.broadcast_to(np.finfo(wide).eps * (4 * one + np.log2(max(2, classes))), one.shape)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(got[loss][~finite], expected[~finite])
        np.testing.assert_array_less(np.abs(got[loss] - expected)[finite], room[finite])
        # A gradient is at most 1 / rows; it is rounded when it is stored, and to nearest.
        stored = _spacing(gradient.dtype, truth.gradient)
        room = stored / 2 + 16 * np.finfo(wide).eps / rows
        off = np.abs(gradient.astype(np.float64) - truth.gradient)
        bad = ~(off <= room) & ~(np.isnan(gradient) & np.isnan(truth.gradient))
        assert not bad.any(), f"gradient off by {off[bad].max()} at {np.argwhere(bad)[0]}"

    return check


def _spacing(dtype, values):
    mantissa = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}[dtype.name]
    least = {"float64": -1074, "float32": -149, "float16": -24, "bfloat16": -133}[dtype.name]
    _, exponent = np.frexp(np.abs(np.nan_to_num(values)))
    return np.exp2(np.maximum(exponent - 1 - mantissa, least).astype(np.float64))
