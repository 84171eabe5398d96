"""Limits on slowdown as their users meet them: whole pytest runs, with the real pytest-benchmark.

Pairs are timed with a simulated clock, so that the true ratio is known and no test waits for a machine to be quiet.
pytest-benchmark's own rounds are real, and decide nothing here but by a factor of a million.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# pytester unloads what its test was the first to import, and NumPy can be loaded only once per process
for _module in (
    "harness.pytest_plugin.benchmark_facts",
    "harness.interchange.pytest_benchmark_writer",
    "harness.pytest_plugin.speed_timing",
    "harness.report.ci",
    "harness.report.html",
):
    importlib.import_module(_module)

CLOCK = """
from harness.timers.simulated import SimulatedClock

CLOCK = SimulatedClock(seed=1, noise=0.01, layout_noise=0.002)
frozen = CLOCK.operation(100_000)
same = CLOCK.operation(100_000)
double = CLOCK.operation(200_000)
faster = CLOCK.operation(50_000)
"""

CONFTEST = """
import pytest
from clock import CLOCK
from harness.devices.cpu import CpuDevice
from harness.pytest_plugin.watching import WATCH, Watch


class Simulated(CpuDevice):
    def timer(self):
        return CLOCK

    def change_layout(self, chance):
        return CLOCK.change_layout(chance)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.stash[WATCH] = Watch(Simulated())
"""

HEADER = """
import pytest
from clock import double, faster, frozen, same
"""

REGRESSED = """
@pytest.mark.limit_slowdown(peer=frozen, because="the loss is on the critical path")
def test_loss(benchmark):
    benchmark(double)
"""
UNCHANGED = REGRESSED.replace("double", "same")
UNLIMITED = """
def test_loss(benchmark):
    benchmark(same)
"""

QUICK = ("--benchmark-max-time=0.0005", "--benchmark-min-rounds=8", "--benchmark-quiet")

Timed = Callable[..., pytest.RunResult]


@pytest.fixture
def timed(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Timed:
    """Write a suite and run it with this plugin, pytest-benchmark and xdist, all warnings errors."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "200")
    pytester.makepyfile(clock=CLOCK)
    pytester.makeconftest(CONFTEST)
    pytester.syspathinsert()

    def run(source: str, *options: str, simulated_clock: bool = True) -> pytest.RunResult:
        pytester.makepyfile(test_op=HEADER + source)
        if not simulated_clock:
            pytester.makeconftest("")
        strict = ("-Werror", "-Wignore::pytest.PytestAssertRewriteWarning")
        plugins = ("-pharness.pytest_plugin", "-ppytest_benchmark.plugin", "-pxdist")
        return pytester.runpytest(*strict, *plugins, "--harness-device=cpu", *QUICK, *options)

    return run


def stored(path: Path, seconds: float, *names: str, without_data: bool = False) -> str:
    """A file as pytest-benchmark writes it on a machine like this one; its name."""
    machine: dict[str, Any] = {}
    benchmarks = [
        {
            "group": None,
            "name": name.rpartition("::")[2],
            "fullname": name,
            "params": None,
            "param": None,
            "extra_info": {},
            "options": {"timer": "perf_counter"},
            "stats": {
                "min": seconds,
                "mean": seconds,
                "iterations": 1,
                **({} if without_data else {"data": [seconds * (1 + k / 1e4) for k in range(40)]}),
            },
        }
        for name in names
    ]
    document = {
        "machine_info": machine,
        "commit_info": {},
        "benchmarks": benchmarks,
        "datetime": "2025-11-30T16:50:00+00:00",
        "version": "5.3.1",
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


# --- a peer ----------------------------------------------------------------------------------------


def test_a_candidate_that_does_twice_the_work_fails_with_ratio_margin_peer_and_evidence(timed):
    result = timed(REGRESSED)
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    output = result.stdout.str()
    lines = output[output.index("slowdown limit exceeded") : output.index("harness: 1 comp")]
    patterns = (
        r"slowdown limit exceeded",
        r"  allowed   1\.010x \(margin 1\.0 %\) the time of \w\S*   \(the loss is on the critical path\)",
        r"  observed  [12]\.\d{3}x \(1\.9\d\dx to 2\.0\d\dx\), throughput -(49|50)\.\d %",
        r"  paired    with \S+, a frozen peer timed in the same \d+ rounds",
        r"  median    \d\d\d us per call, \d+(\.\d)? us of \S+",
        r"evidence  99\.0 % interval of \d+ pair ratios, simulated clock",
        r"next      make it as fast as its peer, or freeze the peer again if this is meant",
    )
    for line, pattern in zip(lines.splitlines(), patterns, strict=True):
        assert re.fullmatch(pattern, line), line


def test_unchanged_code_passes(timed):
    result = timed(UNCHANGED, "-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*harness: limit_slowdown*", "slowdown limit kept"])


def test_faster_code_passes(timed):
    timed(REGRESSED.replace("double", "faster")).assert_outcomes(passed=1)


def test_a_margin_that_allows_it_passes_twice_the_work(timed):
    timed(REGRESSED.replace("peer=frozen", "peer=frozen, margin='150%'")).assert_outcomes(passed=1)


def test_junit_counts_a_regression_as_a_failure_with_its_text(timed, pytester):
    timed(REGRESSED, "--junitxml=junit.xml")
    suite = ElementTree.parse(pytester.path / "junit.xml").find("testsuite")
    assert suite.get("failures") == "1"
    assert suite.get("errors") == "0"
    assert "slowdown limit exceeded" in suite.find(".//failure").text


def test_every_mark_applies_and_not_the_last(timed):
    result = timed("""
@pytest.mark.limit_slowdown(peer=double)
class TestLoss:
    @pytest.mark.limit_slowdown(peer=frozen, margin="150%")
    @pytest.mark.limit_slowdown(peer=frozen, margin="10%")
    def test_slow(self, benchmark):
        benchmark(CLOCKED)

    def test_fast(self, benchmark):
        benchmark(same)


from clock import CLOCK

CLOCKED = CLOCK.operation(190_000)
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["  allowed   1.100x (margin 10.0 %)*", "FAILED *test_slow*"])


def test_the_confidence_is_shared_by_the_comparisons_of_the_session(timed):
    result = timed(REGRESSED + UNCHANGED.replace("test_loss", "test_other"))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["evidence  99.0 % interval (for all 2 comparisons of this session together) of *"]
    )


def test_deselected_tests_do_not_share_it(timed):
    other = UNCHANGED.replace("test_loss", "test_other")
    result = timed(REGRESSED + other, "-k", "loss")
    result.stdout.fnmatch_lines(["evidence  99.0 % interval of *"])


def test_pedantic_with_setup_and_teardown_is_timed_call_by_call(timed):
    result = timed("""
LOG = []


def work(op):
    op()


def frozen_work(op):
    frozen()


@pytest.mark.limit_slowdown(peer=frozen_work)
def test_loss(benchmark):
    benchmark.pedantic(
        work,
        setup=lambda: LOG.append("made") or ((double,), {}),
        teardown=lambda op: LOG.append("gone"),
        rounds=8,
    )
    assert LOG[0::2] == ["made"] * (len(LOG) // 2)
    assert LOG[1::2] == ["gone"] * (len(LOG) // 2)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*a frozen peer*", "evidence *simulated clock, call by call"])


def test_the_value_and_the_fixture_are_pytest_benchmarks_own(timed):
    result = timed("""
from pytest_benchmark.fixture import BenchmarkFixture


@pytest.mark.limit_slowdown(peer=lambda x: (frozen(), x)[1], margin="300%")
def test_loss(benchmark):
    assert isinstance(benchmark, BenchmarkFixture)
    assert benchmark(lambda x: (same(), x + 1)[1], 2) == 3
    assert benchmark.stats.stats.rounds >= 8
    assert benchmark.extra_info["harness"]["speed"]["rounds"] > 8
""")
    result.assert_outcomes(passed=1)


def test_the_tests_own_failure_is_told_first_and_the_slowdown_beside_it(timed):
    result = timed(REGRESSED + "    assert False, 'my own'\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*my own*", "*harness: limit_slowdown*", "slowdown limit exceeded"]
    )


def test_an_exceeded_traffic_limit_and_a_slowdown_are_both_told(timed, pytester):
    pytester.makeconftest(
        CONFTEST.replace("CpuDevice):", "SimulatedDevice):\n    is_host = True").replace(
            "from harness.devices.cpu import CpuDevice",
            "from harness.devices.simulated import SimulatedDevice",
        )
    )
    result = timed("""
@pytest.mark.limit_transfers(d2h=0, because="stays")
@pytest.mark.limit_slowdown(peer=frozen)
def test_loss(benchmark, device, device_trace):
    with device_trace():
        float(device.namespace.ones(3).sum())
    benchmark(double)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["transfer limit exceeded*", "*its transfers were being recorded*"])


def test_a_known_slowdown_can_be_expected_to_fail(timed):
    mark = "@pytest.mark.xfail(strict=True, reason='until the next release')\n"
    timed(mark + REGRESSED.strip()).assert_outcomes(xfailed=1)
    timed(mark + UNCHANGED.strip()).assert_outcomes(failed=1)


# --- what cannot be judged -------------------------------------------------------------------------

BLIND = {
    "the test never called benchmark": REGRESSED.replace("benchmark(double)", "pass"),
    "it is the very code under test": REGRESSED.replace("double", "frozen"),
    "it returns NoneType where the test's own returns int": REGRESSED.replace(
        "benchmark(double)", "benchmark(lambda: 3)"
    ),
}


@pytest.mark.parametrize("why", BLIND)
def test_what_cannot_be_judged_is_inconclusive_skipped_and_no_success_of_the_session(timed, why):
    result = timed(BLIND[why], "-rs", "-Wignore:Benchmark fixture was not used")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["harness: no speed was*", f"SKIPPED [[]1[]] test_op.py:*: INCONCLUSIVE: *{why}*next: *"]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_it_fails_where_inconclusive_is_to_fail(timed):
    source = BLIND["it is the very code under test"]
    for option in ("--harness-policy=inconclusive=fail", "--harness-inconclusive=fail"):
        result = timed(source, option)
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["INCONCLUSIVE: peer *", "next  *"])


def test_a_session_without_any_verdict_may_be_allowed(timed):
    source = BLIND["it is the very code under test"]
    assert timed(source, "--harness-policy=unjudged=pass").ret == pytest.ExitCode.OK


def test_an_inconclusive_test_is_no_expected_failure(timed):
    mark = "@pytest.mark.xfail(reason='slow')\n"
    source = mark + BLIND["it is the very code under test"].strip()
    timed(source, "--harness-policy=inconclusive=fail").assert_outcomes(failed=1)


def test_a_clock_that_stands_still_is_inconclusive(timed, pytester):
    pytester.makeconftest(CONFTEST + "\nCLOCK.measure = lambda call, calls: 0.0\n")
    result = timed(REGRESSED, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*INCONCLUSIVE: timer 'simulated clock' read 0 ns*"])


def test_the_simulated_device_is_not_timed(timed):
    source = """
def op(array):
    return array + 1


@pytest.mark.limit_slowdown(peer=lambda array: array + 1)
def test_loss(benchmark, device):
    benchmark(op, device.namespace.ones(3))
"""
    result = timed(source, "--harness-device=simulated", "-rs", simulated_clock=False)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*it runs on the simulated device*--harness-device=cpu"])


def test_several_workers_make_it_inconclusive_with_the_way_out(timed):
    result = timed(REGRESSED, "-n2", "-rs", "-Wdefault")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*2 workers of pytest-xdist*pytest -n 0*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_one_worker_times(timed):
    timed(REGRESSED, "-n1", "-Wdefault").assert_outcomes(failed=1)


def test_timing_that_was_turned_off_is_a_choice(timed):
    result = timed(REGRESSED, "--benchmark-disable")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["harness: *timing was turned off with --benchmark-disable"])
    timed(REGRESSED, "--benchmark-disable", "--harness-policy=skipped=fail").assert_outcomes(
        failed=1
    )


# --- a baseline ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "outcome"), [("fail", "failed"), ("skip", "skipped"), ("pass", "passed")]
)
def test_a_limit_without_peer_and_baseline(timed, action, outcome):
    source = REGRESSED.replace("peer=frozen, ", "")
    result = timed(source, f"--harness-policy=no-baseline={action},unjudged=pass")
    result.assert_outcomes(**{outcome: 1})
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if action == "fail" else pytest.ExitCode.OK)


def test_a_limit_without_peer_and_baseline_fails_unless_told_otherwise(timed):
    result = timed(REGRESSED.replace("peer=frozen, ", ""))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["there is nothing to hold it against: no peer and no baseline"])


@pytest.mark.parametrize("choice", [None, "fail"])
def test_a_session_that_makes_the_baseline_needs_none_unless_told_otherwise(
    timed, pytester, choice
):
    policy = [] if choice is None else [f"--harness-policy=no-baseline={choice}"]
    source = REGRESSED.replace("peer=frozen, ", "")
    result = timed(source, "--harness-benchmark-json=base.json", "-v", *policy)
    assert (pytester.path / "base.json").exists()
    if choice == "fail":
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["next *--harness-policy no-baseline=pass"])
        return
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["*PASSED (speed not judged)*", "harness: *speed not judged: baseline made, base.json*"]
    )


def test_an_ini_file_that_writes_every_time_makes_no_baseline(timed, pytester):
    pytester.makepyprojecttoml('[tool.pytest]\nharness_benchmark_json = "out.json"\n')
    timed(REGRESSED.replace("peer=frozen, ", "")).assert_outcomes(failed=1)


def test_a_folder_as_baseline_is_told_as_one(timed, pytester):
    pytester.mkdir("kept")
    result = timed(UNCHANGED, "--harness-benchmark-baseline=kept")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: *kept is a folder; name a file in it, such as *kept*.json"]
    )


@pytest.mark.parametrize("option", ["--harness-benchmark-json", "--benchmark-json"])
def test_a_baseline_that_was_edited_stops_pytest_by_name(timed, pytester, option):
    timed(UNCHANGED, f"{option}=base.json")
    path = pytester.path / "base.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document))  # other layout, same values
    timed(UNCHANGED, "--harness-benchmark-baseline=base.json").assert_outcomes(passed=1)
    data = document["benchmarks"][0]["stats"]["data"]
    document["benchmarks"][0]["stats"]["data"] = [2 * each for each in data]
    path.write_text(json.dumps(document))
    result = timed(UNCHANGED, "--harness-benchmark-baseline=base.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: *base.json: *digest does not fit *test_loss*edited*; save it again*"]
    )


def test_a_baseline_that_is_not_there_stops_pytest_unless_allowed(timed):
    result = timed(UNCHANGED, "--harness-benchmark-baseline=none.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --harness-benchmark-baseline: *none.json does not exist*"])
    allowed = ("--harness-benchmark-baseline=none.json", "--harness-policy=no-baseline=pass")
    timed(UNCHANGED, *allowed).assert_outcomes(passed=1)


@pytest.mark.parametrize("limited", [False, True])
def test_a_raw_slowdown_beyond_the_margin_is_inconclusive_and_says_so_in_junit(
    timed, pytester, tmp_path, limited
):
    file = stored(tmp_path / "base.json", 1e-12, "test_op.py::test_loss")
    source = REGRESSED.replace("peer=frozen, ", "") if limited else UNLIMITED
    result = timed(source, f"--harness-benchmark-baseline={file}", "--junitxml=junit.xml")
    result.assert_outcomes(skipped=1)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if limited else pytest.ExitCode.OK)
    result.stdout.fnmatch_lines(["harness: test_op.py::test_loss: speed not judged*slow machine"])
    skipped = ElementTree.parse(pytester.path / "junit.xml").find(".//skipped")
    assert "raw times cannot tell slow code from a slow machine" in skipped.get("message")
    assert "--harness-trust-raw" in skipped.get("message")


def test_a_raw_slowdown_beyond_the_margin_fails_where_inconclusive_is_to_fail(timed, tmp_path):
    file = stored(tmp_path / "base.json", 1e-12, "test_op.py::test_loss")
    options = (f"--harness-benchmark-baseline={file}", "--harness-policy=inconclusive=fail")
    timed(UNLIMITED, *options).assert_outcomes(failed=1)


def test_raw_times_within_the_margin_are_not_judged_and_do_not_look_like_a_plain_pass(
    timed, pytester, tmp_path
):
    file = stored(tmp_path / "base.json", 10.0, "test_op.py::test_loss")
    options = (f"--harness-benchmark-baseline={file}", "-v", "--junitxml=junit.xml")
    result = timed(UNLIMITED, *options)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["*test_loss PASSED (speed not judged)*", "harness: *::test_loss: speed not judged*"]
    )
    told = ElementTree.parse(pytester.path / "junit.xml").find(".//property[@name='harness_speed']")
    assert told.get("value").startswith("speed not judged: no frozen peer; ")


def test_a_session_whose_limits_met_raw_times_alone_fails_with_the_way_out(timed, tmp_path):
    limited = REGRESSED.replace("peer=frozen, ", "")
    names = ("test_op.py::test_loss", "test_op.py::test_peer")
    file = stored(tmp_path / "base.json", 10.0, names[0])
    option = f"--harness-benchmark-baseline={file}"
    result = timed(limited, option)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["harness: no speed was judged, of 1 test *give the mark peer=*--harness-trust-raw*"]
    )
    assert timed(limited, option, "--harness-trust-raw").ret == pytest.ExitCode.OK
    assert timed(limited, option, "--harness-policy=unjudged=pass").ret == pytest.ExitCode.OK
    beside = limited + UNCHANGED.replace("test_loss", "test_peer")
    assert timed(beside, option).ret == pytest.ExitCode.OK


def test_a_limit_that_meets_a_baseline_without_timings_alone_fails_the_session(timed, tmp_path):
    file = stored(tmp_path / "base.json", 1.0, "test_op.py::test_loss", without_data=True)
    limited = REGRESSED.replace("peer=frozen, ", "")
    result = timed(limited, f"--harness-benchmark-baseline={file}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["harness: no speed was judged*--benchmark-save-data*"])


def test_a_worker_tells_what_was_not_judged(timed, tmp_path):
    file = stored(tmp_path / "base.json", 10.0, "test_op.py::test_loss")
    limited = REGRESSED.replace("peer=frozen, ", "")
    options = (f"--harness-benchmark-baseline={file}", "-n1", "-Wdefault", "--benchmark-enable")
    result = timed(limited, *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["harness: no speed was judged*"])


def test_a_judged_test_carries_no_word_on_it(timed, pytester):
    result = timed(UNCHANGED, "-v", "--junitxml=junit.xml")
    result.stdout.no_fnmatch_line("*speed not judged*")
    assert "harness_speed" not in (pytester.path / "junit.xml").read_text()


def test_a_raw_slowdown_fails_where_the_machine_is_vouched_for(timed, tmp_path):
    slow = stored(tmp_path / "slow.json", 1e-12, "test_op.py::test_loss")
    fast = stored(tmp_path / "fast.json", 10.0, "test_op.py::test_loss")
    result = timed(UNLIMITED, f"--harness-benchmark-baseline={slow}", "--harness-trust-raw")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1.050x (margin 5.0 %) the time of baseline 'slow.json'"])
    timed(UNLIMITED, f"--harness-benchmark-baseline={fast}", "--harness-trust-raw").assert_outcomes(
        passed=1
    )


def test_a_ratio_to_the_peer_that_grew_since_the_baseline_fails(timed, pytester):
    wide = REGRESSED.replace("peer=frozen", "peer=frozen, margin='300%'")
    timed(wide.replace("double", "faster"), "--harness-benchmark-json=base.json").assert_outcomes(
        passed=1
    )
    result = timed(wide, "--harness-benchmark-baseline=base.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  paired    with ratios to the frozen peer, then and now, saved *"]
    )
    timed(
        wide.replace("double", "faster"), "--harness-benchmark-baseline=base.json"
    ).assert_outcomes(passed=1)


def test_a_baseline_of_the_harness_is_read_too(timed, pytester):
    wide = REGRESSED.replace("peer=frozen", "peer=frozen, margin='300%'")
    timed(wide.replace("double", "faster"), "--harness-report=report.html")
    save = [sys.executable, "-m", "harness", "baseline", "save", "main", "report.html"]
    done = subprocess.run(
        [*save, "--baselines", "kept"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    timed(wide, "--harness-benchmark-baseline=kept/main.json").assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("action", "outcome"), [("pass", "passed"), ("fail", "failed"), ("skip", "skipped")]
)
def test_a_test_that_is_new(timed, tmp_path, action, outcome):
    file = stored(tmp_path / "base.json", 1.0)
    options = (f"--harness-benchmark-baseline={file}", f"--harness-policy=new={action}")
    result = timed(UNLIMITED, *options, "--harness-policy=unjudged=pass")
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines(["*new: baseline 'base.json' does not have this test*"])


@pytest.mark.parametrize("action", ["fail", "pass"])
def test_a_test_that_is_missing(timed, tmp_path, action):
    file = stored(
        tmp_path / "base.json", 10.0, "test_op.py::test_loss", "test_op.py::test_gone_since"
    )
    options = (f"--harness-benchmark-baseline={file}", f"--harness-policy=missing={action}")
    result = timed(UNLIMITED, *options)
    result.assert_outcomes(passed=1)
    failed = action == "fail"
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if failed else pytest.ExitCode.OK)
    result.stdout.fnmatch_lines(["harness: missing: test_op.py::test_gone_since is in baseline*"])


def test_a_test_that_was_not_asked_for_is_not_missing(timed, tmp_path):
    file = stored(
        tmp_path / "base.json",
        10.0,
        "test_op.py::test_loss",
        "test_op.py::test_gone",
        "other/test_x.py::test_x",
    )
    option = f"--harness-benchmark-baseline={file}"
    assert timed(UNLIMITED, option, "test_op.py::test_loss").ret == pytest.ExitCode.OK
    result = timed(UNLIMITED, option, "test_op.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "test_x" not in result.stdout.str()


@pytest.mark.parametrize("action", ["fail", "pass"])
def test_a_test_that_was_renamed(timed, tmp_path, action):
    file = stored(tmp_path / "base.json", 10.0, "test_op.py::test_loss")
    source = UNLIMITED.replace("test_loss", "test_loss_f32")
    options = (f"--harness-benchmark-baseline={file}", f"--harness-policy=renamed={action}")
    result = timed(source, *options)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if action == "fail" else pytest.ExitCode.OK)
    result.stdout.fnmatch_lines(
        ["harness: renamed: test_op.py::test_loss *test_op.py::test_loss_f32 is new*"]
    )


def test_a_test_that_says_its_old_name_is_compared(timed, tmp_path):
    file = stored(tmp_path / "base.json", 1e-12, "test_op.py::test_old")
    mark = "@pytest.mark.limit_slowdown(renamed_from='test_op.py::test_old')"
    options = (f"--harness-benchmark-baseline={file}", "--harness-trust-raw")
    result = timed(mark + UNLIMITED, *options)
    result.assert_outcomes(failed=1)
    assert "harness: missing" not in result.stdout.str()


@pytest.mark.parametrize("action", ["pass", "fail"])
def test_a_test_of_the_baseline_that_is_skipped(timed, tmp_path, action):
    file = stored(tmp_path / "base.json", 10.0, "test_op.py::test_loss")
    options = (f"--harness-benchmark-baseline={file}", f"--harness-policy=skipped={action}")
    result = timed("@pytest.mark.skip(reason='no')" + UNLIMITED, *options)
    result.assert_outcomes(skipped=1)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if action == "fail" else pytest.ExitCode.OK)
    result.stdout.fnmatch_lines(["harness: skipped: test_op.py::test_loss is in baseline*"])


def test_a_baseline_of_another_machine_is_not_comparable(timed, tmp_path):
    path = tmp_path / "base.json"
    stored(path, 10.0, "test_op.py::test_loss")
    document = json.loads(path.read_text())
    document["machine_info"] = {"machine": "sparc", "cpu": {"brand_raw": "Other CPU"}}
    path.write_text(json.dumps(document))
    result = timed(UNLIMITED, f"--harness-benchmark-baseline={path}", "--harness-trust-raw", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*not comparable with baseline 'base.json'*"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_baseline_without_timings_says_so(timed, tmp_path):
    file = stored(tmp_path / "base.json", 1.0, "test_op.py::test_loss", without_data=True)
    result = timed(UNLIMITED, f"--harness-benchmark-baseline={file}", "-rP")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*was saved without its timings; add --benchmark-save-data*"])


def test_a_baseline_cannot_write_commands_into_the_log(timed, tmp_path):
    file = stored(tmp_path / "base.json", 1.0, "test_op.py::test_gone\n::error::x")
    result = timed(UNLIMITED, f"--harness-benchmark-baseline={file}")
    assert "harness: missing: " in result.stdout.str()
    assert not [line for line in result.outlines if line.startswith("::")]


def test_a_file_that_cannot_be_imported_has_no_missing_tests(timed, tmp_path):
    file = stored(tmp_path / "base.json", 1.0, "test_op.py::test_loss")
    result = timed("import no_such_module\n", f"--harness-benchmark-baseline={file}")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "harness: missing" not in result.stdout.str()


def test_a_damaged_baseline_stops_pytest_in_one_line(timed, pytester):
    (pytester.path / "base.json").write_text('{"benchmarks": [')
    result = timed(UNLIMITED, "--harness-benchmark-baseline=base.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: *base.json: is cut off at line 1 column 17; save it again*"]
    )


# --- files -----------------------------------------------------------------------------------------


def test_pytest_benchmarks_own_commands_read_our_file(timed, pytester):
    source = REGRESSED + UNLIMITED.replace("test_loss", "test_plain")
    timed(source, "--harness-benchmark-json=one.json")
    timed(source, "--harness-benchmark-json=two.json")
    command = [sys.executable, "-m", "pytest_benchmark", "compare", "one.json", "two.json"]
    done = subprocess.run([*command, "--csv=out.csv"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "4 tests" in done.stdout
    assert "test_loss (one)" in done.stdout or "test_loss" in done.stdout
    assert (pytester.path / "out.csv").read_text().count("test_loss") >= 2


def test_pytest_benchmark_compares_with_our_file_and_finds_the_same_machine(timed):
    timed(UNLIMITED, "--harness-benchmark-json=one.json")
    result = timed(UNLIMITED, "--benchmark-compare=one.json", "--benchmark-verbose")
    output = result.stdout.str() + result.stderr.str()
    assert "Comparing against benchmarks from" in output
    assert "machine_info is different" not in output


def test_their_file_holds_our_facts_and_is_read_back(timed, pytester):
    timed(REGRESSED, "--benchmark-json=theirs.json")
    document = json.loads((pytester.path / "theirs.json").read_text())
    hard = document["machine_info"]["harness"]["environment"]["hard"]
    assert hard["harness.protocol"]
    assert hard["cpu.cores"]
    assert document["commit_info"]["harness"]["version"]
    assert document["harness"]["soft"]
    extra = document["benchmarks"][0]["extra_info"]["harness"]
    assert extra["peer"]
    assert extra["device"] == "cpu"
    assert "load.average" not in json.dumps(document["machine_info"])
    result = timed(REGRESSED.replace("double", "same"), "--harness-benchmark-baseline=theirs.json")
    result.assert_outcomes(passed=1)


def test_the_report_holds_what_was_timed(timed, pytester, reported):
    timed(REGRESSED + UNLIMITED.replace("test_loss", "test_plain"), "--harness-report=report.html")
    case = reported()["test_loss"]
    assert [check["outcome"] for check in case["checks"]] == ["passed", "failed"]
    assert len(case["sample"]["peer_ns"]) == len(case["sample"]["call_ns"])
    assert list(reported()) == ["test_loss"]


# --- beside other plugins --------------------------------------------------------------------------


def test_without_pytest_benchmark_everything_else_works(suite):
    result = suite(
        """
@pytest.mark.limit_transfers(d2h=0, because=BECAUSE)
def test_traffic(device):
    on_device(device.to_device(LOGITS))


@pytest.mark.limit_slowdown(peer=on_device)
def test_speed(benchmark):
    pass
""",
        "-pno:benchmark",
        "-Werror",
        "--harness-report=report.html",
        "--harness-benchmark-json=out.json",
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*fixture 'benchmark' not found*"])


def test_a_suite_that_limits_nothing_is_left_alone(timed):
    result = timed(UNLIMITED)
    result.assert_outcomes(passed=1)
    assert "harness:" not in result.stdout.str()


# --- misuse ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        ("(frozen, 2)", "takes named arguments only*"),
        ("(pear=frozen)", "pear is not an argument of it; did you mean peer*"),
        ("(peer='frozen')", "peer='frozen' cannot be called*"),
        ("(margin='a lot')", "margin: 'a lot' is neither a percentage nor a fraction*"),
        ("(margin=-0.1)", "margin: -0.1 is not from 0 to 1000%*"),
        ("(unit='')", "unit='' must be a text"),
        ("(units_per_call=0)", "units_per_call=0 must be a number above 0"),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused_while_collecting(timed, mark, why):
    result = timed(f"@pytest.mark.limit_slowdown{mark}\ndef test_loss(benchmark): pass")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"test_op.py::test_loss: @pytest.mark.limit_slowdown: {why}"])


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--harness-policy=mising=fail", "*'mising=fail' is no choice; did you mean missing?*"),
        ("--harness-policy=missing=skip", "*missing=skip: missing can fail or pass"),
        ("--harness-margin=lots", "*'lots' is neither a percentage nor a fraction*"),
        ("--harness-confidence=100%", "*'100%' is not from 50% to below 100%"),
        ("--harness-benchmark-seconds=0", "*'0' is no number of seconds from 0.01 to 3600"),
        ("--harness-benchmark-json=test_op.py", "*does not end in .json*"),
    ],
)
def test_an_option_that_makes_no_sense_stops_pytest(timed, option, why):
    result = timed(UNCHANGED, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {why}"])


def test_options_can_come_from_the_ini_file(timed, pytester):
    pytester.makepyprojecttoml("""
        [tool.pytest]
        harness_policy = "inconclusive=fail"
        harness_margin = "150%"
    """)
    timed(REGRESSED).assert_outcomes(passed=1)
    timed(BLIND["it is the very code under test"]).assert_outcomes(failed=1)


# --- CI --------------------------------------------------------------------------------------------


def test_github_gets_an_annotation_at_the_test_and_a_summary(
    timed, pytester, monkeypatch, tmp_path
):
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path))
    result = timed(REGRESSED)
    result.stdout.fnmatch_lines(
        ["::error file=test_op.py,line=4,title=slowdown failed in test_op.py/test_loss::*"]
    )
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("# before\n")
    assert "FAILED" in text
    assert "test\\_loss" in text


def test_a_summary_that_cannot_be_written_changes_nothing(timed, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    result = timed(UNCHANGED)
    assert result.ret == pytest.ExitCode.OK
    result.stderr.fnmatch_lines(
        ["harness: the job summary *was not written: it is not a regular file"]
    )
