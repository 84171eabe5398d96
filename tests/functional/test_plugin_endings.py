"""However a test ends, pytest and the report tell the same of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BODIES = {
    "kept": "on_device(device.to_device(LOGITS))",
    "exceeded": "host_roundtrip(device.to_device(LOGITS))",
    "vacuous": "pass",
    "refused": "swallow(device_trace)",
}
ENDINGS = {
    "returns": "pass",
    "fails": "assert False, 'my own'",
    "skips": "pytest.skip('not today')",
    "xfails": "pytest.xfail('known')",
}
MARKS = {
    "plain": "",
    "strict": "@pytest.mark.xfail(strict=True, reason='SINGA-502')",
    "lenient": "@pytest.mark.xfail(strict=False, reason='SINGA-502')",
}

SWALLOW = """
def swallow(device_trace):
    with device_trace() as trace:
        pass
    try:
        trace.counts()
    except BaseException:
        pass
"""

EVERY_WAY = SWALLOW + "\n".join(
    f"""
{mark}
@pytest.mark.limit_transfers(d2h=0, syncs=0, because=BECAUSE)
def test_{body}_{ending}_{name}(device, device_trace):
    {BODIES[body]}
    {ENDINGS[ending]}
"""
    for body in BODIES
    for ending in ENDINGS
    for name, mark in MARKS.items()
)

NOTED = """
import json
import pytest

ENDED = {}


def pytest_runtest_logreport(report):
    if report.when == "call":
        expected = "x" if hasattr(report, "wasxfail") else ""
        ENDED[report.nodeid.partition("::")[2]] = expected + report.outcome


def pytest_sessionfinish():
    with open("ended.json", "w") as file:
        json.dump(ENDED, file)
"""

ALSO_IN_THE_REPORT = {
    "passed": {"passed"},
    "xpassed": {"passed"},
    "skipped": {"skipped", "inconclusive"},
    "xskipped": {"skipped"},
    "failed": {"failed", "inconclusive"},
}
"""What the report may call a test that ended so for pytest, which knows of nothing inconclusive."""


def outcome(verdict: dict) -> str:
    order = ["passed", "skipped", "inconclusive", "failed"]
    return max((check["outcome"] for check in verdict["checks"]), key=order.index)


@pytest.fixture
def ended(suite, pytester, reported):
    """Run a suite; how each test ended for pytest, and what the report calls it."""

    def run(source: str, *options: str) -> dict[str, tuple[str, str]]:
        pytester.makeconftest(NOTED)
        suite(source, "--harness-report=report.html", *options)
        noted = json.loads(Path("ended.json").read_text())
        report = reported()
        assert noted.keys() == report.keys()
        return {name: (noted[name], outcome(report[name])) for name in noted}

    return run


@pytest.mark.parametrize("policy", ["fail", "skip"])
def test_the_report_is_as_bad_as_pytest_and_no_worse(ended, policy):
    ends = ended(EVERY_WAY, f"--harness-inconclusive={policy}")
    assert len(ends) == len(BODIES) * len(ENDINGS) * len(MARKS)
    for name, (for_pytest, in_report) in ends.items():
        assert in_report in ALSO_IN_THE_REPORT[for_pytest], name
        _, body, ending, mark = name.split("_")
        unknown = body in ("vacuous", "refused") and ending == "returns"
        assert (in_report == "inconclusive") == (
            unknown or in_report_refused(body, ending, mark)
        ), name
        if unknown:
            assert for_pytest == ("failed" if policy == "fail" else "skipped"), name
        if ending == "skips":
            assert (for_pytest, in_report) == ("skipped", "skipped"), name


def in_report_refused(body: str, ending: str, mark: str) -> bool:
    """A refused reading is no expected failure, whatever else the test says of itself."""
    expected = ending == "xfails" or (ending == "fails" and mark != "plain")
    return body == "refused" and expected


def test_an_exceeded_limit_is_told_of_a_test_that_skips_and_does_not_count(suite, reported):
    suite(
        """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_skips(device):
    host_roundtrip(device.to_device(LOGITS))
    pytest.skip("not today")
""",
        "--harness-report=report.html",
    ).assert_outcomes(skipped=1)
    verdict = reported()["test_skips"]
    own, control, limits = verdict["checks"]
    assert (own["outcome"], control["outcome"]) == ("skipped", "passed")
    assert limits["outcome"] == "skipped"
    assert limits["summary"].startswith("skipped (not today): 1 D2H")
    assert not verdict["traffic"]["limits"], "the page would show them as exceeded"


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["one process", "a worker"])
def test_a_failed_subtest_fails_its_test_in_the_report_too(suite, reported, workers):
    result = suite(
        """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_parts(device, subtests):
    for number in range(3):
        with subtests.test(number=number):
            on_device(device.to_device(LOGITS))
            assert number < 1


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_whole(device, subtests):
    with subtests.test():
        on_device(device.to_device(LOGITS))
""",
        "--harness-report=report.html",
        *workers,
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    report = reported()
    assert outcome(report["test_whole"]) == "passed"
    assert outcome(report["test_parts"]) == "failed"
    assert report["test_parts"]["checks"][-1]["summary"] == "2 subtests failed"


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("kept", ()),
        ("exceeded", ()),
        ("vacuous", ("--harness-inconclusive=skip",)),
        ("vacuous", ()),
    ],
)
def test_the_page_shows_the_status_that_pytest_ended_with(suite, pytester, body, options):
    result = suite(
        f"""
@pytest.mark.limit_transfers(d2h=0, syncs=0, because=BECAUSE)
def test_body(device):
    {BODIES[body]}
""",
        "--harness-report=report.html",
        *options,
    )
    page = (pytester.path / "report.html").read_text(encoding="utf-8")
    assert f"<dt>exit status</dt><dd>{int(result.ret)}</dd>" in page
