"""Many cases stay a file that can be mailed: what a real case of a green run costs in its page."""

from __future__ import annotations

import random
from collections.abc import Callable

from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_history,
    a_limit,
    a_record,
    a_run,
    a_sample,
    a_transfer,
    a_verdict,
    an_error_map,
    an_estimate,
)

from harness.model.budget import WHOLE_RUN, Quantity
from harness.model.event import Site
from harness.model.measurement import Throughput
from harness.model.trace import TrafficCounts
from harness.model.traffic import traffic_lines
from harness.model.verdict import Run, Verdict
from harness.report.html import render_html

REASONS = {
    "forward": "the loss is summed, divided and kept where the logits are (SINGA-502)",
    "backward": "all it needs was left on the device by forward",
    WHOLE_RUN: "a training loop that must wait here cannot run ahead of the device, or be captured",
}
LIMITED = (Quantity.D2H, Quantity.H2D, Quantity.SYNCS, Quantity.BLOCKING_COPIES)


def a_green_case(number: int) -> Verdict:
    """As many checks, parameters, regions, limits, and timings as a case of ``softmax_cross_entropy`` has."""
    kept = "; ".join(f"{region}: d2h <= 0, h2d <= 0, syncs <= 0" for region in REASONS)
    tolerances = tuple(
        f"{name}: 14.{number % 10} half-ulps of float32 (4 + log2 of 1,000 summed terms) at scale 1"
        for name in ("loss", "gradient")
    )
    values = f"loss 0.{number % 89 + 10} of the allowed error; gradient 0.03 of the allowed error"
    checks = [
        a_check(check="positive control", summary="saw a D2H copy, a stream synchronize"),
        a_check(check="traffic", summary=kept),
        a_check(check="placement", summary="loss, gradient on the device"),
        *(
            a_check(summary=values, details=tolerances, evidence=f"float64 oracle, device {device}")
            for device in ("simulated", "cpu")
        ),
        a_check(check="inputs", summary="logits, labels unchanged"),
        a_check(check="gradients", summary=f"gradient of logits: agrees (slope 0.00{number})"),
    ]
    return a_verdict(
        *checks,
        case=f"4096x1000-float32-{number}",
        parameters={
            "shape": f"4096x{number}",
            "dtype": "float32",
            "logits": "standard normal",
            "labels": "int64 ids",
            "reduction": "mean",
            "layout": "contiguous",
        },
        traffic=a_record(
            regions={region: TrafficCounts(kernels=number) for region in REASONS},
            limits={
                region: tuple(a_limit(quantity=each, because=why) for each in LIMITED)
                for region, why in REASONS.items()
            },
        ),
        sample=a_sample(call_ns=tuple(1e6 + 997.3 * number + 13.7 * n for n in range(80))),
        call_time=an_estimate(value=1e6 + number),
        throughput=Throughput(unit="samples", units_per_call=4096, bytes_per_call=49_152_000),
        flops_per_call=2e7,
        errors=(an_error_map(), an_error_map(output="gradient", shape=(4096, number + 1))),
    )


def a_compared_case(number: int) -> Verdict:
    """A case timed in 80 pairs by five processes, no two of the times alike."""
    drawn = random.Random(number)
    return a_compared_verdict(
        case=f"4096x{1000 + number}-float32",
        change=a_change(ratio=1 + number % 20 / 1000),
        ratios=tuple(drawn.gauss(1.0, 0.01) for _ in range(80)),
        process_starts=tuple(range(0, 80, 16)),
    )


def page_bytes(run: Run) -> int:
    return len(render_html(run).encode())


def bytes_of(count: int, runs: Callable[[int], Run]) -> float:
    """Of a page of so many cases, from what each costs beyond those whose pictures are drawn."""
    few, more = page_bytes(runs(100)), page_bytes(runs(140))
    return few + (more - few) / 40 * (count - 100)


def green(count: int) -> Run:
    return a_run(*map(a_green_case, range(count)))


def compared(count: int) -> Run:
    return a_run(*map(a_compared_case, range(count)), paired_with="main")


def test_the_cases_of_a_full_run_stay_below_four_tenths_of_a_megabyte() -> None:
    assert page_bytes(green(33)) < 400_000


def test_a_thousand_cases_stay_below_five_megabytes() -> None:
    assert bytes_of(1000, green) < 5_000_000


def test_a_thousand_compared_cases_with_their_samples_stay_below_five_megabytes() -> None:
    assert bytes_of(1000, compared) < 5_000_000


def test_a_hundred_cases_with_fifty_runs_of_history_are_a_megabyte() -> None:
    verdicts = [a_green_case(number) for number in range(100)]
    histories = tuple(
        a_history(key=verdict.key, runs=50, change_at=place % 50 or None)
        for place, verdict in enumerate(verdicts)
    )
    run = a_run(*verdicts, history=histories)
    assert page_bytes(run) < 1_000_000


def test_the_lines_of_a_noisy_case_are_told_once_and_not_per_region() -> None:
    lines = traffic_lines([a_transfer(site=Site("ops.py", n, "f")) for n in range(200)])
    quiet, noisy = (
        page_bytes(a_run(a_verdict(traffic=a_record(lines=each)))) for each in ((), lines)
    )
    assert (noisy - quiet) / 200 < 400
