"""The roofline as data: places under the roofs, shares of what is attainable, and names that do not overlap."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from builders import a_check, a_copy_bandwidth, a_run, a_verdict, an_estimate
from hypothesis import example, given
from hypothesis import strategies as st

from harness.model.conditions import MatmulRate
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.verdict import Run, Verdict
from harness.report.view.labels_beside import TEXT_WIDTH, Box, place_labels
from harness.report.view.roofline import Roofline, roofline
from harness.report.view.roofs import HEIGHT, Field, figure_text

COPY, PEAK = 20e9, 100e9


def timed(
    case: str = "a",
    *,
    ns: float = 1e6,
    flops: float | None = 1e6,
    size_bytes: int = 2_000_000,
    outcome: Outcome = Outcome.PASSED,
) -> Verdict:
    return replace(
        a_verdict(a_check(outcome=outcome), case=case, timing_device="cpu"),
        call_time=an_estimate(value=ns),
        throughput=Throughput(unit="samples", units_per_call=1, bytes_per_call=size_bytes),
        flops_per_call=flops,
    )


def run_of(*verdicts: Verdict, matmul: bool = True, device: str = "cpu") -> Run:
    rate = MatmulRate(device=device, dtype="float32", size=1024, flops_per_second=PEAK)
    copy = a_copy_bandwidth(before=COPY, after=COPY)
    return replace(a_run(*verdicts), copy_bandwidth=copy, matmul_rate=rate if matmul else None)


def view_of(*verdicts: Verdict, matmul: bool = True, device: str = "cpu") -> Roofline:
    run = run_of(*verdicts, matmul=matmul, device=device)
    found = roofline(run, [f"case-{verdict.case}" for verdict in verdicts])
    assert found is not None
    return found


def test_a_case_is_told_as_a_share_of_the_lower_roof() -> None:
    memory, arithmetic = view_of(timed(), timed("b", flops=2e8, ns=4e6)).dots
    assert (memory.intensity, memory.achieved, memory.attainable) == (
        "0.5",
        "1.00 G flop/s",
        "10.0 G flop/s",
    )
    assert (memory.share, memory.roof) == ("10.0 %", "copy")
    assert (arithmetic.intensity, arithmetic.attainable) == ("100", "100 G flop/s")
    assert (arithmetic.share, arithmetic.roof) == ("50.0 %", "product")


def test_a_dot_lies_under_the_roof_just_where_its_share_is_below_one() -> None:
    for ns in (1e3, 9e4, 1.1e5, 1e6):
        view = view_of(timed(ns=ns))
        (dot,) = view.dots
        start, end = view.roofs[0].start, view.roofs[0].end
        across = (dot.at[0] - start[0]) / (end[0] - start[0])
        roof = start[1] + across * (end[1] - start[1])
        assert (dot.at[1] < roof) is dot.above is (ns < 1e5)
        assert bool(view.above) is dot.above
        assert not dot.above or view.above[0].startswith(
            "a (number 1) lies above the roof of the copy"
        )


def test_a_case_above_the_product_has_another_reason() -> None:
    (text,) = view_of(timed(flops=1e9, ns=1e6)).above
    assert "above the roof of the product" in text
    assert "cache" not in text


def test_cases_without_operations_are_listed_by_their_bytes() -> None:
    view = view_of(timed(), timed("b", flops=None))
    assert [dot.label for dot in view.dots] == ["a"]
    (moved,) = view.moved
    assert (moved.bandwidth, moved.share) == ("2.00 GB/s", "10.0 %")


def test_without_a_product_only_bytes_have_a_roof() -> None:
    for view in (view_of(timed(), matmul=False), view_of(timed(), device="cuda:0")):
        assert (view.dots, view.roofs) == ((), ())
        assert len(view.moved) == 1
        assert "No matrix product was timed" in view.measured


def test_where_nothing_was_timed_there_is_no_roofline() -> None:
    assert roofline(run_of(a_verdict()), ["a"]) is None
    assert roofline(run_of(), []) is None
    assert roofline(replace(run_of(timed()), copy_bandwidth=None), ["a"]) is None
    assert roofline(run_of(timed(ns=math.nan)), ["a"]) is None
    assert roofline(run_of(timed(size_bytes=0)), ["a"]) is None


def test_shapes_are_told_in_words_for_outcomes_that_occur() -> None:
    view = view_of(timed(), timed("b", outcome=Outcome.FAILED, ns=9e7))
    assert view.key == "disc passed, square failed"


def test_the_text_says_whose_threads() -> None:
    assert "by one thread" in view_of(timed()).measured
    assert "as many threads as NumPy's BLAS takes" in view_of(timed()).measured


def test_dots_that_cover_each_other_share_one_number() -> None:
    view = view_of(*(timed(f"a-rather-long-name-{n:02}") for n in range(14)))
    assert not view.named
    assert [dot.numbers for dot in view.dots] == ["1 to 14"] + [""] * 13


def test_a_long_list_is_cut_and_counted() -> None:
    view = view_of(*(timed(str(n), ns=1e5 + 1e4 * n) for n in range(70)))
    assert (len(view.dots), view.left_out) == (60, 10)


HAIR = 1e-9
"""Of a pixel: names may touch, and computed another way their edges differ in the last bit."""


@given(
    st.lists(
        st.tuples(st.floats(1, 99), st.floats(10, 290), st.text("ab", min_size=1, max_size=30)),
        max_size=12,
    )
)
@example([(2.0, 111.0, "a"), (5.0, 124.12144093719276, "a"), (5.0, 124.12144093719276, "aaa")])
def test_names_that_are_placed_meet_no_other_name_and_no_dot(
    drawn: list[tuple[float, float, str]],
) -> None:
    field = Box(0, 0, 620, 300)
    places, names = [(x, y) for x, y, _ in drawn], [name for _, _, name in drawn]
    labels = place_labels(places, names, field)
    if labels is None:
        return
    boxes = []
    for (x, y), name, label in zip(places, names, labels, strict=True):
        width = TEXT_WIDTH * len(name)
        left = x * 6.2 + label.dx - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        top = y + label.dy - 11
        boxes.append(Box(left + HAIR, top + HAIR, left + width - HAIR, top + 14 - HAIR))
    for number, box in enumerate(boxes):
        assert field.holds(box)
        assert not any(box.meets(other) for other in boxes[:number])
        for x, y in places:
            assert (x, y) == places[number] or not box.touches(x * 6.2, y)


def test_twelve_dots_apart_have_names_and_twelve_at_one_place_have_none() -> None:
    apart = [timed(f"case-{n}", ns=1e6 * 3**n, flops=1e6 * 2**n) for n in range(12)]
    assert view_of(*apart).named
    assert not view_of(*(timed(f"case-{n}") for n in range(12))).named


@given(
    st.lists(st.tuples(st.floats(1e-6, 1e6), st.floats(1, 1e16)), min_size=1, max_size=5),
    st.floats(1e8, 1e13),
    st.floats(1e8, 1e16),
)
def test_every_dot_and_both_roofs_lie_in_the_field(
    rates: list[tuple[float, float]], copy: float, peak: float
) -> None:
    field = Field.around(rates, copy, peak)
    for x, y in [field.place(*rate) for rate in rates]:
        assert 0 <= x <= 100
        assert 0 <= y <= 300
    for roof in field.roofs():
        assert all(0 <= x <= 100 and 0 <= y <= 300 for x, y in (roof.start, roof.end))
    assert 2 <= len(list(field.up())) <= 9


@pytest.mark.parametrize(("value", "text"), [(0.3125, "0.312"), (1.0, "1"), (1234.0, "1,230")])
def test_figures_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert figure_text(value) == text


def test_the_name_of_the_copy_has_room_above_the_ticks() -> None:
    field = Field.around([(1.0, 1e9), (80.0, 5e10)], 31e9, 1e11)
    copy = field.roofs()[0]
    assert copy.start[1] + copy.name_dy < HEIGHT
