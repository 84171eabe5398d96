"""The text of a failure, word for word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from builders import a_check, a_failed_traffic_check, a_sync, a_transfer, a_violation

from harness.model.budget import WHOLE_RUN, Quantity, Violation
from harness.model.event import Direction, Site, SyncKind
from harness.model.outcome import Outcome
from harness.report.failure import failure_text

EVIDENCE = "evidence  PROVEN (cupti 13.4, controls seen 3/3, 0 dropped, 5 identical runs)"


def text_of(*violations: Violation) -> str:
    return failure_text(a_failed_traffic_check(*violations), relative_to=Path("/work"))


def test_a_read_of_the_loss_reads_as_designed() -> None:
    read = a_violation(a_transfer(), a_sync())
    assert text_of(read) == (
        "transfer limit exceeded within 'forward'\n"
        "  allowed   0 D2H   (the loss stays on the device: SINGA-502)\n"
        "  observed  1 D2H, 4 B, blocking\n"
        "  1. 4 B device -> pageable, cudaMemcpyAsync + stream sync   ops/host_roundtrip.py:31 in forward\n"
        f"{EVIDENCE}"
    )


def test_the_wait_of_a_copy_is_joined_across_limits_and_each_limit_has_its_block() -> None:
    copy = a_violation(a_transfer(), because="no read")
    wait = a_violation(a_sync(), quantity=Quantity.SYNCS, because="no wait")
    assert text_of(copy, wait) == (
        "transfer limit exceeded within 'forward'\n"
        "  allowed   0 D2H   (no read)\n"
        "  observed  1 D2H, 4 B, blocking\n"
        "  1. 4 B device -> pageable, cudaMemcpyAsync + stream sync   ops/host_roundtrip.py:31 in forward\n"
        "sync limit exceeded within 'forward'\n"
        "  allowed   0 syncs   (no wait)\n"
        "  observed  1 sync, stream\n"
        "  1. 4 B device -> pageable, cudaMemcpyAsync + stream sync   ops/host_roundtrip.py:31 in forward\n"
        f"{EVIDENCE}"
    )


def test_many_copies_are_one_line_with_their_count_and_sites_align() -> None:
    one = Site("/work/train.py", 9, "step")
    events = [*[a_transfer()] * 1001, a_transfer(site=one, size_bytes=64, blocking=False)]
    assert text_of(a_violation(*events, at_most=2, because="twice is fine")) == (
        "transfer limit exceeded within 'forward'\n"
        "  allowed   2 D2H   (twice is fine)\n"
        "  observed  1,002 D2H, 4,068 B, 1,001 of 1,002 blocking\n"
        "  1. 1,001 x 4 B device -> pageable, cudaMemcpyAsync   ops/host_roundtrip.py:31 in forward\n"
        "  2. 64 B device -> pageable, cudaMemcpyAsync          train.py:9 in step\n"
        f"{EVIDENCE}"
    )


def test_bytes_waits_and_blocking_copies_are_told_in_their_own_units() -> None:
    upload = a_transfer(direction=Direction.HOST_TO_DEVICE, size_bytes=20_000, blocking=False)
    size = a_violation(upload, quantity=Quantity.H2D_BYTES, at_most=10_000, because="labels only")
    waits = a_violation(
        a_sync(), a_sync(kind=SyncKind.EVENT), a_sync(), quantity=Quantity.SYNCS, because="none"
    )
    blocking = a_violation(
        a_transfer(), a_transfer(), quantity=Quantity.BLOCKING_COPIES, at_most=1, because="one"
    )
    facts = [line for line in text_of(size, waits, blocking).split("\n") if "cuda" not in line]
    assert facts == [
        "transfer size limit exceeded within 'forward'",
        "  allowed   10.0 kB H2D   (labels only)",
        "  observed  20.0 kB H2D, 1 copy, not blocking",
        "sync limit exceeded within 'forward'",
        "  allowed   0 syncs   (none)",
        "  observed  3 syncs, 2 stream, 1 event",
        "blocking copy limit exceeded within 'forward'",
        "  allowed   1 blocking copy   (one)",
        "  observed  2 blocking copies, 8 B",
        EVIDENCE,
    ]


def test_the_whole_run_is_called_the_whole_call() -> None:
    first = text_of(a_violation(region=WHOLE_RUN)).split("\n")[0]
    assert first == "transfer limit exceeded within the whole call"


def test_hundreds_of_lines_of_code_are_cut_and_counted() -> None:
    events = [a_transfer(site=Site("a.py", number, "f")) for number in range(1, 301)]
    lines = text_of(a_violation(*events)).split("\n")
    assert lines[2] == "  observed  300 D2H, 1,200 B, blocking"
    assert lines[3].startswith("   1. 4 B")
    assert lines[22].startswith("  20. 4 B")
    assert lines[23] == "  and 280 more lines"


def test_an_unknown_line_says_so() -> None:
    assert "no Python line known" in text_of(a_violation(a_transfer(site=None)))


def test_what_is_still_open_is_told_beside_a_violation() -> None:
    result = a_check(
        check="traffic",
        outcome=Outcome.FAILED,
        evidence="",
        violations=(a_violation(),),
        details=("3 records were lost",),
    )
    assert failure_text(result).split("\n")[-1] == "  note      3 records were lost"


def test_every_other_result_says_what_then_evidence_then_next() -> None:
    result = a_check(
        check="traffic",
        outcome=Outcome.INCONCLUSIVE,
        summary="counts differ between 5 runs of the same call: d2h 1 to 2",
        evidence="SIMULATED (simulated, controls seen 3/3, 0 dropped, 5 differing runs)",
        details=("region 'loss' has a budget but was never entered",),
        next_step="see `harness doctor`",
    )
    assert failure_text(result) == (
        "traffic inconclusive: counts differ between 5 runs of the same call: d2h 1 to 2\n"
        "  also      region 'loss' has a budget but was never entered\n"
        "evidence  SIMULATED (simulated, controls seen 3/3, 0 dropped, 5 differing runs)\n"
        "next      see `harness doctor`"
    )


def test_a_result_without_evidence_or_next_step_is_one_line() -> None:
    result = a_check(check="values", outcome=Outcome.FAILED, summary="wrong", evidence="")
    assert failure_text(result) == "values failed: wrong"


def test_foreign_text_cannot_forge_a_line() -> None:
    hostile = a_violation(because="fine)\nevidence  PROVEN (\x1b[2J")
    assert len(text_of(hostile).split("\n")) == 5
    assert "\x1b" not in text_of(hostile)


def test_files_are_shown_relative_to_the_current_folder_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = tmp_path / "current"
    current.mkdir()
    monkeypatch.chdir(current)
    here = Site(str(current / "ops" / "a.py"), 3, "f")
    there = Site(str(tmp_path / "b.py"), 4, "g")
    result = a_failed_traffic_check(a_violation(a_transfer(site=here), a_transfer(site=there)))
    assert "   ops/a.py:3 in f" in failure_text(result)
    assert f"   {there}" in failure_text(result)
    assert "   b.py:4 in g" in failure_text(result, relative_to=tmp_path)


def test_a_deleted_current_folder_is_no_reason_to_fail() -> None:
    program = (
        "import os, tempfile; folder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)\n"
        "from harness.model.outcome import Outcome\n"
        "from harness.model.verdict import CheckResult\n"
        "from harness.report.failure import failure_text\n"
        "print(failure_text(CheckResult("
        "check='values', outcome=Outcome.FAILED, summary='wrong', evidence='')))\n"
    )
    repository = Path(__file__).parents[4]
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(repository)},
    )
    assert ran.stdout == "values failed: wrong\n"


def test_the_plugin_gets_the_text_without_loading_anything_heavy() -> None:
    program = (
        "import sys, harness.report.text\n"
        "heavy = {'rich', 'jinja2', 'msgspec', 'numpy'} & sys.modules.keys()\n"
        "sys.exit(f'loaded {sorted(heavy)}' if heavy else 0)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[4])},
    )
    assert ran.returncode == 0, ran.stderr


def test_names_and_reasons_of_any_length_fit_a_screen() -> None:
    found = a_violation(region="r" * 10_000, because="b" * 10_000)
    result = a_check(outcome=Outcome.FAILED, violations=(found,))
    assert max(map(len, failure_text(result).split("\n"))) < 600
