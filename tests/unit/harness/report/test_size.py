"""Many cases stay a file that can be mailed: what a real case of a green run costs in its page."""

from __future__ import annotations

from builders import (
    a_check,
    a_limit,
    a_record,
    a_run,
    a_sample,
    a_transfer,
    a_verdict,
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
    )


def page_bytes(run: Run) -> int:
    return len(render_html(run).encode())


def test_the_cases_of_a_full_run_stay_below_a_quarter_of_a_megabyte() -> None:
    assert page_bytes(a_run(*map(a_green_case, range(33)))) < 250_000


def test_a_thousand_cases_stay_below_five_megabytes() -> None:
    few, more = (page_bytes(a_run(*map(a_green_case, range(count)))) for count in (10, 60))
    assert few + (more - few) / 50 * 990 < 5_000_000


def test_the_lines_of_a_noisy_case_are_told_once_and_not_per_region() -> None:
    lines = traffic_lines([a_transfer(site=Site("ops.py", n, "f")) for n in range(200)])
    quiet, noisy = (
        page_bytes(a_run(a_verdict(traffic=a_record(lines=each)))) for each in ((), lines)
    )
    assert (noisy - quiet) / 200 < 400
