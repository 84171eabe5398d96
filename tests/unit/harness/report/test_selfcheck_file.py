"""selfcheck.json: the latest check of each op of each machine, whole or not at all."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_run, a_self_check, a_verdict, an_environment, an_estimate

from harness.errors import FileFormatError, OutputError
from harness.model.outcome import Outcome
from harness.report.selfcheck_file import (
    SELF_CHECK_FILE,
    read_self_checks,
    save_self_checks,
    with_self_checks,
)

HARD = an_environment().hard
HOSTILE = "</script>\u202e\x1b[31m\udcff"


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    failed = replace(
        a_self_check(key="b"), outcome=Outcome.FAILED, spread=None, call_ns=None, injections=()
    )
    checks = (a_self_check(key="a"), failed)
    path = save_self_checks(HARD, checks, tmp_path)
    assert path == tmp_path / SELF_CHECK_FILE
    (machine,) = read_self_checks(tmp_path)
    assert machine.hard == HARD
    assert machine.checks == checks
    plain = json.loads(path.read_text())
    assert plain["schema_version"] == 1
    assert plain["machines"][0]["checks"][0]["created"] == checks[0].created


def test_where_none_was_saved_there_is_none(tmp_path: Path) -> None:
    assert read_self_checks(tmp_path) == read_self_checks(tmp_path / "absent") == ()


def test_a_later_check_replaces_that_op_and_leaves_other_ops_and_machines(tmp_path: Path) -> None:
    old, other = a_self_check(key="a"), a_self_check(key="b")
    save_self_checks(HARD, (old, other), tmp_path)
    save_self_checks({"cpu.model": "another"}, (old,), tmp_path)
    new = replace(old, created="2025-12-01T00:00:00+00:00")
    save_self_checks(HARD, (new,), tmp_path)
    machines = read_self_checks(tmp_path)
    assert [machine.hard for machine in machines] == [HARD, {"cpu.model": "another"}]
    assert machines[0].checks == (new, other)
    assert machines[1].checks == (old,)


def test_the_machine_checked_longest_ago_is_forgotten_first(tmp_path: Path) -> None:
    for number in range(32):
        save_self_checks({"host": str(number)}, (a_self_check(),), tmp_path)
    kept = [machine.hard["host"] for machine in read_self_checks(tmp_path)]
    assert len(kept) == 30
    assert kept[0] == "31"
    assert "1" not in kept


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Expecting value"),
        ("{", "line 1 column 2"),
        ("[]", "Expected `object`, got `array`"),
        ("{}", "is no self-check of this harness"),
        ('{"format": "ondevice-harness run", "schema_version": 1}', "is no self-check"),
        (
            '{"format": "ondevice-harness self-check", "schema_version": 9}',
            "reads up to 1; upgrade",
        ),
        ('{"format": "ondevice-harness self-check", "schema_version": 1}', "machines"),
        (
            '{"format": "ondevice-harness self-check", "schema_version": 1, "machines": [{"hard": 3, "checks": []}]}',
            "$.machines[0].hard",
        ),
    ],
)
def test_a_damaged_file_is_named_and_left(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / SELF_CHECK_FILE
    path.write_text(text)
    for use in (
        lambda: read_self_checks(tmp_path),
        lambda: save_self_checks(HARD, (a_self_check(),), tmp_path),
    ):
        with pytest.raises(FileFormatError) as caught:
            use()
        message = str(caught.value)
        assert str(path) in message
        assert says.replace("`", "") in message
        assert "\n" not in message
    assert path.read_text() == text


def test_a_folder_in_its_place_is_no_file(tmp_path: Path) -> None:
    (tmp_path / SELF_CHECK_FILE).mkdir()
    with pytest.raises(FileFormatError, match="is no regular file"):
        read_self_checks(tmp_path)


def test_a_save_that_fails_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    save_self_checks(HARD, (a_self_check(),), tmp_path)
    before = (tmp_path / SELF_CHECK_FILE).read_bytes()
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises((OutputError, FileFormatError), match="cannot be"):
        save_self_checks(HARD, (a_self_check(),), blocked)
    assert (tmp_path / SELF_CHECK_FILE).read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["file", SELF_CHECK_FILE]


def test_a_run_gets_the_checks_of_its_own_machine_only(tmp_path: Path) -> None:
    run = a_run()
    assert with_self_checks(run, tmp_path).self_checks == ()
    save_self_checks({"cpu.model": "another"}, (a_self_check(key="theirs"),), tmp_path)
    assert with_self_checks(run, tmp_path).self_checks == ()
    save_self_checks(HARD, (a_self_check(key="mine"),), tmp_path)
    (check,) = with_self_checks(run, tmp_path).self_checks
    assert check.key == "mine"


def test_a_check_is_shown_by_what_times_on_its_device_whatever_else_that_uses(
    tmp_path: Path,
) -> None:
    on_cpu, on_gpu = (a_self_check(key="op", device=device) for device in ("cpu", "cuda:0"))
    save_self_checks({**HARD, "devices": "cpu simulated"}, (on_cpu,), tmp_path)
    save_self_checks({**HARD, "devices": "cuda:0"}, (on_gpu,), tmp_path)
    for device, check in (("cpu", on_cpu), ("cuda:0", on_gpu)):
        timed = a_verdict(call_time=an_estimate(), timing_device=device)
        assert with_self_checks(a_run(timed), tmp_path).self_checks == (check,)
    assert with_self_checks(a_run(a_verdict()), tmp_path).self_checks == (on_cpu, on_gpu)


def test_a_damaged_file_fails_no_run_and_is_told_in_it(tmp_path: Path) -> None:
    (tmp_path / SELF_CHECK_FILE).write_text("{")
    run = with_self_checks(a_run(notes=("first",)), tmp_path)
    assert run.self_checks == ()
    first, second = run.notes
    assert first == "first"
    assert second.startswith("no self-check is shown: ")
    assert "remove it and check again: harness selfcheck" in second


def test_any_text_survives(tmp_path: Path) -> None:
    check = a_self_check(key=HOSTILE, summary=HOSTILE, device=HOSTILE)
    path = save_self_checks({HOSTILE: HOSTILE}, (check,), tmp_path)
    assert path.read_bytes().isascii()
    (machine,) = read_self_checks(tmp_path)
    assert machine.checks == (check,)
