"""The numbers used here are CUPTI's, and CUPTI has none that is missing here."""

from __future__ import annotations

import pytest

from harness.model.event import Direction
from harness.probes.cupti import kinds, migrations, records

SENTINELS = {"FORCE_INT", "COUNT", "SIZE", "INVALID", "API_CBSITE_FORCE_INT"}


def members(enum):
    return {name: int(value) for name, value in enum.__members__.items() if name not in SENTINELS}


@pytest.mark.parametrize(
    "name",
    [
        "ActivityMemcpyKind",
        "ActivityMemoryKind",
        "ActivitySynchronizationType",
        "ActivityUnifiedMemoryCounterKind",
        "ApiCallbackSite",
        "ActivityMemoryOperationType",
    ],
)
def test_an_enum_repeats_cuptis_member_for_member(cupti, name):
    assert members(getattr(kinds, name)) == members(getattr(cupti, name))


def test_the_callback_domains_used_are_cuptis(cupti):
    assert members(kinds.CallbackDomain).items() <= members(cupti.CallbackDomain).items()


def test_each_kind_of_record_is_either_used_or_left_off_for_a_reason(cupti):
    theirs, used = members(cupti.ActivityKind), members(kinds.ActivityKind)
    assert used.items() <= theirs.items()
    assert set(kinds.NEVER_ENABLED) == set(theirs) - set(used)
    assert all(reason.strip() for reason in kinds.NEVER_ENABLED.values())


def test_what_is_used_of_cuda_12_has_the_same_numbers():
    module = pytest.importorskip("cupti.cupti", reason="needs cupti-python")
    theirs = members(module.ActivityKind)
    ours = members(kinds.ActivityKind)
    assert {
        name: number for name, number in ours.items() if name in theirs
    }.items() <= theirs.items()
    assert set(ours) - set(theirs) <= {"GRAPH_HOST_NODE"}


def test_the_flags_used_are_cuptis(cupti):
    flags = cupti.ActivityFlag.__members__
    assert int(flags["MEMCPY_ASYNC"]) == kinds.MEMCPY_ASYNC
    assert int(flags["MEMSET_ASYNC"]) == kinds.MEMCPY_ASYNC
    assert int(flags["FLUSH_FORCED"]) == 1


def test_graph_level_tracing_is_never_turned_on():
    assert kinds.ActivityKind.GRAPH_TRACE not in kinds.ENABLED
    assert "DEVICE_GRAPH_TRACE" in kinds.NEVER_ENABLED


def test_every_enabled_kind_has_a_reader_but_the_one_that_completes_others():
    without = set(kinds.ENABLED) - set(records._READERS)
    assert without == {kinds.ActivityKind.CUDA_EVENT}


def test_every_copy_kind_but_unknown_has_a_direction():
    assert set(kinds.DIRECTIONS) == set(kinds.ActivityMemcpyKind) - {0}
    assert set(kinds.DIRECTIONS.values()) == set(Direction)


def test_every_memory_kind_is_mapped():
    assert set(kinds.MEMORY_KINDS) == set(kinds.ActivityMemoryKind)


def test_every_synchronization_type_holds_the_host_but_ordering_and_unknown():
    types = kinds.ActivitySynchronizationType
    assert set(kinds.WAITS) == set(types) - {types.UNKNOWN, types.STREAM_WAIT_EVENT}


def test_every_counter_of_managed_memory_is_watched_or_harmless_for_a_reason():
    watched, harmless = set(migrations.WATCHED), set(migrations.HARMLESS)
    assert watched | harmless == set(kinds.ActivityUnifiedMemoryCounterKind)
    assert not watched & harmless
    assert all(migrations.HARMLESS.values())
