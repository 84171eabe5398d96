"""One case beside its own frozen peer: values once, then both in the same rounds."""

from __future__ import annotations

from collections.abc import Callable

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.devices.base import Device
from harness.devices.registry import choose_devices
from harness.errors import UnavailableError, UsageError, WorkloadError
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.session.against.content import made_inputs
from harness.session.against.subjects import Candidate, Record, broken
from harness.session.against.tour import Request
from harness.session.foreign import CannotTellError
from harness.session.numbers import check_inputs, check_values, expected_outputs
from harness.session.observe import observe
from harness.session.timing import time_case

__all__ = ["host_device", "take"]


def host_device(name: str) -> tuple[Device, tuple[str, ...]]:
    """The device by that name, and notes on the choice; ``UsageError`` for one whose arrays are not the host's."""
    devices = choose_devices(name)
    device = devices.timing
    if device is None or not device.is_host:
        where = name if device is None else device.name
        raise UsageError(
            f"a frozen peer is host code and is not timed beside a case on {where}; "
            "compare it with --device cpu, or with a git ref"
        )
    return device, devices.notes


def take(
    candidate: Candidate,
    record: Record,
    device: Device,
    request: Request,
    stage: Callable[[str], None],
) -> None:
    """Fill the case's record from one visit; what cannot be done is the record's end."""
    case, declared, seed = candidate.case, candidate.declared, request.criteria.seed
    given = candidate.subject.given
    if declared.peer is None:
        record.ended = _without_peer(record.subject.key)
        return
    try:
        stage("checking values")
        inputs = made_inputs(case, seed)
        expected = expected_outputs(case, inputs)
        seen = observe(case, inputs, device, repeats=1)
        record.checks.append(check_values(declared, seen, expected, device=device))
        record.checks.append(check_inputs(seen, inputs, device))
        stage("timing")
        timing = time_case(
            case, declared, inputs, expected, device, seconds=request.seconds, seed=seed
        )
    except (CannotTellError, MemoryError, UnavailableError) as error:
        record.ended = broken(error, Outcome.INCONCLUSIVE, given=given)
    except WorkloadError as error:
        record.ended = broken(error, Outcome.FAILED, given=given)
    else:
        record.checks.extend(timing.conditions)
        record.samples.append(timing.sample)


def _without_peer(key: str) -> CheckResult:
    return CheckResult(
        check=THROUGHPUT_CHECK,
        outcome=Outcome.INCONCLUSIVE,
        summary=f"{key} has no frozen peer to be compared with",
        evidence="its attribute `peer`",
        next_step="give the case peer(inputs, region), a frozen copy of the op on host arrays, or compare with a git ref",
    )
