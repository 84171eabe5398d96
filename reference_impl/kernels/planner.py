"""Which kernel runs over (N, C) logits, and with what geometry: plain arithmetic, no device needed.

A row of logits is kept where it fits between the one reading and the one writing: in the registers of 4 to 1024
threads, in the shared memory of a block, in the registers of a cluster of blocks. A row that fits nowhere is read
twice. The grid depends on N, C and dtype alone, so the mean is added up in the same order on every device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "MAX_CLASSES",
    "MAX_GROUPS",
    "DeviceLimits",
    "Keeping",
    "Launch",
    "default_expected_dy",
    "plan_counting",
    "plan_rows",
    "plan_scaling",
]

MAX_CLASSES = 2**31 - 2**14
"""Columns are int32 in the kernels, and a loop over them steps past the end by 1024 threads x 8 elements at most."""

MAX_GROUPS = 16384
"""Groups of rows whose losses the last block adds up: 128 KiB, 128 additions for each of 128 threads. More rows than
that share groups, several to each."""

_PIECE_BYTES = 16
"""What a thread moves at once: the widest load there is."""

_SMALL_BLOCK = 128
"""Threads of a block that works on several rows at once."""

_CLUSTER_SIZES = (2, 4, 8)
"""Blocks of a cluster. Eight is the most that every device with clusters can schedule."""

_CLUSTER_BLOCK = 512
"""Threads of each of them: 128 registers to a thread, half of them for the row."""

_CLUSTERS_SINCE = (9, 0)

_SCALING_BLOCK = 256
_SCALING_ELEMENTS = 16384
"""Elements to a block of ``scale_gradient`` at least: 64 to a thread, so that starting a block costs little."""
_SCALING_BLOCKS = 4096
"""Blocks of ``scale_gradient`` at most, or nearly: when dy is as expected their start is all that is paid for."""

_COUNTING_BLOCK = 256
_COUNTING_BLOCKS = 128
"""Blocks of ``count_labels`` at most, about one to a multiprocessor."""


class Keeping(StrEnum):
    """Where a row is between its reading and its writing."""

    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"
    CLUSTER = "registers of a cluster"
    NOWHERE = "nowhere: read twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLimits:
    """What a plan must know of a device. ``shared_memory_bytes``: what one block can have when it asks for it."""

    compute_capability: tuple[int, int]
    shared_memory_bytes: int
    l2_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A kernel, named as C++ names it, and its geometry. ``cluster`` divides ``grid``."""

    kernel: str
    grid: int
    block: int
    shared_bytes: int = 0
    cluster: int = 1
    rows_per_group: int = 1
    keeping: Keeping | None = None
    streaming_stores: bool = False

    @property
    def groups(self) -> int:
        """Groups of rows, each with one number among the partial sums."""
        return self.grid // self.cluster

    @property
    def passes_over_logits(self) -> int:
        """How often each logit is read."""
        return 2 if self.keeping is Keeping.NOWHERE else 1


@dataclass(frozen=True, slots=True)
class _Format:
    """How one number format is handled.

    ``width``: elements of a piece. ``scratch_bytes``: sizeof(Scratch<Accumulator<T>>), 2 x 32 slots and 3 values of the
    accumulator, 32 float64 totals and a flag, up to the next 16 bytes. ``largest_block``: a block of 1024 threads has
    64 registers to a thread, and the exponential of float64 needs more. ``cluster_pieces``: to a thread of a cluster,
    where that exponential leaves room for 8 of them, the others for 16.
    """

    name: str
    width: int
    size_bytes: int
    largest_block: int
    scratch_bytes: int
    cluster_pieces: int


_FORMATS = {
    "float32": _Format("float", 4, 4, 1024, 528, 16),
    "float64": _Format("double", 2, 8, 512, 800, 8),
    "float16": _Format("Half", 8, 2, 1024, 528, 16),
    "bfloat16": _Format("Bfloat16", 8, 2, 1024, 528, 16),
}

_SINGLE_ELEMENTS = ((4, 4), (8, 4))
"""Lanes to a row and elements to a lane where rows are too short to be cut into pieces: up to 16 and 32 classes."""

_PIECES = (
    (8, 2),
    (16, 2),
    (32, 2),
    (32, 4),
    (32, 8),
    (128, 4),
    (256, 4),
    (256, 8),
    (512, 8),
    (1024, 8),
)
"""Lanes to a row and pieces to a lane, for rows of up to 256 and 512 bytes, 1, 2, 4, 8, 16, 32, 64 and 128 KiB. The
last has half the registers of a multiprocessor, and needs the other half to work with."""


def plan_rows(
    *, dtype: str, rows: int, classes: int, limits: DeviceLimits, in_step: bool = True
) -> Launch:
    """The launch that computes losses and gradient of ``rows`` x ``classes`` logits of ``dtype``.

    ``in_step``: whether logits and gradient are equally aligned to 16 bytes, as two allocations are. If not, every
    element moves by itself and rows are read twice. No rows make a launch of one block, which writes the loss of
    nothing. Raises ``TypeError`` for a dtype and ``ValueError`` for a shape that no kernel takes.
    """
    form = _format(dtype)
    _check_shape(rows, classes)
    choice = _choice(form, classes, limits) if in_step else _read_twice(form, 1)
    block = max(choice.lanes, _SMALL_BLOCK)
    teams = block // choice.lanes
    passes = max(1, -(-rows // (teams * MAX_GROUPS)))
    rows_per_group = teams * passes
    groups = max(1, -(-rows // rows_per_group))
    return Launch(
        kernel=choice.kernel,
        grid=groups * choice.cluster,
        block=block,
        shared_bytes=form.scratch_bytes + choice.row_bytes,
        cluster=choice.cluster,
        rows_per_group=rows_per_group,
        keeping=choice.keeping,
        streaming_stores=rows * classes * form.size_bytes > limits.l2_bytes,
    )


def plan_scaling(*, dtype: str, rows: int, classes: int, limits: DeviceLimits) -> Launch:
    """The launch that multiplies a gradient by what dy turned out to be."""
    form = _format(dtype)
    _check_shape(rows, classes)
    wanted = max(-(-_SCALING_ELEMENTS // classes), -(-rows // _SCALING_BLOCKS))
    rows_per_group = max(1, min(wanted, MAX_CLASSES // classes))
    return Launch(
        kernel=f"scale_gradient<{form.name}, {form.width}>",
        grid=max(1, -(-rows // rows_per_group)),
        block=_SCALING_BLOCK,
        rows_per_group=rows_per_group,
        streaming_stores=rows * classes * form.size_bytes > limits.l2_bytes,
    )


def plan_counting(*, rows: int) -> Launch:
    """The launch that counts the labels a mean divides by. Needed only where some may be ignored."""
    _check_shape(rows, 1)
    grid = max(1, min(_COUNTING_BLOCKS, -(-rows // (4 * _COUNTING_BLOCK))))
    return Launch(kernel="count_labels", grid=grid, block=_COUNTING_BLOCK)


def default_expected_dy(*, dtype: str, rows: int, is_mean: bool) -> float:
    """The dy for which forward prepares the gradient, so that backward need not touch it.

    1, save for the mean of float16 rows: p / N falls among the subnormals of float16 for N in the thousands, and a dy
    that is a loss scale would come too late. There it is the power of two nearest to N, at most 2**15 that one row alone
    cannot overflow: the gradient is kept as large as without a mean, and backward divides, exactly.
    """
    _format(dtype)
    if dtype != "float16" or not is_mean or rows < 1:
        return 1.0
    return 2.0 ** min(15, round(math.log2(rows)))


@dataclass(frozen=True, slots=True)
class _Choice:
    keeping: Keeping
    kernel: str
    lanes: int
    cluster: int = 1
    row_bytes: int = 0


def _choice(form: _Format, classes: int, limits: DeviceLimits) -> _Choice:
    for lanes, each in _SINGLE_ELEMENTS:
        if classes <= lanes * each:
            return _in_registers(form, 1, lanes, each)
    pieces = classes // form.width
    for lanes, each in _PIECES:
        if pieces <= lanes * each and lanes <= form.largest_block:
            return _in_registers(form, form.width, lanes, each)
    return (
        _in_shared_memory(form, pieces, limits)
        or _in_cluster(form, pieces, limits)
        or _read_twice(form, form.width)
    )


def _in_registers(form: _Format, width: int, lanes: int, each: int) -> _Choice:
    name = f"rows_in_registers<{form.name}, {width}, {lanes}, {each}>"
    return _Choice(Keeping.REGISTERS, name, lanes)


def _in_shared_memory(form: _Format, pieces: int, limits: DeviceLimits) -> _Choice | None:
    row_bytes = pieces * _PIECE_BYTES
    if form.scratch_bytes + row_bytes > limits.shared_memory_bytes:
        return None
    name = f"rows_in_shared_memory<{form.name}, {form.width}, {form.largest_block}>"
    return _Choice(Keeping.SHARED_MEMORY, name, form.largest_block, row_bytes=row_bytes)


def _in_cluster(form: _Format, pieces: int, limits: DeviceLimits) -> _Choice | None:
    if limits.compute_capability < _CLUSTERS_SINCE:
        return None
    for cluster in _CLUSTER_SIZES:
        if pieces <= _CLUSTER_BLOCK * form.cluster_pieces * cluster:
            geometry = f"{form.width}, {_CLUSTER_BLOCK}, {form.cluster_pieces}, {cluster}"
            name = f"rows_in_cluster<{form.name}, {geometry}>"
            return _Choice(Keeping.CLUSTER, name, _CLUSTER_BLOCK, cluster)
    return None


def _read_twice(form: _Format, width: int) -> _Choice:
    name = f"rows_read_twice<{form.name}, {width}, {form.largest_block}>"
    return _Choice(Keeping.NOWHERE, name, form.largest_block)


def _format(dtype: str) -> _Format:
    form = _FORMATS.get(dtype)
    if form is None:
        raise TypeError(f"no kernel for logits of dtype {dtype}: need {', '.join(_FORMATS)}")
    return form


def _check_shape(rows: int, classes: int) -> None:
    if rows < 0:
        raise ValueError(f"{rows} rows")
    if not 1 <= classes <= MAX_CLASSES:
        raise ValueError(f"{classes} classes: the kernels take 1 to {MAX_CLASSES}")
