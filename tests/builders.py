"""Ready-made model objects for tests: keyword-only, every default the most ordinary thing there is.

A test names only what it is about: ``a_transfer(size_bytes=4)`` is a blocking D2H copy of four bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.budget import WHOLE_RUN, Limit, Quantity, Violation
from harness.model.conditions import ConditionSample, MatmulRate
from harness.model.environment import Environment
from harness.model.error_map import ERROR_PROBABILITIES, ErrorMap
from harness.model.event import (
    Direction,
    Event,
    EventType,
    Kernel,
    MemoryKind,
    Site,
    Sync,
    SyncKind,
    Transfer,
)
from harness.model.history import CaseHistory, HistoryChange, HistoryPoint
from harness.model.measurement import (
    SPEED_PROBABILITIES,
    CopyBandwidth,
    CopyRate,
    Estimate,
    Sample,
    Speed,
    SpeedChange,
    Throughput,
)
from harness.model.outcome import Evidence, Outcome
from harness.model.selfcheck import Injection, SelfCheck
from harness.model.timeline import Timeline, TimelineEvent
from harness.model.trace import Trace, TrafficCounts
from harness.model.traffic import TrafficLine, traffic_lines
from harness.model.training import Band, Curve, Stage, StageTimes, Training
from harness.model.verdict import CheckResult, Run, TrafficRecord, Verdict
from harness.model.waiver import Waiver

A_SITE = Site("ops/host_roundtrip.py", 31, "forward")

A_SIDE = {
    Direction.DEVICE_TO_HOST: (MemoryKind.DEVICE, MemoryKind.PAGEABLE),
    Direction.HOST_TO_DEVICE: (MemoryKind.PAGEABLE, MemoryKind.DEVICE),
    Direction.DEVICE_TO_DEVICE: (MemoryKind.DEVICE, MemoryKind.DEVICE),
    Direction.HOST_TO_HOST: (MemoryKind.PAGEABLE, MemoryKind.PAGEABLE),
    Direction.PEER_TO_PEER: (MemoryKind.DEVICE, MemoryKind.DEVICE),
}


def a_transfer(
    *,
    direction: Direction = Direction.DEVICE_TO_HOST,
    size_bytes: int = 4,
    blocking: bool = True,
    regions: tuple[str, ...] = ("forward",),
    site: Site | None = A_SITE,
    api: str = "cudaMemcpyAsync",
) -> Transfer:
    source, destination = A_SIDE[direction]
    return Transfer(
        api=api,
        regions=regions,
        site=site,
        direction=direction,
        size_bytes=size_bytes,
        source=source,
        destination=destination,
        blocking=blocking,
    )


def a_sync(
    *,
    kind: SyncKind = SyncKind.STREAM,
    regions: tuple[str, ...] = ("forward",),
    site: Site | None = A_SITE,
    api: str = "cudaStreamSynchronize",
) -> Sync:
    return Sync(api=api, regions=regions, site=site, kind=kind)


def a_kernel(*, api: str = "softmax", regions: tuple[str, ...] = ("forward",)) -> Kernel:
    return Kernel(api=api, regions=regions, site=A_SITE)


def a_trace(
    *events: Event,
    evidence: Evidence = Evidence.SIMULATED,
    probe: str = "simulated",
    observes: frozenset[EventType] = frozenset(EventType),
    dropped: int = 0,
    entered: Mapping[str, int] | None = None,
) -> Trace:
    return Trace(
        probe=probe,
        evidence=evidence,
        observes=observes,
        events=events,
        dropped=dropped,
        entered={"forward": 1} if entered is None else entered,
    )


def a_limit(
    *,
    quantity: Quantity = Quantity.D2H,
    at_most: int = 0,
    because: str = "the loss stays on the device",
) -> Limit:
    return Limit(quantity=quantity, at_most=at_most, because=because)


def a_violation(
    *events: Event,
    region: str = "forward",
    quantity: Quantity = Quantity.D2H,
    at_most: int = 0,
    because: str = "the loss stays on the device: SINGA-502",
) -> Violation:
    """The violation of this limit by these events (by one blocking read unless given)."""
    guilty = events or (a_transfer(),)
    return Violation(
        region=region,
        limit=a_limit(quantity=quantity, at_most=at_most, because=because),
        observed=sum(quantity.counts(event) for event in guilty),
        lines=traffic_lines(guilty),
    )


def a_check(
    *,
    check: str = "values",
    outcome: Outcome = Outcome.PASSED,
    summary: str = "loss 0.12 of the allowed error",
    evidence: str = "float64 oracle, device simulated",
    violations: tuple[Violation, ...] = (),
    details: tuple[str, ...] = (),
    next_step: str = "",
    change: SpeedChange | None = None,
    waiver: Waiver | None = None,
) -> CheckResult:
    return CheckResult(
        check=check,
        outcome=outcome,
        summary=summary,
        evidence=evidence,
        violations=violations,
        details=details,
        next_step=next_step,
        change=change,
        waiver=waiver,
    )


def a_waiver(
    *,
    case: str = "softmax_cross_entropy/*",
    check: str = "throughput",
    reason: str = "slower until the driver is updated",
    since: str = "2025-11-01",
    until: str = "2025-12-31",
) -> Waiver:
    return Waiver(case=case, check=check, reason=reason, since=since, until=until)


def a_change(
    *,
    ratio: float = 1.05,
    half_width: float = 0.005,
    margin: float = 0.01,
    decision: str = "regressed",
    against: str = "main (0123456789ab)",
    baseline_ns: float = 1.2e6,
) -> SpeedChange:
    """A regression by 5 % whose interval lies beyond the margin, unless told otherwise."""
    interval = Estimate(
        value=ratio, low=ratio - half_width, high=ratio + half_width, confidence=0.95
    )
    return SpeedChange(
        ratio=interval, margin=margin, decision=decision, against=against, baseline_ns=baseline_ns
    )


def a_compared_verdict(
    *,
    case: str = "4096x1000-float32",
    workload: str = "softmax_cross_entropy",
    change: SpeedChange | None = None,
    outcome: Outcome = Outcome.FAILED,
    ratios: tuple[float, ...] = (1.04, 1.06, 1.05, 1.05),
    process_starts: tuple[int, ...] = (0, 2),
) -> Verdict:
    """A case timed beside another version, pair by pair, in two processes."""
    found = change or a_change()
    check = a_check(
        check="throughput",
        outcome=outcome,
        summary=f"{found.decision}: {found.ratio.value:.3f}x the baseline's time",
        next_step="give the case a `margin` if this slowdown is meant",
        change=found,
    )
    sample = a_sample(
        call_ns=tuple(1.2e6 * ratio for ratio in ratios),
        peer_ns=(1.2e6,) * len(ratios),
        process_starts=process_starts,
    )
    return a_verdict(check, case=case, workload=workload, sample=sample, call_time=an_estimate())


def a_failed_traffic_check(*violations: Violation) -> CheckResult:
    return a_check(
        check="traffic",
        outcome=Outcome.FAILED,
        summary="1 d2h within 'forward', 0 allowed (the loss stays on the device: SINGA-502)",
        evidence="PROVEN (cupti 13.4, controls seen 3/3, 0 dropped, 5 identical runs)",
        violations=violations or (a_violation(),),
        next_step="remove the copy or wait at the line shown, or budget it with its reason",
    )


def a_record(
    *,
    label: str = "softmax_cross_entropy",
    regions: Mapping[str, TrafficCounts] | None = None,
    first_call: Mapping[str, TrafficCounts] | None = None,
    limits: Mapping[str, tuple[Limit, ...]] | None = None,
    lines: tuple[TrafficLine, ...] = (),
    evidence: Evidence = Evidence.SIMULATED,
    probe: str = "simulated",
    timeline: Timeline | None = None,
) -> TrafficRecord:
    """A record of an op that moves nothing and may move nothing, unless told otherwise."""
    silent = {WHOLE_RUN: TrafficCounts(kernels=3), "forward": TrafficCounts(kernels=3)}
    budget = {"forward": (a_limit(), a_limit(quantity=Quantity.SYNCS))}
    warm = silent if regions is None else regions
    return TrafficRecord(
        label=label,
        device="simulated",
        probe=probe,
        evidence=evidence,
        runs=5,
        regions=warm,
        first_call=warm if first_call is None else first_call,
        limits=budget if limits is None else limits,
        lines=lines,
        timeline=timeline,
    )


def an_event(
    *,
    type: EventType = EventType.KERNEL,
    api: str = "softmax",
    regions: tuple[str, ...] = ("forward",),
    site: Site | None = A_SITE,
    start_ns: int | None = 0,
    host_ns: int | None = 5_000,
    device_start_ns: int | None = 2_000,
    device_ns: int | None = 20_000,
    blocking: bool = False,
    direction: Direction | None = None,
    sync: SyncKind | None = None,
    size_bytes: int = 0,
) -> TimelineEvent:
    """A kernel of twenty microseconds on a GPU, launched at the start of the call."""
    return TimelineEvent(
        type=type,
        api=api,
        regions=regions,
        site=site,
        size_bytes=size_bytes,
        direction=direction,
        sync=sync,
        blocking=blocking,
        start_ns=start_ns,
        host_ns=host_ns,
        device_start_ns=device_start_ns,
        device_ns=device_ns,
    )


def a_timeline(*events: TimelineEvent, omitted: int = 0) -> Timeline:
    """A kernel, then a read of four bytes that the host waits for, unless told otherwise."""
    usual = (
        an_event(),
        an_event(
            type=EventType.TRANSFER,
            api="cudaMemcpyAsync",
            direction=Direction.DEVICE_TO_HOST,
            size_bytes=4,
            blocking=True,
            start_ns=6_000,
            host_ns=18_000,
            device_start_ns=22_000,
            device_ns=1_000,
        ),
    )
    return Timeline(events=events or usual, omitted=omitted)


def a_defective_record(*, label: str = "host_roundtrip") -> TrafficRecord:
    """The record of the op that reads its loss back: one copy of four bytes and one wait per call."""
    counts = TrafficCounts(d2h=1, d2h_bytes=4, syncs=1, blocking_copies=1, kernels=3)
    return a_record(
        label=label,
        regions={WHOLE_RUN: counts, "forward": counts},
        lines=traffic_lines([a_transfer(), a_sync()]),
    )


def a_sample(
    *,
    call_ns: tuple[float, ...] = (1.2e6, 1.25e6, 1.3e6),
    peer_ns: tuple[float, ...] = (),
    timer: str = "perf_counter_ns",
    process_starts: tuple[int, ...] = (0,),
) -> Sample:
    return Sample(
        call_ns=call_ns,
        peer_ns=peer_ns,
        calls_per_value=4,
        warmup_calls=10,
        timer=timer,
        seed=0,
        process_starts=process_starts,
    )


def a_speed(
    *,
    call_ns: float = 1.25e6,
    relative: float | None = None,
    spread: float = 0.01,
    rounds: int = 200,
    timer: str = "perf_counter_ns",
    commit: str | None = "0123456789abcdef",
    created: str = "2025-11-30T16:50:00+00:00",
) -> Speed:
    """A speed with this median and this relative distance to its extremes; with a peer where ``relative`` is given."""
    steps = [1 + spread * (2 * place - 1) for place in SPEED_PROBABILITIES]
    return Speed(
        timer=timer,
        rounds=rounds,
        calls_per_value=4,
        seed=0,
        call_ns=tuple(call_ns * step for step in steps),
        worth=float(rounds),
        relative=() if relative is None else tuple(relative * step for step in steps),
        relative_worth=0.0 if relative is None else float(rounds),
        commit=commit,
        created=created,
    )


def an_error_map(
    *,
    output: str = "loss",
    worst: float = 0.12,
    shape: tuple[int, ...] = (4, 6),
    wrong: int = 0,
    dtype: str = "float32",
) -> ErrorMap:
    """Errors that grow along the output up to ``worst``, in two by three blocks."""
    grid = tuple(
        tuple(worst * (3 * row + column + 1) / 6 for column in range(3)) for row in range(2)
    )
    return ErrorMap(
        output=output,
        shape=shape,
        dtype=dtype,
        absolute=1e-6,
        relative=1e-5,
        worst=worst,
        worst_index=(3, 5),
        got=1.0,
        expected=1.0,
        wrong=wrong,
        not_finite=0,
        block=(2, 2),
        grid=grid,
        quantiles=tuple(worst * share for share in ERROR_PROBABILITIES),
    )


def a_history(
    *,
    key: str = "softmax_cross_entropy/4096x1000-float32",
    runs: int = 12,
    change_at: int | None = None,
    ratio: float = 1.05,
    commit: str = "0123456789abcdef",
    earlier: int = 0,
) -> CaseHistory:
    """One run a day up to the day before ``a_run``, as fast as ever, or slower by ``ratio`` from ``change_at`` on."""
    points = []
    for place in range(runs):
        call_ns = 1.2e6 * (ratio if change_at is not None and place >= change_at else 1.0)
        points.append(
            HistoryPoint(
                created=f"2025-{11 - (runs - 1 - place) // 28:02}-{28 - (runs - 1 - place) % 28:02}T12:00:00+00:00",
                commit=commit,
                dirty=False,
                call_ns=call_ns,
                low_ns=0.99 * call_ns,
                high_ns=1.02 * call_ns,
            )
        )
    changes = () if change_at is None else (HistoryChange(index=change_at, ratio=ratio),)
    return CaseHistory(key=key, points=tuple(points), changes=changes, earlier=earlier)


def a_condition(*, at_s: float = 0.0, limited: tuple[str, ...] = ()) -> ConditionSample:
    return ConditionSample(
        at_s=at_s, sm_clock_mhz=1_980, power_w=412.5, temperature_c=61, limited=limited
    )


def a_matmul_rate(*, device: str = "cpu", flops_per_second: float = 5e10) -> MatmulRate:
    return MatmulRate(device=device, dtype="float32", size=1024, flops_per_second=flops_per_second)


def a_training(
    *,
    program: str = "mnist_cnn",
    data: str = "digits drawn from a seed",
    curves: tuple[Curve, ...] | None = None,
    timings: tuple[StageTimes, ...] | None = None,
    notes: tuple[str, ...] = (),
) -> Training:
    """Two epochs within a published band, and one iteration of four stages."""
    band = Band(points=((1.0, 0.2, 0.4), (2.0, 0.1, 0.2)), source="https://example.invalid/ticket")
    loss = Curve(name="loss", x_unit="epoch", points=((1.0, 0.3), (2.0, 0.15)), band=band)
    stages = tuple(
        Stage(name=name, seconds=seconds, published_s=2 * seconds)
        for name, seconds in (
            ("forward", 0.02),
            ("softmax", 0.001),
            ("backward", 0.04),
            ("sgd", 0.005),
        )
    )
    timing = StageTimes(
        label="synchronised", stages=stages, per_second=485.0, unit="samples", syncs=4, reads=1
    )
    return Training(
        program=program,
        data=data,
        curves=(loss,) if curves is None else curves,
        timings=(timing,) if timings is None else timings,
        published="the ticket, on a T4",
        notes=notes,
    )


def an_estimate(*, value: float = 1.25e6, low: float = 1.2e6, high: float = 1.3e6) -> Estimate:
    return Estimate(value=value, low=low, high=high, confidence=0.95)


def a_verdict(
    *checks: CheckResult,
    workload: str = "softmax_cross_entropy",
    case: str = "4096x1000-float32",
    parameters: Mapping[str, str] | None = None,
    traffic: TrafficRecord | None = None,
    controls: tuple[TrafficRecord, ...] = (),
    sample: Sample | None = None,
    call_time: Estimate | None = None,
    throughput: Throughput | None = None,
    timing_device: str = "cpu",
    flops_per_call: float | None = None,
    errors: tuple[ErrorMap, ...] = (),
    conditions: tuple[ConditionSample, ...] = (),
    training: Training | None = None,
) -> Verdict:
    """A verdict with these checks (with one that passed unless given)."""
    return Verdict(
        workload=workload,
        case=case,
        parameters={"shape": "4096x1000", "dtype": "float32"} if parameters is None else parameters,
        checks=checks or (a_check(),),
        traffic_device="simulated",
        timing_device=timing_device,
        traffic=traffic,
        controls=controls,
        sample=sample,
        call_time=call_time,
        throughput=throughput,
        flops_per_call=flops_per_call,
        errors=errors,
        conditions=conditions,
        training=training,
    )


def an_environment(
    *, commit: str | None = "0123456789abcdef", dirty: bool | None = False
) -> Environment:
    return Environment(
        hard={"cpu.model": "EPYC 7B13", "python.version": "3.11.9"},
        soft={"numpy.version": "2.4.0"},
        commit=commit,
        dirty=dirty,
    )


def a_run(
    *verdicts: Verdict,
    run_id: str = "20251130T165000000Z",
    checks: tuple[CheckResult, ...] = (),
    environment: Environment | None = None,
    baseline: str | None = None,
    paired_with: str = "",
    command: str = "harness run",
    notes: tuple[str, ...] = (),
    copy_bandwidth: CopyBandwidth | None = None,
    self_checks: tuple[SelfCheck, ...] = (),
    matmul_rate: MatmulRate | None = None,
    baseline_environment: Environment | None = None,
    history: tuple[CaseHistory, ...] = (),
) -> Run:
    """A run of exactly these verdicts, which may be none."""
    return Run(
        run_id=run_id,
        created="2025-11-30T16:50:00+00:00",
        command=command,
        harness_version="0.1.0",
        seed=0,
        environment=environment or an_environment(),
        verdicts=verdicts,
        checks=checks,
        baseline=baseline,
        paired_with=paired_with,
        notes=notes,
        duration_s=12.3,
        copy_bandwidth=copy_bandwidth,
        self_checks=self_checks,
        matmul_rate=matmul_rate,
        baseline_environment=baseline_environment,
        history=history,
    )


def a_copy_bandwidth(
    *,
    before: float = 20e9,
    after: float | None = 20e9,
    device: str = "cpu",
    usual: float = 0.95,
) -> CopyBandwidth:
    """The best copies before and after a run in bytes per second; the medians are ``usual`` of that."""
    rates = [
        None if best is None else CopyRate(best=best, median=best * usual, copies=7)
        for best in (before, after)
    ]
    assert rates[0] is not None
    return CopyBandwidth(device=device, size_bytes=64 << 20, before=rates[0], after=rates[1])


def a_self_check(
    *,
    key: str = "softmax_cross_entropy/4096x1000-float32",
    outcome: Outcome = Outcome.PASSED,
    created: str = "2025-11-30T13:20:00+00:00",
    false_alarms: int = 0,
    injections: tuple[Injection, ...] | None = None,
    smallest: float | None = 0.014,
    estimated: float | None = 0.0138,
    summary: str = "0 false alarms in 20 decisions (rate below 13.9 %)",
    next_step: str = "",
    device: str = "cpu",
) -> SelfCheck:
    """A self-check that found 2 % in 19 of 20 and 1.4 % in 18 of 20, three and a half hours before ``a_run``."""
    found = (
        Injection(slowdown=0.014, found=18, decisions=20, measured=0.0139),
        Injection(slowdown=0.02, found=19, decisions=20, measured=0.0203),
    )
    return SelfCheck(
        key=key,
        parameters={"dtype": "float32"},
        device=device,
        created=created,
        seed=0,
        seconds=4.0,
        margin=0.01,
        confidence=0.95,
        find=0.02,
        outcome=outcome,
        summary=summary,
        next_step=next_step,
        timer="perf_counter_ns",
        call_ns=1.25e6,
        decisions=20,
        false_alarms=false_alarms,
        false_alarm_bound=0.139,
        ratios=(0.999, 1.001),
        spread=0.0014,
        pairs=400,
        injections=found if injections is None else injections,
        smallest=smallest,
        estimated=estimated,
        computed=0.0131,
    )
