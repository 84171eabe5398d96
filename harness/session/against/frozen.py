"""``--against peer``: every case beside the frozen copy it registers as its ``peer``, in this process, pair by pair."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.devices.base import Device
from harness.devices.registry import choose_devices
from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts
from harness.errors import UnavailableError, UsageError, WorkloadError
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run, Verdict
from harness.session.against.content import made_inputs
from harness.session.against.ending import interrupted, record_of_run
from harness.session.against.judgement import judge
from harness.session.against.subjects import Record, broken, chosen
from harness.session.against.tour import Progress, Request, Step
from harness.session.foreign import CannotTellError
from harness.session.numbers import check_inputs, check_values, expected_outputs
from harness.session.observe import observe
from harness.session.timing import time_case
from harness.units import count_text

__all__ = ["PEER", "compare_with_peer"]

PEER = "peer"
"""What is given in the place of a ref; a branch of this name can be compared with as ``refs/heads/peer``."""

_PAIRED_WITH = "the frozen peer of each case"


def compare_with_peer(request: Request, *, progress: Progress) -> Run:
    """Compare every timed case with its own frozen peer and return the record.

    Peers are host code, so the device must be one whose arrays are the host's. Ctrl-C keeps the cases that are
    finished. Raises ``UsageError`` for another device, and as ``select`` does.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    device, notes = _host_device(request.device)
    records, verdicts, left_out = chosen(request.names)
    checks: list[CheckResult] = []
    done = _timed(records, device, request, progress)
    if done < len(records):
        what = f"after {done} of {count_text(len(records), 'case')}"
        checks.append(interrupted(what, "the cases in this report were finished before"))
    speeds = judge(records[:done], request.criteria, paired_with=_PAIRED_WITH)
    verdicts += [
        record.verdict(speeds.get(record.subject.key), device.name) for record in records[:done]
    ]
    if not checks and not speeds:
        checks.append(_nothing(verdicts))
    return record_of_run(
        request,
        verdicts,
        checks,
        started=started,
        environment=fingerprint([device.name], repository=Path.cwd(), more=[gpu_facts]),
        baseline=_PAIRED_WITH,
        notes=[*notes, *left_out],
        duration_s=time.perf_counter() - clock,
    )


def _timed(records: list[Record], device: Device, request: Request, progress: Progress) -> int:
    """Take every case, and return how many there were time for."""
    done = 0
    try:
        for record in records:
            step = Step(
                case=record.subject.key,
                pair=1,
                pairs=1,
                visit=done + 1,
                visits=len(records),
                left_s=(len(records) - done) * request.seconds,
            )
            progress(step)
            _take(record, device, request)
            done += 1
    except KeyboardInterrupt:
        return done
    return done


def _host_device(name: str) -> tuple[Device, tuple[str, ...]]:
    devices = choose_devices(name)
    device = devices.timing
    if device is None or not device.is_host:
        where = name if device is None else device.name
        raise UsageError(
            f"a frozen peer is host code and is not timed beside a case on {where}; "
            "compare it with --device cpu, or with a git ref"
        )
    return device, devices.notes


def _take(record: Record, device: Device, request: Request) -> None:
    """Values once, then both in the same rounds; what cannot be done is the record's end."""
    subject, criteria = record.subject, request.criteria
    if subject.declared.peer is None:
        record.ended = _without_peer(subject.key)
        return
    try:
        inputs = made_inputs(subject.case, criteria.seed)
        expected = expected_outputs(subject.case, inputs)
        seen = observe(subject.case, inputs, device, repeats=1)
        record.checks.append(check_values(subject.declared, seen, expected, device=device))
        record.checks.append(check_inputs(seen, inputs, device))
        timing = time_case(
            subject.case,
            subject.declared,
            inputs,
            expected,
            device,
            seconds=request.seconds,
            seed=criteria.seed,
        )
    except (CannotTellError, MemoryError, UnavailableError) as error:
        record.ended = broken(error, Outcome.INCONCLUSIVE)
    except WorkloadError as error:
        record.ended = broken(error, Outcome.FAILED)
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


def _nothing(verdicts: list[Verdict]) -> CheckResult:
    return CheckResult(
        check=THROUGHPUT_CHECK,
        outcome=Outcome.INCONCLUSIVE,
        summary="nothing was compared with a frozen peer",
        evidence=f"{count_text(len(verdicts), 'case')}, none of them timed beside one",
        next_step="see what each case says",
    )
