"""Waivers in pytest: what was accepted passes and is told with its age; nothing else is let through."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime, timedelta

import pytest

MARKED = """
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_forward(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace.region("forward"):
        {op}(logits)

@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_other(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace.region("forward"):
        {op}(logits)
"""

TODAY = datetime.now(UTC).date()


def a_waiver(pytester, *, case: str, until: int = 30) -> None:
    """A file of one waiver that is ten days old and ends in so many days."""
    since, end = TODAY - timedelta(days=10), TODAY + timedelta(days=until)
    pytester.path.joinpath("waivers.toml").write_text(
        f'[[waiver]]\ncase = "{case}"\ncheck = "traffic"\nreason = "a copy of the vendor\'s"\n'
        f"since = {since}\nuntil = {end}\n",
        encoding="utf-8",
    )


@pytest.mark.parametrize("case", ["test_op.py::test_forward", "*.py/test_forward"])
def test_a_waived_failure_passes_and_is_told_with_its_age(suite, pytester, reported, case) -> None:
    a_waiver(pytester, case=case)
    pytester.makeini("[pytest]\nharness_waivers = waivers.toml\n")
    result = suite(
        MARKED.format(op="host_roundtrip"),
        "-v",
        "--junit-xml=junit.xml",
        "-ojunit_family=xunit2",
        "--harness-report=report.html",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_forward PASSED (waived)*",
            "*test_other FAILED*",
            "harness: 2 traced tests: 1 skipped, 1 failed",
            "harness: 1 waived",
            "harness: test_op.py::test_forward: traffic waived since * (10 days) until *: a copy of the vendor's",
        ]
    )
    (found,) = ElementTree.parse(pytester.path / "junit.xml").iterfind(
        ".//property[@name='harness_waiver']"
    )
    assert "(10 days)" in found.attrib["value"]
    assert "found, failed: 1 D2H within 'forward'" in found.attrib["value"]
    checks = {check["check"]: check for check in reported()["test_forward"]["checks"]}
    assert (checks["test"]["outcome"], checks["traffic"]["outcome"]) == ("passed", "skipped")
    assert checks["traffic"]["waiver"]["reason"] == "a copy of the vendor's"
    assert reported()["test_other"]["checks"][-1]["outcome"] == "failed"


def test_an_expired_waiver_fails_and_says_since_when(suite, pytester) -> None:
    a_waiver(pytester, case="*", until=-3)
    result = suite(MARKED.format(op="host_roundtrip"), "--harness-waivers=waivers.toml")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*note      its waiver ended on *, 3 days ago: a copy of*"])


def test_a_waiver_of_no_use_is_told_and_one_of_tests_that_were_not_asked_for_is_not(
    suite, pytester
) -> None:
    a_waiver(pytester, case="*::test_forward")
    fixed = MARKED.format(op="on_device")
    result = suite(fixed, "--harness-waivers=waivers.toml")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["harness: the waiver of traffic in * is no longer needed by*"])
    a_waiver(pytester, case="*::test_gone")
    result = suite(fixed, "--harness-waivers=waivers.toml")
    result.stdout.fnmatch_lines(["harness: 1 waiver matched nothing in this run*test_gone'*"])
    result = suite(fixed, "--harness-waivers=waivers.toml", "-k", "other")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.no_fnmatch_line("*matched nothing*")


def test_what_nobody_could_see_is_not_waived(suite, pytester) -> None:
    a_waiver(pytester, case="*")
    nothing_ran = """
@pytest.mark.limit_transfers(d2h=0, within="backward", because=BECAUSE)
async def test_forward(device):
    pass
"""
    result = suite(nothing_ran, "--harness-waivers=waivers.toml")
    assert result.ret != 0
    marked = MARKED.format(op="on_device")
    result = suite(marked, "--harness-waivers=waivers.toml", "--harness-device=cpu")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*not waived, since nothing is known that could be accepted*"])


def test_a_file_that_makes_no_sense_stops_pytest_in_one_line(suite, pytester) -> None:
    pytester.path.joinpath("waivers.toml").write_text('[[waiver]]\ncase = "*"\ncheck = "test"\n')
    result = suite(MARKED.format(op="on_device"), "--harness-waivers=waivers.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--harness-waivers: *waivers.toml, waiver 1 ('*'): has no reason*"]
    )
    result = suite(MARKED.format(op="on_device"), "--harness-waivers=none.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--harness-waivers: *none.toml' cannot be read: No such file*"])
