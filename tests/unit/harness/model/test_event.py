"""Events: the vocabulary every probe speaks."""

import dataclasses

import pytest
from builders import a_sync, a_transfer

from harness.model.event import Allocation, MemoryKind, Memset, Site


def test_a_site_reads_as_file_line_and_function() -> None:
    assert str(Site("ops/loss.py", 31, "forward")) == "ops/loss.py:31 in forward"


def test_events_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        a_transfer().size_bytes = 8  # type: ignore[misc]  # what must not work is the point


def test_events_alike_are_equal_and_hash_alike() -> None:
    assert a_transfer() == a_transfer()
    assert len({a_transfer(), a_transfer(), a_transfer(size_bytes=8), a_sync()}) == 3


def test_what_was_not_measured_is_none_and_not_zero() -> None:
    memset = Memset(api="cudaMemsetAsync", size_bytes=16)
    assert (memset.site, memset.start_ns, memset.host_ns) == (None, None, None)
    allocation = Allocation(api="malloc", size_bytes=16, memory=MemoryKind.PINNED)
    assert allocation.regions == ()
