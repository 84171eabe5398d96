"""Nothing is no evidence: a test of which nothing is known never passes, and is never an expected failure."""

from __future__ import annotations

import pytest

BUSY = "on_device(device.to_device(LOGITS))"

ZEROS = [
    "trace.counts().d2h == 0",
    "trace.counts().syncs == 0",
    "not trace.transfers",
    "not trace.syncs",
]
READINGS = [*ZEROS, "not trace.kernels", "not trace.events", "trace.evidence.value == 'SIMULATED'"]

PARTS = {
    "an empty block": """
    {busy}
    with device_trace() as trace:
        pass
""",
    "an empty region of a busy block": """
    with device_trace() as block:
        {busy}
        with device_trace.region("forward"):
            pass
    trace = block.within("forward")
""",
    "the empty part where two busy regions would overlap": """
    with device_trace() as block:
        with device_trace.region("forward"):
            {busy}
        with device_trace.region("step"):
            {busy}
    trace = block.within("step").within("forward")
""",
}


def a_test(part: str, assertion: str, *, marks: str = "") -> str:
    body = PARTS[part].replace("{busy}", BUSY)
    return f"{marks}\ndef test_vacuous(device, device_trace):{body}    assert {assertion}\n"


@pytest.mark.parametrize("part", PARTS)
def test_whatever_is_read_of_a_part_where_nothing_ran_is_inconclusive(suite, part):
    tests = [
        a_test(part, assertion).replace("test_vacuous", f"test_{number}")
        for number, assertion in enumerate(READINGS)
    ]
    result = suite("".join(tests))
    result.assert_outcomes(failed=len(READINGS))
    output = result.stdout.str()
    assert output.count("\nINCONCLUSIVE: nothing ran on the device") == len(READINGS)
    assert "read at test_op.py:" in output
    result.stdout.fnmatch_lines([f"harness: {len(READINGS)} traced tests: * inconclusive"])


def test_zeros_are_read_where_something_ran(suite):
    assertions = "\n".join(f"        assert {zero}" for zero in ZEROS)
    result = suite(f"""
def test_busy(device, device_trace):
    logits = device.to_device(LOGITS)
    with device_trace() as block:
        with device_trace.region("forward"):
            on_device(logits)
    for trace in (block, block.within("forward")):
{assertions}
        assert trace.kernels
""")
    result.assert_outcomes(passed=1)


def test_a_part_that_was_never_entered_names_those_that_were(suite):
    result = suite("""
def test_vacuous(device, device_trace):
    with device_trace() as trace:
        with device_trace.region("forward"):
            on_device(device.to_device(LOGITS))
        with device_trace.region("loss"):
            pass
    assert not trace.within("froward").transfers
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "INCONCLUSIVE: region 'froward' was never entered in this block; "
            "entered were: 'forward', 'loss'; did you mean 'forward'?"
        ]
    )
    assert "doctor" not in result.stdout.str()


def test_a_misspelt_within_names_the_regions_that_were_entered_and_the_closest(suite):
    result = suite("""
@pytest.mark.limit_transfers(d2h=0, within="froward", because=BECAUSE)
def test_vacuous(device, device_trace):
    with device_trace.region("forward"):
        on_device(device.to_device(LOGITS))
    with device_trace.region("loss"):
        pass
""")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "'forward', 'loss'" in text
    assert "within='forward'" in text
    assert "doctor" not in text


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("on_device(logits)", "open `with device_trace.region('forward'):`"),
        ("with device_trace.region('loss'): on_device(logits)", "limit one of them"),
        ("with device_trace.region('forward'): pass", "on arrays of the `device` fixture"),
    ],
)
def test_a_limit_that_could_not_be_judged_says_what_to_change_in_the_test(suite, body, advice):
    result = suite(f"""
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_vacuous(device, device_trace):
    logits = device.to_device(LOGITS)
    {body}
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"next *{advice}*"])
    assert "doctor" not in result.stdout.str()


SWALLOWED = {
    "by the test": """
def test_vacuous(device_trace):
    with device_trace() as trace:
        pass
    try:
        assert trace.counts().d2h == 0
    except BaseException:
        pass
""",
    "by a subtest": """
def test_vacuous(device_trace, subtests):
    with device_trace() as trace:
        pass
    with subtests.test("zero"):
        assert trace.counts().d2h == 0
""",
    "by a thread": """
import threading

@pytest.mark.filterwarnings("ignore")
def test_vacuous(device_trace):
    with device_trace() as trace:
        pass
    thread = threading.Thread(target=trace.counts)
    thread.start()
    thread.join()
""",
    "by unittest": """
import unittest

class TestZero(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _fixtures(self, device_trace):
        self.device_trace = device_trace

    @unittest.expectedFailure
    def test_vacuous(self):
        with self.device_trace() as trace:
            pass
        assert trace.counts().d2h == 0
""",
}


@pytest.mark.parametrize("by", SWALLOWED)
def test_a_refused_reading_cannot_be_swallowed(suite, by):
    result = suite(SWALLOWED[by])
    outcomes = result.parseoutcomes()
    assert outcomes.get("failed"), outcomes
    assert not {"passed", "xfailed", "xpassed", "skipped"} & set(outcomes)
    result.stdout.fnmatch_lines(["*INCONCLUSIVE: nothing ran*", "harness: 1 traced test: 1 *"])


@pytest.mark.parametrize("by", SWALLOWED)
def test_a_refused_reading_that_was_swallowed_is_skipped_where_that_was_chosen(suite, by):
    result = suite(SWALLOWED[by], "--harness-inconclusive=skip")
    outcomes = result.parseoutcomes()
    assert outcomes.get("skipped"), outcomes
    assert not {"passed", "xfailed", "xpassed", "failed"} & set(outcomes)


# --- an expected failure has to be seen ------------------------------------------------------------

UNKNOWN = {
    "an empty body": """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_vacuous():
    pass
""",
    "a region that was never entered": """
@pytest.mark.limit_transfers(d2h=0, within="forward", because=BECAUSE)
def test_vacuous(device):
    host_roundtrip(device.to_device(LOGITS))
""",
    "an empty block that is read": a_test("an empty block", "trace.counts().d2h == 1"),
    "a region that is read and was never entered": """
def test_vacuous(device, device_trace):
    with device_trace() as trace:
        host_roundtrip(device.to_device(LOGITS))
    assert trace.within("forward").counts().d2h == 0
""",
    "a mark that makes no sense": """
@pytest.fixture
def marked(request):
    request.node.add_marker(pytest.mark.limit_transfers(d2h=0))


def test_vacuous(marked):
    pass
""",
    "a mark that came too late": """
def test_vacuous(request, device):
    host_roundtrip(device.to_device(LOGITS))
    request.node.add_marker(pytest.mark.limit_transfers(d2h=0, because=BECAUSE))
""",
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("why", UNKNOWN)
def test_what_could_not_be_judged_is_no_expected_failure(suite, why, strict):
    """It would be one for ever: the day on which the defect is gone would look like every other."""
    mark = f"pytestmark = pytest.mark.xfail(strict={strict}, reason='SINGA-502')\n"
    result = suite(mark + UNKNOWN[why])
    result.assert_outcomes(failed=1)
    assert "xfailed" not in result.stdout.str()


def test_a_device_this_machine_lacks_is_no_expected_failure(suite):
    source = """
@pytest.mark.xfail(strict=True, reason="SINGA-502")
def test_plain(device):
    assert float(host_roundtrip(device.to_device(LOGITS))) < 0


@pytest.mark.xfail(strict=True, reason="SINGA-502")
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_marked(device):
    host_roundtrip(device.to_device(LOGITS))
"""
    suite(source).assert_outcomes(xfailed=2)
    suite(source, "--harness-device=cuda:7").assert_outcomes(errors=2)
    suite(source, "--harness-device=cpu").assert_outcomes(failed=1, xfailed=1)


# --- a mark that comes while the test runs ---------------------------------------------------------

LATE = "request.node.add_marker(pytest.mark.limit_transfers(d2h=0, because=BECAUSE))"


@pytest.mark.parametrize("op", ["host_roundtrip", "on_device"])
@pytest.mark.parametrize(
    "body",
    {
        "blocks": """
def test_late(device, device_trace, request):
    with device_trace():
        {op}(device.to_device(LOGITS))
    {late}
""",
        "a fixture asked for late": """
def test_late(request):
    device_trace = request.getfixturevalue("device_trace")
    with device_trace():
        {op}(device_trace.device.to_device(LOGITS))
    {late}
""",
        "a marked test": """
@pytest.mark.limit_transfers(d2h=1, because="one is allowed anyway")
def test_late(device, request):
    {op}(device.to_device(LOGITS))
    {late}
""",
        "a class": """
@pytest.mark.limit_transfers(d2h=1, because="one is allowed anyway")
class TestLate:
    def test_late(self, device, request):
        {op}(device.to_device(LOGITS))
        {late}
""",
    }.items(),
    ids=lambda pair: pair[0],
)
def test_a_mark_set_by_the_body_judges_what_was_recorded(suite, body, op):
    result = suite(body[1].format(op=op, late=LATE))
    result.assert_outcomes(**{"failed" if op == "host_roundtrip" else "passed": 1})


@pytest.mark.parametrize(
    "body",
    [
        "host_roundtrip(device.to_device(LOGITS))",
        "host_roundtrip(device.to_device(LOGITS)); pytest.importorskip('pytest')",
        "pass",
    ],
)
def test_a_mark_set_by_a_body_that_was_not_recorded_is_inconclusive(suite, body):
    result = suite(f"""
def test_late(device, request):
    {body}
    {LATE}
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["INCONCLUSIVE: limit_transfers was added while the test ran*", "next *mark the test*"]
    )


def test_blocks_of_a_fixture_are_not_what_a_late_mark_judges(suite):
    result = suite(f"""
@pytest.fixture
def logits(device, device_trace):
    with device_trace():
        array = on_device(device.to_device(LOGITS))
    return array


def test_late(logits, request):
    float(logits)
    {LATE}
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE: limit_transfers was added while the test ran*"])


def test_a_mark_set_after_the_test_is_an_error(suite):
    result = suite(f"""
@pytest.fixture
def late(request):
    yield
    {LATE}


def test_unmarked(late, device):
    host_roundtrip(device.to_device(LOGITS))


@pytest.mark.limit_transfers(d2h=1, because="one is allowed")
def test_marked(late, device):
    host_roundtrip(device.to_device(LOGITS))


@pytest.mark.xfail(strict=False, reason="SINGA-502")
def test_expected(late, device):
    host_roundtrip(device.to_device(LOGITS))
""")
    result.assert_outcomes(passed=2, xpassed=1, errors=3)
    result.stdout.fnmatch_lines(["test_op.py::test_unmarked: *limit_transfers was added after*"])


def test_a_late_mark_that_makes_no_sense_is_an_error(suite):
    result = suite("""
def test_late(request):
    request.node.add_marker(pytest.mark.limit_transfers(d2h=-1, because=BECAUSE))
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_op.py::test_late: @pytest.mark.limit_transfers: d2h=-1 *"])
