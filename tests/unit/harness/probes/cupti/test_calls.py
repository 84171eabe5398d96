"""Every call CUPTI can name falls into a class, and a name that might matter never into none."""

from __future__ import annotations

import re

import pytest

from harness.probes.cupti.calls import (
    NO_TRAFFIC,
    OBSERVED_AT_ENTRY,
    CallClass,
    call_named,
    calls_by_id,
    plain_name,
)

KNOWN = {
    CallClass.SYNC: """cudaDeviceSynchronize_v3020 cudaStreamSynchronize_v3020
        cudaStreamSynchronize_ptsz_v7000 cudaEventSynchronize_v3020 cudaThreadSynchronize_v3020
        cudaExecutionCtxSynchronize_v13010 cuCtxSynchronize cuCtxSynchronize_v2 cuStreamSynchronize
        cuStreamSynchronize_ptsz cuEventSynchronize""",
    CallClass.POLL: "cudaStreamQuery_v3020 cudaEventQuery_v3020 cudaStreamQuery_ptsz_v7000 cuEventQuery",
    CallClass.ORDER: """cudaStreamWaitEvent_v3020 cuStreamWaitEvent_ptsz cudaEventRecord_v3020
        cuEventRecordWithFlags_ptsz cuStreamWaitValue32_v2_ptsz cudaWaitExternalSemaphoresAsync_v11020
        cuCtxWaitEvent cudaExecutionCtxRecordEvent_v13010""",
    CallClass.COPY: """cudaMemcpy_v3020 cudaMemcpyAsync_ptsz_v7000 cudaMemcpyToSymbolAsync_v3020
        cudaMemcpy3DPeerAsync_v4000 cudaMemcpyBatchAsync_v13000 cudaMemcpyWithAttributesAsync_v13020
        cuMemcpyDtoHAsync_v2 cuMemcpyHtoD_v2_ptds cu64MemcpyDtoH cuMemcpyAtoA cuMemcpy2DUnaligned_v2
        cuMemcpy3DBatchAsync_v2_ptsz""",
    CallClass.MEMSET: "cudaMemset_v3020 cudaMemsetAsync_ptsz_v7000 cuMemsetD2D8Async_ptsz cu64MemsetD32",
    CallClass.ALLOCATE: """cudaMalloc_v3020 cudaFree_v3020 cudaMallocAsync_v11020 cudaFreeAsync_ptsz_v11020
        cudaMallocManaged_v6000 cudaHostAlloc_v3020 cudaHostRegister_v4000 cudaFreeHost_v3020
        cudaMallocFromPoolAsync_v11020 cuMemAlloc_v2 cuMemFree_v2 cuMemHostAlloc_v2 cuMemHostUnregister
        cuMemCreate cuMemMap cuMemUnmap cuMemRelease cuArrayDestroy""",
    CallClass.HOST_CALLBACK: """cudaLaunchHostFunc_v10000 cudaLaunchHostFunc_v2_ptsz_v13020
        cudaStreamAddCallback_v5000 cuLaunchHostFunc cuStreamAddCallback_ptsz""",
    CallClass.LAUNCH: "cudaLaunchKernel_v7000 cuLaunchKernel_ptsz cuLaunchKernelEx cudaLaunchCooperativeKernel_v9000",
    CallClass.GRAPH_LAUNCH: "cudaGraphLaunch_v10000 cuGraphLaunch_ptsz",
    CallClass.GRAPH_EDIT: """cudaGraphAddMemcpyNode_v10000 cudaGraphMemAllocNodeGetParams_v11040
        cuGraphAddHostNode cuGraphExecMemcpyNodeSetParams cudaGraphAddEventWaitNode_v11010
        cudaGraphInstantiate_v10000 cuDeviceGraphMemTrim""",
    CallClass.BEGIN_CAPTURE: "cudaStreamBeginCapture_v10000 cuStreamBeginCaptureToGraph_ptsz",
    CallClass.END_CAPTURE: "cudaStreamEndCapture_v10000 cuStreamEndCapture_ptsz",
    CallClass.LOAD: "cuModuleLoadData cuLibraryLoadData cudaLibraryLoadFromFile_v12060",
    CallClass.MIGRATE: "cudaMemPrefetchAsync_v12020 cuMemAdvise_v2 cudaMemDiscardBatchAsync_v13000",
    CallClass.MAP_HOST: "cudaHostGetDevicePointer_v3020 cuMemHostGetDevicePointer_v2",
    CallClass.OTHER: "cudaGetDevice_v3020 cuMemGetInfo_v2 cudaGraphicsMapResources_v3020 cuMemSetAccess",
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in KNOWN.items() for name in names.split()]
)
def test_a_known_name_has_its_class(kind, name):
    assert call_named(name).kind is kind


@pytest.fixture(scope="module")
def names(cupti):
    enums = (cupti.Runtime_api_trace_cbid, cupti.Driver_api_trace_cbid)
    return sorted(
        {name for enum in enums for name in enum.__members__} - {"INVALID", "SIZE", "FORCE_INT"}
    )


def test_the_names_in_the_table_above_are_cuptis(names):
    assert {name for group in KNOWN.values() for name in group.split()} <= set(names)


def test_only_numbers_without_a_name_are_unknown(names):
    unknown = {name for name in names if call_named(name).kind is CallClass.UNKNOWN}
    assert all(re.fullmatch(r"cuda\d+|reserved\d+", plain_name(name)) for name in unknown), sorted(
        unknown
    )


def test_every_copy_outside_graphs_is_a_copy(names):
    copies = {name for name in names if "emcpy" in name and "Graph" not in name}
    assert len(copies) >= 58 + 92
    assert {call_named(name).kind for name in copies} == {CallClass.COPY}


def test_every_synchronize_is_a_wait_and_nothing_else_is(names):
    by_word = {name for name in names if "ynchronize" in name}
    assert by_word == {name for name in names if call_named(name).kind is CallClass.SYNC}


def test_every_query_of_stream_or_event_is_a_poll(names):
    polls = {plain_name(name) for name in names if call_named(name).kind is CallClass.POLL}
    assert polls == {"cudaStreamQuery", "cudaEventQuery", "cuStreamQuery", "cuEventQuery"}


def test_exemptions_are_names_cupti_has_and_carry_a_reason(names):
    assert set(NO_TRAFFIC) <= {plain_name(name) for name in names}
    assert all(reason.strip() for reason in NO_TRAFFIC.values())


@pytest.mark.parametrize(
    "name",
    [
        "cudaCopyTensorAsync_v14000",
        "cuStreamSynchronizeAll",
        "cuTensorTransferAsync",
        "cuQueueWait",
        "cudaPoolAlloc_v14000",
        "cuQueueQuery",
        "reserved901",
    ],
)
def test_a_name_of_the_future_that_may_matter_is_unknown_or_in_its_class(name):
    assert call_named(name).kind not in {CallClass.OTHER, CallClass.POLL}


def test_launches_are_not_watched_at_entry():
    assert CallClass.LAUNCH not in OBSERVED_AT_ENTRY
    assert {CallClass.COPY, CallClass.SYNC, CallClass.ALLOCATE} <= OBSERVED_AT_ENTRY


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"),
        ("cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoH"),
        ("cudaLaunchHostFunc_v2_ptsz_v13020", "cudaLaunchHostFunc"),
        ("cuCtxSynchronize", "cuCtxSynchronize"),
    ],
)
def test_a_plain_name_has_neither_version_nor_stream_variant(name, plain):
    assert plain_name(name) == plain


def test_sentinels_are_no_calls():
    assert set(calls_by_id([("INVALID", 0), ("cuInit", 1), ("SIZE", 2)])) == {1}
