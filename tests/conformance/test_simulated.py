"""The simulated probe passes the suite every probe must pass, and probes with one defect each do not."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.model.event import Site, Sync, SyncKind, Transfer
from harness.model.trace import Trace
from harness.probes.conformance import Check, ConformanceError, PlantedActions, ProbeConformance
from harness.probes.simulated import SimulatedProbe, SimulatedRecording, Stream, namespace
from harness.probes.simulated.boundary import Observation

_ARRAY = namespace.asarray(np.arange(3, dtype="float32"))
_PAGEABLE = np.empty(3, "float32")


def copy_to_host() -> None:
    _ARRAY.get()


ACTIONS = PlantedActions(
    copy_to_host=copy_to_host,
    copied_bytes=12,
    wait=lambda: Stream.null.synchronize(),
    pageable_copy=lambda: _ARRAY.get(out=_PAGEABLE, blocking=False),
    copy_to_device=lambda: namespace.asarray([1, 2]),
    uploaded_bytes=16,
    work=lambda: _ARRAY + 1,
    host_callback=lambda: Stream.null.launch_host_func(lambda arg: None, 0),
)

_CHECKS = list(ProbeConformance(SimulatedProbe(), ACTIONS).checks())


@pytest.mark.parametrize("check", _CHECKS, ids=[check.name for check in _CHECKS])
def test_the_simulated_probe_conforms(check: Check) -> None:
    check.run()


class _Dropping(SimulatedRecording):
    def observe(self, observation: Observation) -> None:
        if observation.kind is not Transfer:
            super().observe(observation)


class _Doubling(SimulatedRecording):
    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        super().observe(observation)


class _Deaf(SimulatedRecording):
    def observe(self, observation: Observation) -> None:
        if observation.kind is not Sync:
            super().observe(observation)


class _Confusing(SimulatedRecording):
    def observe(self, observation: Observation) -> None:
        if observation.kind is Sync:
            observation = observation._replace(details={"kind": SyncKind.STREAM})
        super().observe(observation)


class _Optimist(SimulatedRecording):
    def observe(self, observation: Observation) -> None:
        if observation.kind is Transfer:
            details = {**observation.details, "blocking": False}
            observation = observation._replace(details=details)
        super().observe(observation)


class _Shrinking(SimulatedRecording):
    def observe(self, observation: Observation) -> None:
        if observation.kind is Transfer:
            observation = observation._replace(details={**observation.details, "size_bytes": 1})
        super().observe(observation)


class _Tagless(SimulatedRecording):
    @contextmanager
    def region(self, name: str) -> Iterator[None]:
        yield


class _Sticky(SimulatedRecording):
    def _open(self, regions: tuple[str, ...]) -> None:
        if regions:
            super()._open(regions)


class _Flat(SimulatedRecording):
    def _open(self, regions: tuple[str, ...]) -> None:
        super()._open(regions[-1:])


class _Premature(SimulatedRecording):
    def trace(self) -> Trace:
        self.close()
        return super().trace()


class _Lossy(SimulatedRecording):
    def trace(self) -> Trace:
        return replace(super().trace(), dropped=1)


class _Elsewhere(SimulatedRecording):
    def trace(self) -> Trace:
        trace = super().trace()
        moved = tuple(replace(event, site=Site("numpy.py", 1, "f")) for event in trace.events)
        return replace(trace, events=moved)


class _Reversed(SimulatedRecording):
    def trace(self) -> Trace:
        trace = super().trace()
        return replace(trace, events=trace.events[::-1])


class _Unsteady(SimulatedRecording):
    seen = 0

    def observe(self, observation: Observation) -> None:
        type(self).seen += 1
        if type(self).seen % 11:
            super().observe(observation)


class _Overclaimed(SimulatedRecording):
    def trace(self) -> Trace:
        trace = super().trace()
        return replace(trace, evidence=next(iter(type(trace.evidence))))


class _Doubtful(SimulatedRecording):
    def observe(self, observation: Observation) -> None:
        self.doubt(f"{observation.api} may not be all there was")
        super().observe(observation)


class _Leaky(SimulatedProbe):
    _late: Any = None

    @contextmanager
    def _record(self) -> Iterator[SimulatedRecording]:
        with super()._record() as recording:
            yield recording
            _ARRAY.get()


class _Underclaimed(SimulatedProbe):
    @property
    def observes(self) -> frozenset[Any]:
        return frozenset(kind for kind in super().observes if kind.value != "memset")


def _failures(probe: SimulatedProbe) -> set[str]:
    failed = set()
    for check in ProbeConformance(probe, ACTIONS).checks():
        try:
            check.run()
        except ConformanceError:
            failed.add(check.name)
    return failed


@pytest.mark.parametrize(
    ("defect", "caught_by"),
    [
        (_Dropping, "a_copy_to_the_host_is_seen_once_with_its_bytes"),
        (_Doubling, "a_wait_is_seen_once"),
        (_Deaf, "a_wait_is_seen_once"),
        (_Deaf, "a_host_callback_is_seen_once_as_one"),
        (_Confusing, "a_host_callback_is_seen_once_as_one"),
        (_Optimist, "a_pageable_copy_is_seen_as_blocking"),
        (_Shrinking, "a_copy_to_the_device_is_seen_once_with_its_bytes"),
        (_Tagless, "a_region_tags_what_is_launched_inside_only"),
        (_Tagless, "a_region_entered_twice_is_counted_twice"),
        (_Sticky, "a_region_is_left_by_an_exception"),
        (_Flat, "nested_regions_are_tagged_outermost_first"),
        (_Premature, "an_open_recording_has_no_trace"),
        (_Lossy, "a_trace_says_where_it_comes_from"),
        (_Overclaimed, "a_trace_says_where_it_comes_from"),
        (_Elsewhere, "a_site_is_the_line_that_caused_the_event"),
        (_Reversed, "other_threads_are_seen_in_order"),
        (_Unsteady, "repeated_runs_give_identical_counts"),
        (_Doubtful, "what_is_planted_leaves_no_doubt"),
    ],
)
def test_a_recording_with_a_defect_is_caught(
    defect: type[SimulatedRecording], caught_by: str
) -> None:
    assert caught_by in _failures(SimulatedProbe(recording=defect))


def test_a_probe_that_copies_while_it_closes_is_caught() -> None:
    assert "an_idle_recording_is_empty" in _failures(_Leaky())
    assert "nothing_leaks_in_from_before_or_after" in _failures(_Leaky())


def test_a_probe_that_claims_less_than_its_trace_is_caught() -> None:
    assert "a_trace_says_where_it_comes_from" in _failures(_Underclaimed())


def test_checks_of_unclaimed_event_types_are_left_out() -> None:
    class KernelsOnly(SimulatedProbe):
        @property
        def observes(self) -> frozenset[Any]:
            return frozenset(kind for kind in super().observes if kind.value == "kernel")

    names = {check.name for check in ProbeConformance(KernelsOnly(), ACTIONS).checks()}
    assert "a_copy_to_the_host_is_seen_once_with_its_bytes" not in names
    assert "a_wait_is_seen_once" not in names
    assert "work_alone_is_neither_a_copy_nor_a_wait" in names


def test_a_failure_says_what_was_planted_and_what_was_seen() -> None:
    suite = ProbeConformance(SimulatedProbe(recording=_Dropping), ACTIONS)
    with pytest.raises(ConformanceError, match=r"D2H copies: planted 1, the probe reports 0"):
        suite.a_copy_to_the_host_is_seen_once_with_its_bytes()


def test_an_action_without_python_code_cannot_vouch_for_a_site() -> None:
    wrapped = functools.partial(copy_to_host)
    suite = ProbeConformance(SimulatedProbe(), replace(ACTIONS, copy_to_host=wrapped))
    with pytest.raises(ConformanceError, match="must be a Python function"):
        suite.a_site_is_the_line_that_caused_the_event()
