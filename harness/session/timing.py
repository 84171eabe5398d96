"""How long a call takes, on the device where time means something."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from harness.benchmark.runner import measure
from harness.benchmark.stopping import StoppingRule
from harness.devices.base import Device
from harness.environment.condition_samples import condition_samples
from harness.environment.gpu_monitor import GpuMonitor
from harness.model.conditions import ConditionSample
from harness.model.measurement import Estimate, Sample
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.model.workload import Case
from harness.numerics.compare import comparison_text
from harness.session.declared import Declared, Peer
from harness.session.foreign import foreign
from harness.session.numbers import compare_outputs
from harness.session.observe import HostArrays, to_device, unwatched
from harness.stats.bootstrap import median_interval

__all__ = ["Timing", "time_case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Raw timings, their median, and what the GPU's own sensors say meanwhile: as checks, and as ``readings``."""

    sample: Sample
    call_time: Estimate
    conditions: tuple[CheckResult, ...] = ()
    readings: tuple[ConditionSample, ...] = ()


def time_case(
    case: Case,
    declared: Declared,
    inputs: HostArrays,
    expected: HostArrays,
    device: Device,
    *,
    seconds: float,
    seed: int,
) -> Timing:
    """Time the case on its device, interleaved with its frozen peer where both run on the host.

    Nothing is recorded meanwhile. Both get the same arrays: with a copy for either, where the copies lay made the
    ratio of two alike ops of 4 us differ by 2.5 % from one process to the next, and with one by 0.5 %. A peer that
    does not do the case's work is no yardstick: it is left out, and said to be. A GPU is watched through NVML where
    that can be read.
    """
    arrays = to_device(inputs, device)
    peer = declared.peer if device.is_host else None
    doubt = None if peer is None else _doubt_about(peer, declared, inputs, expected)
    if doubt is not None:
        peer = None
    with foreign(f"timing {case.name} on {device.name}"), _watched(device) as monitor:
        sample = measure(
            lambda: case.run(arrays, unwatched),
            None if peer is None else lambda: peer(arrays, unwatched),
            timer=device.timer(),
            seed=seed,
            rule=StoppingRule(time_cap_ns=seconds * 1e9),
            change_layout=device.change_layout,
        )
    conditions = (doubt, monitor.check() if monitor is not None else None)
    return Timing(
        sample=sample,
        call_time=median_interval(sample.call_ns),
        conditions=tuple(result for result in conditions if result is not None),
        readings=condition_samples(monitor.samples) if monitor is not None else (),
    )


def _doubt_about(
    peer: Peer, declared: Declared, inputs: HostArrays, expected: HostArrays
) -> CheckResult | None:
    with foreign(f"the peer of {declared.name}"):
        outputs = peer(inputs, unwatched)
    problem = _peer_problem(outputs, declared, expected)
    if not problem:
        return None
    return CheckResult(
        check="peer",
        outcome=Outcome.INCONCLUSIVE,
        summary=f"the frozen peer does not do the work of the case: {problem}",
        evidence="float64 oracle",
        next_step="let peer() return what run() returns; until then speed is compared without it",
    )


def _peer_problem(outputs: object, declared: Declared, expected: HostArrays) -> str:
    if not isinstance(outputs, Mapping) or not expected.keys() <= outputs.keys():
        return f"it returns {type(outputs).__name__} without all of {', '.join(expected)}"
    host = {name: np.asarray(outputs[name]) for name in expected}
    for name, comparison in compare_outputs(declared, host, expected).items():
        if not comparison.passed:
            return comparison_text(comparison, output=name)
    return ""


def _watched(device: Device) -> AbstractContextManager[GpuMonitor | None]:
    return nullcontext() if device.identity is None else GpuMonitor(device.identity)
