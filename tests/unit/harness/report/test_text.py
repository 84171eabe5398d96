"""A run on a terminal: one screen, aligned, plain when piped."""

from __future__ import annotations

import io

import pytest
from builders import (
    a_change,
    a_check,
    a_compared_verdict,
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_sample,
    a_self_check,
    a_sync,
    a_transfer,
    a_verdict,
    a_violation,
    an_estimate,
)
from rich.console import Console

from harness.model.budget import Quantity
from harness.model.event import Site
from harness.model.measurement import Throughput
from harness.model.outcome import Outcome
from harness.model.traffic import traffic_lines
from harness.model.verdict import Run, Verdict
from harness.report.text import print_summary, summary_lines
from harness.report.view.page import build_page


def lines_of(run: Run, *, quiet: bool = False, width: int | None = None) -> list[str]:
    return [line.text for line in summary_lines(build_page(run), quiet=quiet, width=width)]


def printed(run: Run, *, width: int = 80, encoding: str = "utf-8", terminal: bool = False) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    console = Console(file=stream, width=width)
    if terminal:
        console = Console(file=stream, width=width, force_terminal=True, color_system="standard")
    print_summary(run, console)
    stream.flush()
    return raw.getvalue().decode(encoding)


def a_timed_verdict(*, case: str) -> Verdict:
    return a_verdict(
        case=case,
        traffic=a_record(),
        controls=(a_defective_record(),),
        sample=a_sample(),
        call_time=an_estimate(),
        throughput=Throughput(unit="samples", units_per_call=4096, bytes_per_call=0),
    )


def test_a_passed_run_reads_as_designed() -> None:
    run = a_run(
        a_timed_verdict(case="4096x1000-float32"), a_timed_verdict(case="8x10"), baseline="main"
    )
    assert lines_of(run) == [
        "✓ PASSED  exit 0  evidence SIMULATED  2 checks in 2 cases",
        "  Both cases passed every check, held against baseline main",
        "",
        "    case               values  D2H  H2D  syncs  call time  interval         throughput",
        "  softmax_cross_entropy",
        "  ✓ 4096x1000-float32  ✓       0    0    0      1.25 ms    1.20 to 1.30 ms  3.28 M samples/s",
        "  ✓ 8x10               ✓       0    0    0      1.25 ms    1.20 to 1.30 ms  3.28 M samples/s",
        "",
        "before and after  softmax_cross_entropy/4096x1000-float32 and 1 case alike",
        "  ✗ before  host_roundtrip         1 D2H (4 B), 0 H2D, 1 sync",
        "            4 B device -> pageable, cudaMemcpyAsync + stream sync   "
        "ops/host_roundtrip.py:31 in forward",
        "  ✓ after   softmax_cross_entropy  0 D2H, 0 H2D, 0 syncs",
        "",
        "what to do next",
        "  1. → evidence is SIMULATED",
        "     no GPU took part, so the driver and code that bypasses the array interface are unseen",
        "     next      run the same command on a machine with a CUDA device",
        "",
        "self-check      none was made on this machine, so nobody knows which slowdowns it can find; "
        "make one: harness selfcheck",
    ]


def a_comparison() -> Run:
    return a_run(
        a_compared_verdict(
            case="8x10", change=a_change(ratio=1.0, decision="unchanged"), outcome=Outcome.PASSED
        ),
        a_compared_verdict(case="64x10"),
        baseline="main",
        paired_with="main",
    )


def test_a_comparison_shows_both_times_and_the_ratio_and_nothing_that_nobody_watched() -> None:
    assert lines_of(a_comparison())[3:7] == [
        "    case   baseline  now      ratio   interval        change",
        "  softmax_cross_entropy",
        "  ✗ 64x10  1.20 ms   1.25 ms  1.050x  1.045 to 1.055  regressed",
        "  ✓ 8x10   1.20 ms   1.25 ms  1.000x  0.995 to 1.005  unchanged",
    ]


def test_on_a_narrow_terminal_the_ratio_is_what_stays() -> None:
    heading = next(line for line in lines_of(a_comparison(), width=40) if "case " in line)
    assert heading.split() == ["case", "ratio", "interval"]


def test_a_case_that_was_not_compared_keeps_its_place_in_the_table() -> None:
    run = a_run(a_compared_verdict(), a_timed_verdict(case="new"), baseline="main")
    row = next(line for line in lines_of(run) if " new " in line)
    assert row.split() == ["✓", "new", "✓", "0", "0", "0", "1.25", "ms", "3.28", "M", "samples/s"]


def test_a_name_of_ten_thousand_characters_is_told_with_its_true_length() -> None:
    lines = lines_of(a_run(a_verdict(case="x" * 10_001)))
    assert any("(10,001 characters)" in line for line in lines)
    assert not any("145" in line for line in lines)


def test_a_failed_run_brings_the_limits_and_the_line_of_code() -> None:
    failed = a_failed_traffic_check(a_violation(), a_violation(a_sync(), quantity=Quantity.SYNCS))
    lines = lines_of(a_run(a_verdict(failed, traffic=a_defective_record(label="planted"))))
    assert lines[0] == "✗ FAILED  exit 1  evidence SIMULATED  1 check in 1 case: 1 failed"
    assert lines[5].split() == ["✗", "4096x1000-float32", "1", "✗", "0", "1", "✗"]
    assert "     transfer limit exceeded within 'forward'" in lines
    assert (
        "       1. 4 B device -> pageable, cudaMemcpyAsync + stream sync   ops/host_roundtrip.py:31 in forward"
        in lines
    )
    assert (
        "     next      remove the copy or wait at the line shown, or budget it with its reason"
        in lines
    )


def test_quiet_says_only_what_did_not_pass() -> None:
    assert lines_of(a_run(a_timed_verdict(case="a")), quiet=True) == []
    wrong = a_check(
        outcome=Outcome.FAILED, summary="loss is wrong", evidence="oracle", next_step="look"
    )
    lines = lines_of(a_run(a_timed_verdict(case="a"), a_verdict(wrong, case="b")), quiet=True)
    assert lines == [
        "✗ FAILED  exit 1  evidence SIMULATED in 1, none in 1  2 checks in 2 cases: 1 failed, 1 passed",
        "  1 of 2 cases failed: softmax_cross_entropy/b: loss is wrong",
        "",
        "what to do next",
        "  1. ✗ values failed in softmax_cross_entropy/b",
        "     loss is wrong",
        "     evidence  oracle",
        "     next      look",
    ]


def test_many_cases_stay_on_one_screen_with_the_worst_on_top() -> None:
    bad = a_check(outcome=Outcome.FAILED, summary="loss is wrong")
    run = a_run(*(a_timed_verdict(case=f"c{n}") for n in range(200)), a_verdict(bad, case="bad"))
    lines = lines_of(run)
    assert lines[5].startswith("  ✗ bad")
    assert "  and 181 more cases, all passed: see the report" in lines
    assert len(lines) < 50


def test_what_is_left_out_is_never_said_to_have_passed_when_it_did_not() -> None:
    failed = (a_verdict(a_check(outcome=Outcome.FAILED), case=f"c{n}") for n in range(30))
    assert "  and 10 more cases, not all passed: see the report" in lines_of(a_run(*failed))


def test_more_findings_than_fit_are_counted() -> None:
    wrong = (
        a_verdict(a_check(outcome=Outcome.FAILED, summary=f"wrong {n}"), case=f"c{n}")
        for n in range(9)
    )
    assert lines_of(a_run(*wrong))[-1] == "  and 4 more in the report"


def test_more_comparisons_than_fit_are_counted() -> None:
    controls = tuple(a_defective_record(label=f"defect {n}") for n in range(4))
    lines = lines_of(a_run(a_verdict(traffic=a_record(), controls=controls)))
    assert "  and 2 more comparisons in the report" in lines


def test_a_defect_with_many_lines_shows_the_first_and_counts_the_rest() -> None:
    events = [a_transfer(site=Site("a.py", n, "f")) for n in range(3)]
    noisy = a_record(label="noisy", lines=traffic_lines(events))
    lines = lines_of(a_run(a_verdict(traffic=a_record(), controls=(noisy,))))
    assert "            and 2 more lines" in lines


def test_an_unwatched_case_is_told_from_one_without_traffic() -> None:
    lines = lines_of(a_run(a_verdict()))
    assert lines[5].split() == ["✓", "4096x1000-float32", "✓", "unseen", "unseen", "unseen"]


def test_columns_that_are_empty_throughout_are_left_out() -> None:
    assert lines_of(a_run(a_verdict()))[3].split() == ["case", "values", "D2H", "H2D", "syncs"]


def test_an_empty_run_says_so() -> None:
    assert lines_of(a_run()) == [
        "? INCONCLUSIVE  exit 4  evidence none (nothing watched the boundary)  0 checks in 0 cases",
        "  Nothing was checked, so nothing is known",
        "",
        "what to do next",
        "  1. ? run inconclusive",
        "     nothing was checked",
        "     evidence  the run has no case and no check",
        "     next      name a workload that has cases; `harness workloads` lists the built-in ones",
    ]


def test_notes_come_last() -> None:
    assert lines_of(a_run(a_verdict(), notes=("no bfloat16",)))[-2:] == ["", "note  no bfloat16"]


def test_more_notes_than_fit_are_counted() -> None:
    notes = tuple(f"case {n}: first call 3 H2D" for n in range(9))
    lines = lines_of(a_run(a_verdict(), notes=notes))
    assert lines[-2:] == ["note  case 4: first call 3 H2D", "note  and 4 more in the report"]


def test_the_worst_cases_of_every_workload_are_shown_under_one_heading_each() -> None:
    bad = a_check(outcome=Outcome.FAILED)
    good = (a_verdict(case=f"c{n}") for n in range(30))
    lines = lines_of(
        a_run(*good, a_verdict(bad, workload="mlp", case="bad"), a_verdict(bad, case="worse"))
    )
    assert lines[4:7] == [
        "  mlp",
        "  ✗ bad    ✗       unseen  unseen  unseen",
        "  softmax_cross_entropy",
    ]
    assert lines[7].startswith("  ✗ worse")
    assert lines.count("  softmax_cross_entropy") == 1


def test_a_skipped_check_is_told_beside_all_that_passed() -> None:
    untimed = a_check(check="throughput", outcome=Outcome.SKIPPED, summary="no timings")
    assert lines_of(a_run(a_verdict(a_check(), untimed)))[:2] == [
        "○ PASSED WITH SKIPS  exit 0  evidence none (nothing watched the boundary)  "
        "2 checks in 1 case: 1 skipped, 1 passed",
        "  Every check that ran passed; 1 check was skipped: throughput (no timings)",
    ]


def table_of(run: Run, *, width: int) -> list[str]:
    lines = lines_of(run, width=width)
    start = next(number for number, line in enumerate(lines) if line.startswith("    case"))
    return lines[start : lines.index("", start)]


@pytest.mark.parametrize(
    ("width", "last"), [(100, "throughput"), (90, "throughput"), (70, "time"), (50, "syncs")]
)
def test_a_narrow_terminal_does_without_the_columns_that_decide_nothing(
    width: int, last: str
) -> None:
    table = table_of(a_run(a_timed_verdict(case="4096x1000-float32")), width=width)
    assert table[0].split()[-1] == last
    assert ("interval" in table[0]) == (width == 100)
    assert max(map(len, table)) <= width


def test_a_long_name_gives_way_on_a_narrow_terminal() -> None:
    table = table_of(a_run(a_timed_verdict(case="a-very-long-name-of-a-case-indeed")), width=42)
    assert table[2] == "  ✓ a-very-l…deed  ✓       0    0    0"


SAID = "the output is wrong in every one of its entries and nobody can tell why that would be so"


def test_sentences_are_wrapped_below_their_own_beginning() -> None:
    wrong = a_check(outcome=Outcome.FAILED, summary=SAID, evidence="oracle " * 9, next_step=SAID)
    lines = lines_of(a_run(a_verdict(wrong), notes=(SAID,)), quiet=True, width=60)
    assert max(map(len, lines)) <= 60
    start = lines.index("what to do next")
    assert lines[start + 1 :] == [
        "  1. ✗ values failed in",
        "       softmax_cross_entropy/4096x1000-float32",
        "     the output is wrong in every one of its entries and",
        "     nobody can tell why that would be so",
        "     evidence  oracle oracle oracle oracle oracle oracle",
        "               oracle oracle oracle",
        "     next      the output is wrong in every one of its",
        "               entries and nobody can tell why that would be",
        "               so",
    ]


def test_a_line_of_code_has_its_file_on_a_line_of_its_own_where_both_do_not_fit() -> None:
    failed = a_failed_traffic_check(a_violation(because=SAID))
    lines = lines_of(a_run(a_verdict(failed)), width=60)
    code = lines.index("       1. 4 B device -> pageable, cudaMemcpyAsync")
    assert lines[code + 1] == "          ops/host_roundtrip.py:31 in forward"
    start = lines.index("       allowed   0 D2H   (the output is wrong in every one")
    assert lines[start + 1].startswith("                 of its entries")
    whole = (
        "       1. 4 B device -> pageable, cudaMemcpyAsync   ops/host_roundtrip.py:31 in forward"
    )
    assert whole in lines_of(a_run(a_verdict(failed)), width=len(whole))


def test_a_line_of_code_longer_than_the_terminal_is_left_to_it() -> None:
    site = Site("/a" + "/long" * 20 + "/file.py", 12345, "forward")
    failed = a_failed_traffic_check(a_violation(a_transfer(site=site)))
    assert f"{site}" in lines_of(a_run(a_verdict(failed)), width=60)


def low(run: Run, *, height: int, width: int = 80) -> list[str]:
    lines = summary_lines(build_page(run), width=width, height=height)
    return [line.text for line in lines]


def a_long_run() -> Run:
    return a_run(
        *(a_timed_verdict(case=f"c{n}") for n in range(9)),
        copy_bandwidth=a_copy_bandwidth(),
        notes=("no bfloat16",),
    )


def test_what_a_low_terminal_has_no_room_for_is_named_and_the_verdict_stays() -> None:
    lines = low(a_long_run(), height=24)
    assert len(lines) <= 21
    assert lines[0].startswith("✓ PASSED")
    left_out = "before and after, advice, copy bandwidth and self-check, notes"
    assert lines[-1] == f"in the report  {left_out}"
    assert "before and after  " not in "\n".join(lines)


def test_a_high_terminal_and_a_pipe_get_all_of_it() -> None:
    everything = lines_of(a_long_run(), width=80)
    assert low(a_long_run(), height=60) == everything
    assert not any("in the report" in line for line in everything)


def test_what_did_not_pass_goes_before_advice_and_at_least_one_finding_stays() -> None:
    wrong = [
        a_verdict(
            a_check(outcome=Outcome.FAILED, summary=f"wrong {n}", next_step="look"), case=f"{n}"
        )
        for n in range(9)
    ]
    lines = low(a_run(*wrong, notes=("no bfloat16",)), height=24)
    assert any("values failed in" in line for line in lines)
    assert "  and 8 more in the report" in lines
    assert len(lines) <= 24


def test_a_line_of_code_within_a_sentence_stays_in_one_piece() -> None:
    summary = "run() raised RuntimeError: no such file: weights.bin (ops.py:10 in cases)"
    wrong = a_check(check="run", outcome=Outcome.FAILED, summary=summary)
    for width in range(40, 90):
        assert any(
            "(ops.py:10 in cases)" in line
            for line in lines_of(a_run(a_verdict(wrong)), width=width)
        )


def test_a_terminal_is_asked_for_its_width_and_a_pipe_is_not() -> None:
    wrong = a_check(outcome=Outcome.FAILED, summary=SAID)
    run = a_run(a_verdict(wrong))
    assert f"     {SAID}\n" in printed(run, width=60)
    assert SAID not in printed(run, width=60, terminal=True)


def test_columns_align_under_wide_and_combining_characters() -> None:
    run = a_run(a_verdict(case="世界"), a_verdict(case="abcd"), a_verdict(case="e\u0301fgh"))
    rows = [line for line in lines_of(run) if "unseen" in line]
    assert rows == [
        "  ✓ 世界  ✓       unseen  unseen  unseen",
        "  ✓ abcd  ✓       unseen  unseen  unseen",
        "  ✓ e\u0301fgh  ✓       unseen  unseen  unseen",
    ]


def test_a_piped_summary_has_no_colour_and_never_wraps() -> None:
    site = Site("/a" + "/very/long/folder" * 12 + "/file.py", 12345, "forward")
    failed = a_failed_traffic_check(a_violation(a_transfer(site=site)))
    text = printed(a_run(a_verdict(failed)), width=40)
    assert "\x1b" not in text
    assert f"{site.file}:12345 in forward\n" in text


def test_a_terminal_gets_colour_beside_the_signs() -> None:
    text = printed(a_run(a_verdict()), terminal=True)
    assert "\x1b[32m✓ PASSED\x1b[0m" in text


def test_a_terminal_of_another_encoding_gets_readable_signs() -> None:
    text = printed(a_run(a_verdict(case="Größe-世"), baseline="main"), encoding="ascii")
    assert text.startswith("+ PASSED  exit 0")
    assert r"Gr\xf6\xdfe-\u4e16" in text


def test_names_are_text_and_not_markup() -> None:
    text = printed(a_run(a_verdict(case="[bold red]x[/]", workload="\x1b[2J:smile:")))
    assert "[bold red]x[/]" in text
    assert r"\x1b[2J:smile:" in text


def test_throughput_is_told_in_units_in_bytes_and_against_the_copies_of_the_same_run() -> None:
    moves = Throughput(unit="samples", units_per_call=4096, bytes_per_call=12_500_000)
    timed = a_verdict(call_time=an_estimate(), throughput=moves)
    lines = lines_of(a_run(timed, copy_bandwidth=a_copy_bandwidth(), self_checks=(a_self_check(),)))
    assert lines[3].endswith("throughput        bandwidth")
    assert lines[5].endswith("3.28 M samples/s  10.0 GB/s, 50.0 % of copy")
    assert lines[-2].startswith("copy bandwidth  20.0 GB/s before and 20.0 GB/s after, best of 7")
    assert lines[-1].startswith("self-check      1 of 1 op can be gated on this machine; 0 false")


def test_bandwidth_is_left_out_where_the_terminal_is_narrow() -> None:
    moves = Throughput(unit="samples", units_per_call=4096, bytes_per_call=12_500_000)
    run = a_run(
        a_verdict(call_time=an_estimate(), throughput=moves), copy_bandwidth=a_copy_bandwidth()
    )
    heading = lines_of(run, width=84)[3]
    assert "throughput" in heading
    assert "bandwidth" not in heading
    assert "interval" not in heading
