"""Direction and blocking, over every kind of copy, memory and flag."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.event import Direction, MemoryKind
from harness.probes.cupti.copies import (
    SMALL_UPLOAD_BYTES,
    direction_of,
    ends_of,
    holds_host,
    sizes_of,
)
from harness.probes.cupti.kinds import ActivityMemcpyKind as Copy
from harness.probes.cupti.kinds import ActivityMemoryKind as Memory
from harness.probes.cupti.records import CopyRecord


def a_copy(kind=Copy.DTOH, source=Memory.DEVICE, destination=Memory.PAGEABLE, **changes):
    fields = {
        "copy_kind": int(kind),
        "source": int(source),
        "destination": int(destination),
        "flags": 1,
        "size_bytes": 4,
        "count": 1,
        "start": 1,
        "end": 2,
        "stream": 7,
        "correlations": (1,),
        "in_graph": False,
    }
    return CopyRecord(**{**fields, **changes})


def holds(record):
    return holds_host(record, direction_of(record))


@pytest.mark.parametrize(
    ("kind", "direction"),
    [
        (Copy.HTOD, Direction.HOST_TO_DEVICE),
        (Copy.HTOA, Direction.HOST_TO_DEVICE),
        (Copy.DTOH, Direction.DEVICE_TO_HOST),
        (Copy.ATOH, Direction.DEVICE_TO_HOST),
        (Copy.ATOA, Direction.DEVICE_TO_DEVICE),
        (Copy.ATOD, Direction.DEVICE_TO_DEVICE),
        (Copy.DTOA, Direction.DEVICE_TO_DEVICE),
        (Copy.DTOD, Direction.DEVICE_TO_DEVICE),
        (Copy.HTOH, Direction.HOST_TO_HOST),
        (Copy.PTOP, Direction.PEER_TO_PEER),
    ],
)
def test_the_direction_is_the_records_whatever_the_memory(kind, direction):
    for source, destination in itertools.product(Memory, Memory):
        assert direction_of(a_copy(kind, source, destination)) is direction


@pytest.mark.parametrize(
    ("source", "destination", "direction"),
    [
        (Memory.DEVICE, Memory.PINNED, Direction.DEVICE_TO_HOST),
        (Memory.ARRAY, Memory.PAGEABLE, Direction.DEVICE_TO_HOST),
        (Memory.PAGEABLE, Memory.DEVICE_STATIC, Direction.HOST_TO_DEVICE),
        (Memory.DEVICE, Memory.DEVICE, Direction.DEVICE_TO_DEVICE),
        (Memory.PINNED, Memory.PAGEABLE, Direction.HOST_TO_HOST),
        (Memory.MANAGED, Memory.PINNED, None),
        (Memory.UNKNOWN, Memory.DEVICE, None),
    ],
)
@pytest.mark.parametrize("kind", [Copy.UNKNOWN, 42])
def test_an_unnamed_direction_is_told_from_the_memory_or_not_at_all(
    kind, source, destination, direction
):
    assert direction_of(a_copy(kind, source, destination)) is direction


def test_an_asynchronous_read_into_pageable_memory_holds_the_host():
    assert holds(a_copy(Copy.DTOH, Memory.DEVICE, Memory.PAGEABLE)) is True


def test_an_asynchronous_read_into_pinned_memory_does_not():
    assert holds(a_copy(Copy.DTOH, Memory.DEVICE, Memory.PINNED)) is False


def test_an_asynchronous_upload_from_pageable_memory_holds_the_host():
    assert holds(a_copy(Copy.HTOD, Memory.PAGEABLE, Memory.DEVICE)) is True


@pytest.mark.parametrize("memory", [Memory.PAGEABLE, Memory.PINNED, Memory.MANAGED, Memory.UNKNOWN])
def test_a_synchronous_read_holds_the_host_whatever_the_memory(memory):
    assert holds(a_copy(Copy.DTOH, Memory.DEVICE, memory, flags=0)) is True


@pytest.mark.parametrize("memory", [Memory.PINNED, Memory.MANAGED])
def test_a_synchronous_upload_holds_the_host_however_small(memory):
    assert holds(a_copy(Copy.HTOD, memory, Memory.DEVICE, flags=0)) is True


def test_a_synchronous_upload_from_pageable_memory_holds_the_host_only_when_it_is_large():
    small = a_copy(
        Copy.HTOD, Memory.PAGEABLE, Memory.DEVICE, flags=0, size_bytes=SMALL_UPLOAD_BYTES
    )
    large = a_copy(
        Copy.HTOD, Memory.PAGEABLE, Memory.DEVICE, flags=0, size_bytes=SMALL_UPLOAD_BYTES + 1
    )
    assert holds(small) is False
    assert holds(large) is True


@pytest.mark.parametrize("kind", [Copy.DTOD, Copy.ATOA, Copy.ATOD, Copy.DTOA, Copy.PTOP])
@pytest.mark.parametrize("flags", [0, 1])
def test_a_copy_on_the_device_never_holds_the_host(kind, flags):
    assert holds(a_copy(kind, Memory.DEVICE, Memory.DEVICE, flags=flags)) is False


@pytest.mark.parametrize("flags", [0, 1])
def test_a_copy_on_the_host_always_does(flags):
    assert holds(a_copy(Copy.HTOH, Memory.PINNED, Memory.PINNED, flags=flags)) is True


@pytest.mark.parametrize(("kind", "flags"), list(itertools.product(Copy, (0, 1))))
def test_a_copy_inside_a_graph_never_does(kind, flags):
    record = a_copy(kind, Memory.DEVICE, Memory.PAGEABLE, flags=flags, in_graph=True)
    assert holds(record) is False


def test_an_asynchronous_copy_with_host_memory_of_unknown_kind_cannot_be_told():
    assert holds(a_copy(Copy.DTOH, Memory.DEVICE, Memory.UNKNOWN)) is None
    assert holds(a_copy(Copy.HTOD, Memory.UNKNOWN, Memory.DEVICE)) is None
    assert holds(a_copy(Copy.DTOH, Memory.UNKNOWN, Memory.PINNED)) is False


def test_static_memory_is_of_its_kind_and_a_new_kind_is_unknown():
    assert ends_of(a_copy(source=Memory.DEVICE_STATIC, destination=Memory.MANAGED_STATIC)) == (
        MemoryKind.DEVICE,
        MemoryKind.MANAGED,
    )
    assert ends_of(a_copy(source=99, destination=1))[0] is MemoryKind.UNKNOWN


@given(st.integers(0, 1 << 50), st.integers(1, 1000))
def test_the_copies_of_a_batch_add_up_to_its_bytes(size_bytes, count):
    sizes = sizes_of(a_copy(size_bytes=size_bytes, count=count))
    assert len(sizes) == count
    assert sum(sizes) == size_bytes
    assert min(sizes) >= 0
