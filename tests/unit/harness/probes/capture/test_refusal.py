"""What an exception during capture says of the op: a copy, a wait, a doubt, or nothing at all."""

from __future__ import annotations

import pytest

from harness.errors import WorkloadError
from harness.model.event import Direction, Sync, SyncKind, Transfer
from harness.probes.capture.refusal import _TEXTS, UNJUDGED, refusal_of

STATUSES = {
    900: "unsupported",
    901: "invalidated",
    902: "merge",
    903: "unmatched",
    904: "unjoined",
    905: "isolation",
    906: "implicit",
    907: "capturedevent",
    908: "wrongthread",
}


def raised(error):
    """The exception as it comes out of a line of user code."""
    try:
        raise error
    except type(error) as caught:
        return caught


def cupy_refusal(what):
    return RuntimeError(f"the current stream is capturing, so {what} are disallowed")


def test_cupys_refusal_of_a_read_is_a_read():
    refusal = refusal_of(raised(cupy_refusal("D2H transfers")))
    assert refusal.kind is Transfer
    assert refusal.details["direction"] is Direction.DEVICE_TO_HOST
    assert refusal.site.function == "raised"


def test_cupys_refusal_of_an_upload_is_an_upload():
    refusal = refusal_of(raised(cupy_refusal("H2D transfers")))
    assert refusal.details["direction"] is Direction.HOST_TO_DEVICE
    assert not refusal.details["blocking"]


def test_cupys_refusal_of_a_synchronous_call_is_a_wait():
    refusal = refusal_of(raised(cupy_refusal("synchronous API calls")))
    assert (refusal.kind, refusal.details["kind"]) == (Sync, SyncKind.STREAM)


@pytest.mark.parametrize("library", ["cuBLAS", "cuDNN", "cuRAND", "cuSOLVER", "cuSPARSE"])
def test_a_library_cupy_does_not_capture_is_a_doubt_that_names_it(library):
    text = f"calling {library} API during stream capture is currently unsupported"
    refusal = refusal_of(raised(NotImplementedError(text)))
    assert refusal.kind is None
    assert library in refusal.doubt
    assert "CUPTI" in refusal.doubt
    assert "test_refusal.py" in refusal.doubt


def test_another_missing_implementation_is_the_ops_own():
    assert refusal_of(raised(NotImplementedError("no float16 here"))) is None


@pytest.mark.parametrize(
    "text",
    [
        "cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing",
        "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: operation not permitted when stream is capturing",
        "CUDA error: operation not permitted when stream is capturing\nCompile with ...",
    ],
)
def test_cudas_refusal_of_a_wait_is_a_wait_in_every_spelling(text):
    assert refusal_of(raised(RuntimeError(text))).kind is Sync


@pytest.mark.parametrize("name", UNJUDGED)
def test_every_other_status_is_a_doubt_with_its_cause(name):
    refusal = refusal_of(raised(RuntimeError(f"CUDA error: {_TEXTS[name]}")))
    assert refusal.kind is None
    assert UNJUDGED[name] in refusal.doubt


def test_every_status_is_either_a_wait_or_a_doubt():
    assert set(_TEXTS) == {*UNJUDGED, "unsupported"}


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("cudaErrorMemoryAllocation: out of memory"),
        RuntimeError("cudaErrorUnsupportedLimit: limit is not supported"),
        ValueError("the current stream is capturing, so D2H transfers are disallowed"),
        KeyError("loss"),
    ],
)
def test_other_exceptions_are_no_refusal(error):
    assert refusal_of(raised(error)) is None


def test_a_refusal_is_found_under_the_exception_it_was_turned_into():
    def op():
        raise cupy_refusal("D2H transfers")

    try:
        try:
            op()
        except RuntimeError as cause:
            raise WorkloadError("forward failed") from cause
    except WorkloadError as error:
        refusal = refusal_of(error)
    assert refusal.kind is Transfer
    assert refusal.site.function == "op"


def test_a_refusal_that_was_replaced_on_purpose_is_not_dug_up():
    def op():
        try:
            raise cupy_refusal("D2H transfers")
        except RuntimeError:
            raise ValueError("mine") from None

    with pytest.raises(ValueError, match="mine") as caught:
        op()
    assert refusal_of(caught.value) is None


def test_exceptions_that_name_each_other_as_cause_come_to_an_end():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert refusal_of(first) is None


@pytest.mark.parametrize(("status", "name"), STATUSES.items())
def test_cupys_own_exceptions_are_understood(status, name):
    runtime = pytest.importorskip(
        "cupy_backends.cuda.api.runtime",
        reason='needs CuPy: python -m pip install "cupy-cuda13x>=14"',
    )
    error = runtime.CUDARuntimeError(status)
    assert _TEXTS[name] in str(error)
    refusal = refusal_of(raised(error))
    assert (refusal.kind is Sync) == (name == "unsupported")


@pytest.mark.parametrize(("status", "name"), STATUSES.items())
def test_cudas_numbers_have_the_names_used_here(real_runtime, status, name):
    full = real_runtime.cudaError_t(status).name
    assert full.removeprefix("cudaError").removeprefix("StreamCapture").lower() == name
