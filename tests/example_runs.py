"""Runs of every kind, as reports have to show them: how one can end, and everything that can be missing."""

from __future__ import annotations

from dataclasses import replace

from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_condition,
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_history,
    a_limit,
    a_matmul_rate,
    a_record,
    a_run,
    a_sample,
    a_self_check,
    a_timeline,
    a_training,
    a_verdict,
    a_waiver,
    an_environment,
    an_error_map,
    an_estimate,
)

from harness.model.budget import WHOLE_RUN, Quantity
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.trace import TrafficCounts
from harness.model.verdict import INTERRUPTED, CheckResult, Run, Verdict

HOSTILE = (
    "</script></style><img src=http://example.invalid/x onerror=alert(1)>\u202e\0\"'" + "x" * 10_000
)
"""Ends every element it could stand in, loads something, turns the text around, and is too long for any line."""


def a_green_case(number: int) -> Verdict:
    """A case that passed everything and was timed, with the limits of a real one."""
    everything = tuple(
        a_limit(quantity=quantity) for quantity in (Quantity.D2H, Quantity.H2D, Quantity.SYNCS)
    )
    return a_verdict(
        a_check(summary="loss 0.07 of the allowed error; gradient 0.94 of the allowed error"),
        a_check(check="gradients", summary="gradient of x: agrees with the loss (slope 0.1)"),
        case=f"4096x1000-bfloat16-{number}",
        parameters={"shape": f"4096x{1000 + number}", "dtype": "bfloat16", "layout": "contiguous"},
        traffic=a_record(limits={"forward": everything, WHOLE_RUN: everything}),
        sample=a_sample(call_ns=tuple(935e3 + 1e3 * (37 * n % 23) for n in range(40))),
        call_time=an_estimate(value=935.3e3 + number, low=754.4e3, high=1.92e6),
        throughput=Throughput(unit="samples", units_per_call=4096, bytes_per_call=49_152_000),
        flops_per_call=2e7,
        errors=(an_error_map(), an_error_map(output="gradient", worst=0.94, shape=(4096, 1000))),
    )


def a_case_with_everything(*checks: CheckResult, case: str = "everything") -> Verdict:
    """Traffic with its timeline beside that of a known defect, errors, sensors, curves."""
    cold = {WHOLE_RUN: TrafficCounts(h2d=3, h2d_bytes=12, syncs=2)}
    defect = replace(a_defective_record(), timeline=a_timeline())
    return replace(
        a_green_case(0),
        case=case,
        checks=checks or a_green_case(0).checks,
        traffic=a_record(first_call=cold, timeline=a_timeline()),
        controls=(defect,),
        conditions=tuple(a_condition(at_s=n / 2) for n in range(8)),
        training=a_training(),
    )


def passed() -> Run:
    return a_run(
        a_case_with_everything(),
        *map(a_green_case, range(1, 8)),
        copy_bandwidth=a_copy_bandwidth(),
        self_checks=(a_self_check(),),
        matmul_rate=a_matmul_rate(),
        baseline="main",
        baseline_environment=an_environment(commit="fedcba9876543210"),
        history=(a_history(key=a_green_case(1).key, change_at=4, ratio=0.9),),
    )


def failed(foreign: str = HOSTILE) -> Run:
    """A copy nobody allowed, a slowdown the history dates, one that was accepted, and a hostile case."""
    bad = a_verdict(a_failed_traffic_check(), case="bad", traffic=a_defective_record(label="bad"))
    slower = replace(a_compared_verdict(case="slower"), traffic=a_record())
    accepted = a_check(check="throughput", outcome=Outcome.SKIPPED, waiver=a_waiver())
    wrong = a_check(outcome=Outcome.FAILED, summary="loss: worst 1,500 times the allowed error")
    hostile = a_check(
        check="traffic", outcome=Outcome.INCONCLUSIVE, summary=foreign, details=(foreign,)
    )
    return a_run(
        bad,
        slower,
        a_case_with_everything(),
        a_case_with_everything(a_check(), accepted, case="accepted"),
        replace(
            a_case_with_everything(wrong, case="wrong"),
            errors=(an_error_map(worst=1500.0, wrong=7),),
        ),
        a_verdict(
            hostile,
            workload=foreign,
            case=foreign,
            parameters={foreign: foreign},
            traffic=a_record(label=foreign),
        ),
        command=f"harness run {foreign}",
        notes=(foreign,),
        baseline="main",
        copy_bandwidth=a_copy_bandwidth(after=15e9),
        self_checks=(
            a_self_check(),
            a_self_check(key=foreign, outcome=Outcome.INCONCLUSIVE, next_step=foreign),
        ),
        history=(a_history(key=slower.key, change_at=8),),
    )


def inconclusive() -> Run:
    unseen = a_check(
        check="traffic",
        outcome=Outcome.INCONCLUSIVE,
        summary="cpu has no host/device boundary, so nothing can be said about traffic",
        evidence="no probe",
        next_step="run it on a simulated or a CUDA device",
    )
    return a_run(*(a_verdict(a_check(), unseen, case=f"c{n}") for n in range(7)))


def comparison(foreign: str = HOSTILE) -> Run:
    """Two versions side by side, one case each way, one of them new, one that does other work now."""
    fine = Outcome.PASSED
    other = a_check(
        check="throughput", outcome=Outcome.INCONCLUSIVE, summary="does other work under this name"
    )
    return a_run(
        a_compared_verdict(
            case="same", change=a_change(ratio=1.0, decision="unchanged"), outcome=fine
        ),
        a_compared_verdict(case="slower", ratios=tuple(1.05 + 0.002 * (n % 7) for n in range(40))),
        a_compared_verdict(
            case="faster",
            workload="mlp",
            change=a_change(ratio=0.9, decision="improved"),
            outcome=fine,
        ),
        a_compared_verdict(case=foreign, change=a_change(ratio=1.5, against=foreign)),
        a_compared_verdict(
            case="open",
            change=a_change(ratio=1.01, half_width=0.02, decision="inconclusive"),
            outcome=Outcome.INCONCLUSIVE,
        ),
        a_verdict(other, case="new"),
        baseline="main",
        paired_with=foreign,
        copy_bandwidth=a_copy_bandwidth(),
    )


def without_nvml() -> Run:
    """A GPU was timed, and nobody could read its sensors."""
    timed = replace(a_green_case(1), timing_device="cuda:0", traffic_device="cuda:0")
    return a_run(timed, notes=("NVML is not read: libnvidia-ml.so.1 cannot be opened",))


def without_baseline() -> Run:
    missing = a_check(
        check="baseline",
        outcome=Outcome.SKIPPED,
        summary="no baseline 'main' in baselines, so nothing was compared",
        evidence="",
        next_step="save this run as the first one: harness baseline save main",
    )
    return a_run(a_green_case(1), checks=(missing,), baseline="main")


def one_value() -> Run:
    """Timed once: no interval, no distribution, no drift."""
    unknown = an_estimate(value=1.2e6, low=float("nan"), high=float("nan"))
    return a_run(
        replace(a_green_case(1), sample=a_sample(call_ns=(1.2e6,)), call_time=unknown),
        replace(a_compared_verdict(ratios=(1.04,), process_starts=(0,))),
        paired_with="main",
    )


def nothing() -> Run:
    return a_run()


def all_skipped() -> Run:
    skipped = a_check(
        check="device", outcome=Outcome.SKIPPED, summary="needs a CUDA device", evidence=""
    )
    return a_run(*(a_verdict(skipped, case=f"c{n}") for n in range(3)))


def crashed() -> Run:
    """A workload that broke before it had cases, beside one that lost a single case to a signal."""
    broken = a_check(
        check="workload",
        outcome=Outcome.FAILED,
        summary="importing mine.ops:WORKLOAD raised ModuleNotFoundError: No module named 'mine'",
        next_step="import it in a Python of its own",
    )
    died = a_check(
        check="process", outcome=Outcome.FAILED, summary="the process of this case died of SIGSEGV"
    )
    return a_run(
        a_verdict(broken, workload="mine.ops:WORKLOAD", case="-", parameters={}),
        a_verdict(died, case="4096x1000-float32"),
        a_green_case(1),
    )


def interrupted() -> Run:
    stopped = a_check(
        check=INTERRUPTED,
        outcome=Outcome.INCONCLUSIVE,
        summary="interrupted after 2 of 33 cases",
        evidence="a signal",
        next_step="run it again; what finished is below",
    )
    return a_run(
        *map(a_green_case, range(2)),
        checks=(stopped,),
        copy_bandwidth=replace(a_copy_bandwidth(), after=None),
    )


EXAMPLES = {
    make.__name__: make
    for make in (
        passed,
        failed,
        inconclusive,
        comparison,
        without_nvml,
        without_baseline,
        one_value,
        nothing,
        all_skipped,
        crashed,
        interrupted,
    )
}
"""By name what makes each."""
