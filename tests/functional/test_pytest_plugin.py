"""The pytest plugin as its users meet it: whole pytest runs over small suites."""

from __future__ import annotations

import json
import os
import re
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import harness

ROOT = Path(harness.__file__).parent.parent

MARKED = """
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_forward(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace.region("forward"):
        {op}(logits)
"""


# --- the planted defect and its fixed twin ---------------------------------------------------------


def test_the_defect_fails_with_limit_reason_copy_line_and_evidence(suite, pytester):
    result = suite(MARKED.replace("d2h=0", "d2h=0, syncs=0").format(op="host_roundtrip"))
    result.assert_outcomes(failed=1)
    output = result.stdout.str()
    text = output[output.index("transfer limit exceeded") : output.index("harness: 1 traced")]
    ops = (pytester.path / "ops.py").read_text(encoding="utf-8").splitlines()
    source_line = 1 + ops.index("    return xp.full((), float(losses.sum()) / n)")
    culprit = (
        "  1. 4 B device -> pageable, cudaMemcpyAsync + stream sync"
        f"   ops.py:{source_line} in host_roundtrip"
    )
    *lines, evidence = text.splitlines()
    assert lines == [
        "transfer limit exceeded within 'forward'",
        "  allowed   0 D2H, 0 syncs   (the loss stays on the device: SINGA-502)",
        "  observed  1 D2H, 4 B, blocking; 1 sync, stream",
        culprit,
    ]
    assert re.fullmatch(
        r"evidence  SIMULATED \(simulated.*, controls seen 3/3, 0 dropped, 1 .*run\)", evidence
    )


def test_the_fixed_twin_passes(suite):
    result = suite(MARKED.format(op="on_device"))
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["harness: 1 traced test: 1 passed", "harness: evidence of 1 test: SIMULATED (*"]
    )


def test_a_limit_that_allows_the_read_passes_it(suite):
    source = MARKED.replace("d2h=0", "d2h=1, syncs=1, d2h_bytes=4").format(op="host_roundtrip")
    suite(source).assert_outcomes(passed=1)


@pytest.mark.parametrize("limit", ["d2h=0", "syncs=0", "d2h_bytes=3", "blocking_copies=0"])
def test_every_quantity_can_fail(suite, limit):
    source = MARKED.replace("d2h=0", limit)
    suite(source.format(op="host_roundtrip")).assert_outcomes(failed=1)
    suite(source.format(op="on_device")).assert_outcomes(passed=1)


@pytest.mark.parametrize("limit", ["h2d=0", "h2d_bytes=23"])
def test_copies_to_the_device_can_be_limited(suite, limit):
    source = f"""
@pytest.mark.limit_transfers({limit}, because=BECAUSE)
def test_input(device, device_trace):
    with device_trace():
        device.to_device(LOGITS)
"""
    suite(source).assert_outcomes(failed=1)


def test_the_traceback_shows_no_frame_of_the_harness(suite):
    result = suite(MARKED.format(op="host_roundtrip"), "--tb=long")
    assert "pytest_plugin" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_the_first_line_of_the_failure_is_in_the_short_summary(suite):
    result = suite(MARKED.format(op="host_roundtrip"))
    result.stdout.fnmatch_lines(
        ["FAILED test_op.py::test_forward - *transfer limit exceeded within 'forward'*"]
    )


def test_junit_counts_a_limit_as_a_failure_with_its_text(suite, pytester):
    suite(MARKED.format(op="host_roundtrip"), "--junitxml=junit.xml")
    tree = ElementTree.parse(pytester.path / "junit.xml")
    assert tree.find("testsuite").get("failures") == "1"
    assert "observed  1 D2H, 4 B, blocking" in tree.find(".//failure").text


# --- what counts -----------------------------------------------------------------------------------


def test_without_within_the_whole_body_counts(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(device):
    logits = device.to_device(LOGITS)
    assert float(on_device(logits)) > 0
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["transfer limit exceeded within the whole call", "*note*with device_trace():*"]
    )


def test_with_a_block_only_the_block_counts(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, h2d=0, syncs=0, because=BECAUSE)
def test_block(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace():
        loss = on_device(logits)
    assert float(loss) > 0
""")
    result.assert_outcomes(passed=1)


def test_traffic_of_fixtures_does_not_count(suite):
    result = suite("""
@pytest.fixture
def logits(device):
    array = device.to_device(LOGITS)
    float(array.sum())
    yield array
    float(array.sum())


@pytest.mark.limit_transfers(d2h=0, h2d=0, because=BECAUSE)
def test_body(logits):
    on_device(logits)
""")
    result.assert_outcomes(passed=1)


def test_traffic_of_one_test_does_not_count_for_the_next(suite):
    result = suite("""
def test_reads(device):
    float(on_device(device.to_device(LOGITS)))


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(device):
    on_device(device.to_device(LOGITS))
""")
    result.assert_outcomes(passed=2)


def test_several_marks_all_apply(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
@pytest.mark.limit_transfers(d2h=1, because="the loss is read once, for the log")
class TestStep:
    def test_read_once(self, device, device_trace):
        with device_trace.region("forward"):
            loss = on_device(device.to_device(LOGITS))
        float(loss)

    def test_read_twice(self, device, device_trace):
        with device_trace.region("forward"):
            loss = on_device(device.to_device(LOGITS))
        float(loss), float(loss)

    def test_read_within(self, device, device_trace):
        with device_trace.region("forward"):
            float(on_device(device.to_device(LOGITS)))

    @pytest.mark.limit_transfers(h2d=0, within="forward", because="inputs belong to the caller")
    def test_one_more(self, device, device_trace):
        with device_trace.region("forward"):
            on_device(device.to_device(LOGITS))
""")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        ["FAILED *test_read_twice*", "FAILED *test_read_within*", "FAILED *test_one_more*"]
    )


def test_a_parametrised_test_is_judged_case_by_case(suite):
    result = suite("""
@pytest.mark.parametrize("op", [on_device, host_roundtrip])
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(op, device):
    op(device.to_device(LOGITS))


@pytest.mark.parametrize("op", [
    on_device,
    pytest.param(host_roundtrip, marks=pytest.mark.limit_transfers(d2h=0, because=BECAUSE)),
])
def test_one_case(op, device):
    op(device.to_device(LOGITS))
""")
    result.assert_outcomes(passed=2, failed=2)


def test_unittest_classes_are_judged_without_their_setup_and_teardown(suite):
    result = suite("""
import unittest


class TestLoss(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _device(self, device):
        self.device = device

    def setUp(self):
        self.logits = self.device.to_device(LOGITS)
        float(self.logits.sum())

    def tearDown(self):
        float(self.logits.sum())

    @pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
    def test_fixed(self):
        on_device(self.logits)

    @pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
    def test_defect(self):
        host_roundtrip(self.logits)

    @pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
    def test_own_failure(self):
        host_roundtrip(self.logits)
        self.assertEqual(1, 2)

    @pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
    def test_skips_itself(self):
        host_roundtrip(self.logits)
        self.skipTest("not today")
""")
    result.assert_outcomes(passed=1, failed=2, skipped=1)
    result.stdout.fnmatch_lines(["*1 != 2*", "*harness: limit_transfers*", "*limit exceeded*"])


# --- never a vacuous pass --------------------------------------------------------------------------

VACUOUS = {
    "nothing ran on the device": """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_vacuous():
    float(LOGITS.sum())
""",
    "region 'forward' has a budget but was never entered": """
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_vacuous(device):
    on_device(device.to_device(LOGITS))
""",
    "nothing ran on the device within 'forward'": """
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_vacuous(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace.region("forward"):
        float(LOGITS.sum())
    on_device(logits)
""",
    "no trace was recorded": """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
async def test_vacuous(device):
    on_device(device.to_device(LOGITS))
""",
}

AWAITING = """
import asyncio
import inspect
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        asyncio.run(pyfuncitem.obj(**arguments))
        return True
"""


@pytest.mark.parametrize("why", VACUOUS)
def test_a_vacuous_test_is_inconclusive_and_fails(suite, pytester, why):
    pytester.makeconftest(AWAITING)
    result = suite(VACUOUS[why])
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [f"INCONCLUSIVE: *{why}*", "harness: 1 traced test: 1 inconclusive"]
    )


@pytest.mark.parametrize("why", VACUOUS)
def test_a_vacuous_test_can_be_skipped_but_not_passed(suite, pytester, why):
    pytester.makeconftest(AWAITING)
    result = suite(VACUOUS[why], "--harness-inconclusive=skip", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED [[]1[]] test_op.py:*: INCONCLUSIVE: *{why}*"])


def test_the_cpu_has_no_boundary_so_nothing_passes_there(suite):
    result = suite(MARKED.format(op="on_device"), "--harness-device=cpu")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE: device 'cpu' has no boundary*"])


@pytest.mark.parametrize(
    ("flaw", "why"),
    [
        (
            "trace = replace(trace, events=tuple(e for e in trace.events if not isinstance(e, Sync)))",
            "planted",
        ),
        ("trace = replace(trace, events=())", "planted"),
        ("trace = replace(trace, dropped=2)", "lost [26] records"),
        ("trace = replace(trace, doubts=('a graph ran unseen',))", "a graph ran unseen"),
        (
            "trace = replace(trace, observes=trace.observes - {EventType.TRANSFER})",
            "cannot see transfer",
        ),
    ],
)
def test_a_probe_that_may_have_missed_something_is_inconclusive(suite, pytester, flaw, why):
    pytester.makeconftest(FLAWED.format(flaw=flaw))
    result = suite(
        MARKED.format(op="on_device")
        + """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(device):
    on_device(device.to_device(LOGITS))


def test_reading(device, device_trace):
    with device_trace() as outer:
        on_device(device.to_device(LOGITS))
        with device_trace():
            pass
    assert outer.counts().d2h == 0
"""
    )
    result.assert_outcomes(failed=3)
    told = re.findall(f"^INCONCLUSIVE: .*{why}", result.stdout.str(), re.MULTILINE)
    assert len(told) == 3


FLAWED = """
from contextlib import contextmanager
from dataclasses import replace

import pytest
from harness.devices.simulated import SimulatedDevice
from harness.model.event import EventType, Sync
from harness.pytest_plugin.watching import WATCH, Watch


class FlawedRecording:
    def __init__(self, recording):
        self.recording = recording
        self.region = recording.region

    def trace(self):
        trace = self.recording.trace()
        {flaw}
        return trace


class FlawedProbe:
    def __init__(self, probe):
        self.probe = probe

    @contextmanager
    def record(self):
        with self.probe.record() as recording:
            yield FlawedRecording(recording)


def pytest_configure(config):
    device = SimulatedDevice()
    device.probe = FlawedProbe(device.probe)
    config.stash[WATCH] = Watch(device)
"""


# --- tests that have an outcome of their own -------------------------------------------------------


def test_a_test_that_fails_keeps_its_failure_and_tells_the_excess_beside_it(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(device):
    assert float(on_device(device.to_device(LOGITS))) < 0, "my own assertion"
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*my own assertion*",
            "*harness: limit_transfers*",
            "transfer limit exceeded*",
            "FAILED*my own*",
        ]
    )
    assert "pytest_plugin" not in result.stdout.str()


def test_what_pytest_reads_to_explain_a_failed_assertion_is_not_counted(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(device):
    assert float(on_device(device.to_device(LOGITS))) < 0
""")
    result.stdout.fnmatch_lines(["  observed  1 D2H, 4 B, blocking"])
    assert "saferepr.py" not in result.stdout.str()


def test_a_test_that_fails_before_its_region_is_not_also_called_inconclusive(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_body(device):
    assert False, "my own assertion"
""")
    result.assert_outcomes(failed=1)
    assert "INCONCLUSIVE" not in result.stdout.str()


@pytest.mark.parametrize("strict", [True, False])
def test_a_known_defect_can_be_expected_to_fail(suite, strict):
    mark = f"@pytest.mark.xfail(strict={strict}, reason='SINGA-502')"
    suite(mark + MARKED.format(op="host_roundtrip")).assert_outcomes(xfailed=1)


def test_an_expected_failure_that_is_fixed_turns_red(suite):
    mark = "@pytest.mark.xfail(strict=True, reason='SINGA-502')"
    suite(mark + MARKED.format(op="on_device")).assert_outcomes(failed=1)


def test_a_skipped_test_stays_skipped(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_inside(device):
    float(on_device(device.to_device(LOGITS)))
    pytest.skip("inside")


@pytest.mark.skip(reason="outside")
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_outside():
    pass


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_xfails_itself(device):
    float(on_device(device.to_device(LOGITS)))
    pytest.xfail("known")
""")
    result.assert_outcomes(skipped=2, xfailed=1)


def test_a_passing_test_can_show_its_evidence(suite):
    result = suite(MARKED.format(op="on_device"), "-rP")
    result.stdout.fnmatch_lines(["*harness: limit_transfers*", "evidence  SIMULATED (*"])


# --- misuse ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "named"),
    [
        ("d2h=0", "because"),
        ("d2d=0, because=BECAUSE", "d2d=0 is not an argument"),
        ("d2h=-1, because=BECAUSE", "d2h=-1"),
        ("d2h=True, because=BECAUSE", "d2h=True"),
        ("because=BECAUSE", "limits nothing"),
        ("0, because=BECAUSE", "named arguments"),
    ],
)
def test_a_mark_that_makes_no_sense_is_an_error_while_collecting(suite, mark, named):
    result = suite(f"""
@pytest.mark.limit_transfers({mark})
def test_forward():
    pass
""")
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [f"test_op.py::test_forward: @pytest.mark.limit_transfers: *{named}*"]
    )


def test_a_mark_added_while_running_is_checked_too(suite):
    result = suite("""
@pytest.fixture
def marked(request):
    request.node.add_marker(pytest.mark.limit_transfers(d2h=0))


def test_body(marked):
    pass
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*limit_transfers*because*"])


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("--harness-device=gpu", "unknown device 'gpu'"),
        ("--harness-inconclusive=pass", "unknown policy 'pass'; use fail or skip"),
        ("--harness-report=test_op.py", "does not end in .html"),
        ("--harness-report=ops.py/report.html", "cannot be written"),
        ("--harness-report=folder.html", "it is a folder"),
    ],
)
def test_a_bad_option_stops_pytest_before_any_test(suite, pytester, option, named):
    pytester.mkdir("folder.html")
    result = suite("def test_body(): open('ran', 'w').close()", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not (pytester.path / "ran").exists()
    result.stderr.fnmatch_lines([f"ERROR: *{named}*"])


@pytest.fixture
def read_only_place(pytester: pytest.Pytester) -> Path:
    """A folder in which this user, root included, can create nothing."""
    folder = pytester.mkdir("read_only")
    folder.chmod(0o555)
    for place in (folder, Path("/proc"), Path("/sys")):
        try:
            (place / "probe").touch()
        except OSError:
            return place
        (place / "probe").unlink()
    pytest.skip("everything can be written here")


@pytest.mark.parametrize(
    ("name", "workers"),
    [("report.html", ()), ("folder/report.html", ()), ("report.html", ("-n2",))],
)
def test_a_report_in_a_read_only_place_is_refused_before_collection(
    suite, pytester, read_only_place, name, workers
):
    result = suite(
        "open('collected', 'w').close()\ndef test_body(): pass",
        f"--harness-report={read_only_place / name}",
        *workers,
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert not (pytester.path / "collected").exists()
    (error,) = filter(None, result.stderr.lines)
    assert error.startswith(f"ERROR: --harness-report: {read_only_place / name} cannot be written")
    assert error.endswith("name another file")


def test_a_read_only_place_is_enough_where_no_report_is_wanted(suite, pytester):
    """Nothing else is ever written."""
    suite(MARKED.format(op="on_device"), "-pno:cacheprovider").assert_outcomes(passed=1)
    ours = {"ops.py", "test_op.py"}
    assert {path.name for path in pytester.path.iterdir()} - {"__pycache__"} == ours


def test_a_device_this_machine_lacks_is_one_clear_line(suite):
    result = suite(MARKED.format(op="on_device"), "--harness-device=cuda:7")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["harness device cuda:7: *"])
    if "no NVIDIA driver" in result.stdout.str():
        result.stdout.fnmatch_lines(['*"ondevice-harness[[]cuda13[]]"*--harness-device auto*'])
    result.stdout.no_re_match_line(r".*(?<!-harness)-device auto")
    assert "During handling" not in result.stdout.str()
    assert "pytest_plugin" not in result.stdout.str()


def test_a_region_outside_a_recording_says_what_to_do(suite):
    result = suite("""
def test_body(device_trace):
    with device_trace.region("forward"):
        pass
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*with device_trace():*"])


# --- the trace -------------------------------------------------------------------------------------


def test_traces_can_be_read_after_their_blocks(suite):
    result = suite("""
def test_trace(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace() as first:
        with device_trace.region("forward"):
            host_roundtrip(logits)
        with device_trace() as inner:
            float(logits.sum())
        assert inner.counts().d2h == 1
    with device_trace() as second:
        on_device(logits)
    assert first.counts().d2h == 2
    assert first.within("forward").counts().d2h == 1
    assert first.transfers[0].site.function == "host_roundtrip"
    assert first.syncs[0].regions == ("forward",)
    assert first.evidence.value == "SIMULATED"
    assert second.counts().d2h == 0
    assert second.counts().kernels > 0
    assert device_trace.device is device


def test_a_trace_is_not_read_before_its_end(device_trace):
    with device_trace() as trace, pytest.raises(RuntimeError, match="still being recorded"):
        trace.counts()
""")
    result.assert_outcomes(passed=2)


def test_reading_counts_on_a_device_without_a_boundary_never_passes(suite):
    source = """
def test_trace(device_trace):
    with device_trace() as trace:
        pass
    assert trace.counts().d2h == 0
"""
    result = suite(source, "--harness-device=cpu")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE: device 'cpu' has no boundary*"])
    suite(source, "--harness-device=cpu", "--harness-inconclusive=skip").assert_outcomes(skipped=1)


def test_a_suite_may_have_a_device_fixture_of_its_own(suite):
    result = suite("""
@pytest.fixture(params=["a", "b"])
def device(request):
    return request.param


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(device, device_trace):
    assert device in "ab"
    on_device(device_trace.device.to_device(LOGITS))
""")
    result.assert_outcomes(passed=2)


# --- report, workers, configuration ----------------------------------------------------------------

MIXED = """
@pytest.mark.parametrize("number", range(4))
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_fixed(device, number):
    on_device(device.to_device(LOGITS))


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_defect(device):
    host_roundtrip(device.to_device(LOGITS))


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_vacuous():
    pass


@pytest.mark.xfail(strict=True, reason="known since 2019")
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_known(device):
    host_roundtrip(device.to_device(LOGITS))


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_broken_fixture(device, request):
    request.getfixturevalue("missing")


@pytest.fixture
def broken():
    raise OSError("no such input")


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_never_ran(broken):
    pass


def test_traced_without_a_limit(device, device_trace):
    with device_trace():
        host_roundtrip(device.to_device(LOGITS))


def test_unrelated():
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one process", "two workers"])
def test_one_report_holds_every_traced_test(suite, pytester, reported, workers):
    result = suite(MIXED, *workers, "--harness-report=out/report.html")
    result.assert_outcomes(passed=6, failed=3, errors=1, xfailed=1)
    cases = reported("out/report.html")
    outcomes = {
        name: [check["outcome"] for check in case["checks"]] for name, case in cases.items()
    }
    seen = ["passed", "passed"]  # the test's own assertions, the positive control
    assert outcomes == {
        **{f"test_fixed[{number}]": [*seen, "passed"] for number in range(4)},
        "test_defect": [*seen, "failed"],
        "test_vacuous": [*seen, "inconclusive"],
        "test_known": [*seen, "skipped"],
        "test_broken_fixture": ["failed", "passed"],
        "test_never_ran": ["failed"],
        "test_traced_without_a_limit": seen,
    }
    assert cases["test_fixed[3]"]["parameters"] == {"number": "3"}
    assert cases["test_known"]["checks"][2]["violations"]
    assert cases["test_defect"]["traffic"]["lines"][1]["site"]["function"] == "host_roundtrip"
    assert "no such input" in cases["test_never_ran"]["checks"][0]["summary"]
    assert [path.name for path in (pytester.path / "out").iterdir()] == ["report.html"]
    result.stdout.fnmatch_lines(
        [
            "harness: 10 traced tests: 5 passed, 1 skipped, 1 inconclusive, 3 failed",
            "harness: report *out/report.html",
        ]
    )


def test_a_report_that_cannot_be_written_in_the_end_is_told_and_is_no_success(suite):
    result = suite(
        """
def test_body():
    import pathlib
    pathlib.Path("report.html").mkdir()
""",
        "--harness-report=report.html",
    )
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["harness: *report.html was not written: Is a directory*"])


def test_a_failed_teardown_is_in_the_report(suite, pytester):
    result = suite(
        """
@pytest.fixture
def leaky(device):
    yield device
    raise OSError("could not free")


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(leaky):
    on_device(leaky.to_device(LOGITS))
""",
        "--harness-report=report.html",
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["harness: 1 traced test: 1 failed"])
    assert "could not free" in (pytester.path / "report.html").read_text(encoding="utf-8")


def test_a_worker_that_crashes_loses_no_other_test_and_passes_no_run(suite, pytester):
    result = suite(
        """
import os


@pytest.mark.parametrize("number", range(3))
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_before(device, number):
    on_device(device.to_device(LOGITS))


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_crash(device):
    os._exit(3)
""",
        "--harness-report=report.html",
        "-n1",
    )
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "harness: what one test did is not known: worker 'gw0' crashed *test_crash*",
            "harness: 3 traced tests: 3 passed",
        ]
    )
    assert "INCONCLUSIVE" in (pytester.path / "report.html").read_text(encoding="utf-8").upper()


def test_collecting_alone_writes_no_report(suite, pytester):
    suite(MIXED, "--collect-only", "--harness-report=report.html")
    assert not (pytester.path / "report.html").exists()


def test_misuse_is_told_under_xdist_as_well(suite):
    result = suite("@pytest.mark.limit_transfers(d2h=0)\ndef test_forward(): pass", "-n2")
    assert result.ret != 0
    result.stdout.fnmatch_lines(
        ["test_op.py::test_forward: @pytest.mark.limit_transfers: *because*"]
    )


def test_options_can_come_from_the_ini_file(suite, pytester):
    pytester.makepyprojecttoml("""
        [tool.pytest]
        harness_inconclusive = "skip"
        harness_report = "out/from_ini.html"
    """)
    result = suite(VACUOUS["nothing ran on the device"])
    result.assert_outcomes(skipped=1)
    assert (pytester.path / "out" / "from_ini.html").exists()


def test_the_command_line_wins_over_the_ini_file(suite, pytester):
    pytester.makepyprojecttoml('[tool.pytest]\nharness_inconclusive = "skip"')
    suite(VACUOUS["nothing ran on the device"], "--harness-inconclusive=fail").assert_outcomes(
        failed=1
    )


def test_a_bad_ini_option_is_named(suite, pytester):
    pytester.makepyprojecttoml('[tool.pytest]\nharness_inconclusive = "pass"')
    result = suite("def test_body(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: ini option harness_inconclusive: unknown policy 'pass'*"])


DEFECT_FIRST = """
TIMES = []


@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_body(device, device_trace):
    TIMES.append(1)
    op = host_roundtrip if len(TIMES) == 1 else on_device
    with device_trace():
        op(device.to_device(LOGITS))
"""


def test_a_body_repeated_within_its_call_is_judged_by_the_last_call(suite, pytester):
    pytester.makeconftest("""
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import call_and_report

    call_and_report(item, "setup", log=False)
    call_and_report(item, "call", log=False)
    report = call_and_report(item, "call", log=False)
    item.ihook.pytest_runtest_logreport(report=report)
    call_and_report(item, "teardown", log=False, nextitem=nextitem)
    return True
""")
    suite(DEFECT_FIRST).assert_outcomes(passed=1)


def test_the_options_have_a_group_of_their_own_and_the_marker_a_line(suite):
    text = suite("", "--help").stdout.str()
    assert re.search(
        r"harness: host/device traffic.*--harness-device.*--harness-inconclusive", text, re.DOTALL
    )
    suite("", "--markers").stdout.fnmatch_lines(["@pytest.mark.limit_transfers(*"])


def test_strict_markers_know_the_marker(suite):
    suite(MARKED.format(op="on_device"), "--strict-markers").assert_outcomes(passed=1)


@pytest.fixture
def installed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project in which pytest finds the plugin by the entry point this repository declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = pytester.mkdir("site") / "ondevice_harness-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n"
    )
    points = [f"{name} = {module}" for name, module in project["entry-points"]["pytest11"].items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *points]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(metadata.parent), str(ROOT)]))
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeconftest("""
def pytest_sessionfinish():
    import json, sys
    json.dump(sorted(sys.modules), open("modules.json", "w"))
""")
    pytester.makepyfile("def test_body(): pass")
    return pytester


def test_a_suite_that_uses_nothing_of_it_pays_nothing_for_it(installed):
    # others' plugins may well import NumPy
    others = ("-pno:hypothesispytest", "-pno:benchmark", "-pno:pytest_cov")
    result = installed.runpytest_subprocess(*others)
    result.assert_outcomes(passed=1)
    assert "harness:" not in result.stdout.str()
    modules = json.loads((installed.path / "modules.json").read_text())
    assert "harness.pytest_plugin" in modules
    assert not {"numpy", "msgspec", "rich", "jinja2", "harness.model", "harness.report"} & set(
        modules
    )


def test_the_plugin_can_be_turned_off(installed):
    result = installed.runpytest_subprocess("-pno:harness")
    result.assert_outcomes(passed=1)
    assert "harness.pytest_plugin" not in json.loads((installed.path / "modules.json").read_text())


def test_a_rerun_starts_afresh(suite, pytester):
    pytester.makeconftest("""
from _pytest.runner import runtestprotocol


def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
""")
    suite(DEFECT_FIRST).assert_outcomes(passed=1)
