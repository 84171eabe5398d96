"""The command as a user or a CI job meets it: real processes, exit statuses, one line per error."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

USER = Path(__file__).parent / "user"
QUICK = ("--no-benchmark",)
RUN = (sys.executable, "-m", "harness", "run")


@pytest.fixture(scope="module")
def harness():
    """Run ``harness ARGS`` in a process of its own, from the user's folder."""

    def run(*arguments, cwd=USER, **options):
        return subprocess.run(
            [sys.executable, "-m", "harness", *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=300,
            **options,
        )

    return run


@pytest.fixture
def run_in(harness, tmp_path):
    """``harness run`` with its output in this test's folder."""

    def run(*arguments, **options):
        return harness("run", *arguments, "--output", tmp_path / "reports", **options)

    return run


def written(tmp_path):
    return sorted((tmp_path / "reports").glob("*/run.json"))


def one_error_line(done):
    """The message: exactly one line on standard error beside progress, and no traceback."""
    assert "Traceback" not in done.stderr + done.stdout
    lines = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_good_workload_passes_and_writes_its_report(run_in, tmp_path):
    done = run_in("user_workloads:GOOD", "--seconds", "0.05")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = written(tmp_path)
    assert (run.parent / "report.html").exists()
    assert str(run.parent / "report.html") in done.stdout
    assert json.loads(run.read_text())["schema_version"] == 1


def test_piped_output_is_plain(run_in):
    done = run_in("user_workloads:GOOD", *QUICK)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("READS", "user_workloads.py"),
        ("RAISES", "RuntimeError: cannot double this"),
        ("WRONG_SHAPE", "shape (63,) where (64,) was expected"),
        ("NOT_A_NUMBER", "nan where a finite number was expected"),
        ("ON_THE_HOST", "output 'y' is a host ndarray"),
        ("BAD_BUDGET", "gives no reason"),
        ("OVERWRITES", "input 'x' was overwritten"),
        ("NO_CASES", "has no cases"),
    ],
)
def test_a_broken_workload_fails_by_name_and_the_others_still_run(run_in, tmp_path, target, says):
    done = run_in(f"user_workloads:{target}", "user_workloads:GOOD", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    assert says in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    verdicts = json.loads(written(tmp_path)[0].read_text())["verdicts"]
    assert [verdict["workload"] for verdict in verdicts][-1] == "double"


@pytest.mark.parametrize(
    ("target", "says"),
    [("NO_REGION", "never entered"), ("UNMODELLED", "fft")],
)
def test_what_cannot_be_told_is_inconclusive(run_in, target, says):
    done = run_in(f"user_workloads:{target}", *QUICK)
    assert done.returncode == 4, done.stdout + done.stderr
    assert says in done.stdout


def test_the_cpu_has_no_boundary_so_its_traffic_is_inconclusive(run_in):
    done = run_in("user_workloads:GOOD", "--device", "cpu", *QUICK)
    assert done.returncode == 4
    assert "no host/device boundary" in done.stdout


def test_debug_shows_the_traceback_of_a_workload(run_in):
    done = run_in("user_workloads:RAISES", "--debug", *QUICK)
    assert done.returncode == 1
    assert "RuntimeError: cannot double\nthis" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["sofmax_cross_entropy"], 2, "did you mean 'softmax_cross_entropy'"),
        (["mlp/no-such-case"], 2, "matches no case"),
        (["user_workloads:MISSING"], 2, "has no attribute 'MISSING'"),
        (["no_such_module:W"], 2, "no module named 'no_such_module'"),
        (["user_workloads:NOT_A_WORKLOAD"], 2, "is int, not an object with name, summary"),
        (["mlp", "--device", "gpu"], 2, "unknown device 'gpu'"),
        (["mlp", "--device", "cuda:0"], 3, "cuda:0"),
        (["mlp", "--baseline", "nightly"], 2, "nightly"),
        (["mlp", "--fail-over", "5"], 2, "write it as 5% or 0.05"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_runs(run_in, tmp_path, arguments, status, says):
    done = run_in(*arguments, "--baselines", tmp_path / "baselines")
    assert done.returncode == status, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not written(tmp_path)


def test_an_output_that_is_no_folder_is_refused_before_anything_runs(harness, tmp_path):
    (tmp_path / "reports").write_text("mine")
    done = harness("run", "user_workloads:GOOD", "--output", tmp_path / "reports", *QUICK)
    assert done.returncode == 2
    assert "reports" in one_error_line(done)
    assert (tmp_path / "reports").read_text() == "mine"


class Baselines:
    """A folder of baselines and the verbs on it."""

    def __init__(self, harness, tmp_path):
        self.folder = tmp_path / "baselines"
        self._harness = harness
        self._reports = tmp_path / "reports"

    def __call__(self, verb, *arguments):
        extra = ["--baselines", self.folder]
        if verb in ("save", "diff"):
            extra += ["--output", self._reports]
        return self._harness("baseline", verb, *arguments, *extra)


@pytest.fixture
def baselines(harness, tmp_path):
    return Baselines(harness, tmp_path)


@pytest.fixture(scope="module")
def run_and_baseline(harness, tmp_path_factory):
    """A folder with the report of a good run and the baseline ``main`` made of it."""
    folder = tmp_path_factory.mktemp("saved")
    done = harness("run", "user_workloads:GOOD", "--output", folder / "reports", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert Baselines(harness, folder)("save", "main").returncode == 0
    return folder


@pytest.fixture
def saved(run_and_baseline, baselines, tmp_path):
    """The verbs on a copy of that run and its baseline, in this test's folder."""
    shutil.copytree(run_and_baseline, tmp_path, dirs_exist_ok=True)
    return baselines


def test_a_baseline_is_saved_listed_shown_kept_and_removed(run_in, baselines, tmp_path):
    assert run_in("user_workloads:GOOD", *QUICK).returncode == 0
    assert baselines("save", "main").returncode == 0
    assert "main" in baselines("list").stdout
    assert "double/small" in baselines("show", "main").stdout
    assert baselines("diff", "main").returncode == 0
    kept = run_in(
        "user_workloads:GOOD", "--baseline", "main", "--baselines", baselines.folder, *QUICK
    )
    assert kept.returncode == 0, kept.stdout + kept.stderr
    assert baselines("remove", "main").returncode == 0
    assert baselines("show", "main").returncode == 2


def test_a_baseline_is_not_overwritten_unless_asked(saved):
    again = saved("save", "main")
    assert again.returncode == 2
    assert "--replace" in one_error_line(again)
    assert saved("save", "main", "--replace").returncode == 0


def test_a_failed_run_is_no_baseline(run_in, baselines):
    run_in("user_workloads:READS", *QUICK)
    done = baselines("save", "main")
    assert done.returncode == 2
    assert "reads/small" in one_error_line(done)


def test_saving_without_a_run_says_what_to_do(baselines):
    assert "harness run" in one_error_line(baselines("save", "main"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: '{"benchmarks": [], "machine_info": {}}',
        lambda text: text.replace('"schema_version": 2', '"schema_version": 99'),
        lambda text: text.replace('"d2h": 0', '"d2h": -1'),
        lambda text: text.replace('"d2h": 0', '"d2h": 7'),
    ],
    ids=["truncated", "empty", "foreign", "newer", "nonsense", "edited"],
)
def test_a_damaged_baseline_is_refused_by_name_and_left_alone(run_in, saved, tmp_path, damage):
    (path,) = saved.folder.glob("main*")
    damaged = damage(path.read_text())
    path.write_text(damaged)
    done = run_in("user_workloads:GOOD", "--baseline", "main", "--baselines", saved.folder, *QUICK)
    assert done.returncode == 2, done.stdout + done.stderr
    assert path.name in one_error_line(done)
    assert path.read_text() == damaged


def test_a_truncated_run_file_is_refused_by_name(run_in, baselines, tmp_path):
    run_in("user_workloads:GOOD", *QUICK)
    (run,) = written(tmp_path)
    run.write_text(run.read_text()[:-40])
    done = baselines("save", "main")
    assert done.returncode == 2
    assert "run.json" in one_error_line(done)


def test_the_doctor_runs_the_positive_controls(harness):
    done = harness("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "controls seen 3/3" in done.stdout


def test_workloads_are_listed_with_their_cases(harness):
    done = harness("workloads", "softmax_cross_entropy")
    assert done.returncode == 0
    assert "softmax_cross_entropy/64x10-float32" in done.stdout


def test_an_empty_baseline_name_is_refused_not_ignored(run_in, tmp_path):
    done = run_in("user_workloads:GOOD", "--baseline", "", "--baselines", tmp_path, *QUICK)
    assert done.returncode == 2, done.stdout + done.stderr


def test_replacing_a_baseline_by_fewer_cases_is_refused_unless_they_may_go(run_in, baselines):
    run_in("user_workloads:GOOD", "user_workloads:ALSO_GOOD", *QUICK)
    baselines("save", "main")
    run_in("user_workloads:GOOD", *QUICK)
    done = baselines("save", "main", "--replace")
    assert done.returncode == 2
    assert "would lose 1 case (also_double/small)" in one_error_line(done)
    assert "also_double/small" in baselines("show", "main").stdout
    assert baselines("save", "main", "--replace", "--drop").returncode == 0


def test_a_replaced_baseline_goes_on_from_its_anchor_unless_told_to_start_anew(run_in, baselines):
    timed = ("user_workloads:GOOD", "--seconds", "0.05")
    assert run_in(*timed).returncode == 0
    baselines("save", "main")
    run_in(*timed)
    kept = baselines("save", "main", "--replace")
    assert kept.stdout.startswith("speeds of 1 case (double/small) go on from the anchor of ")
    shown = baselines("show", "main").stdout
    assert shown.count("median of") == 2
    assert shown.index("anchor ") < shown.index("newest ")
    anew = baselines("save", "main", "--replace", "--new-anchor")
    assert anew.stdout.startswith("the anchors of 1 case are given up: speeds start anew")
    assert baselines("show", "main").stdout.count("median of") == 1
    run_in("user_workloads:GOOD", *QUICK)
    untimed = baselines("save", "main", "--replace")
    assert untimed.returncode == 2
    assert "would lose 1 timing (double/small)" in one_error_line(untimed)


def test_a_damaged_baseline_is_replaced_only_where_its_anchor_may_go(saved):
    (saved.folder / "main.json").write_text("{")
    done = saved("save", "main", "--replace")
    assert done.returncode == 2
    assert "--replace --new-anchor --drop" in one_error_line(done)
    assert (saved.folder / "main.json").read_text() == "{"
    afresh = saved("save", "main", "--replace", "--new-anchor", "--drop")
    assert afresh.returncode == 0
    assert "all that baseline 'main' held is given up" in afresh.stdout
    assert saved("show", "main").returncode == 0


def test_a_broken_promise_is_saved_only_from_a_run_that_was_not_held_against_it(run_in, saved):
    held = ("--baseline", "main", "--baselines", saved.folder)
    done = run_in("user_workloads:READS_OUTSIDE", *held, *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    refused = saved("save", "main", "--replace", "--drop")
    assert refused.returncode == 2
    assert "run again without --baseline and save that" in one_error_line(refused)
    assert run_in("user_workloads:READS_OUTSIDE", *QUICK).returncode == 0
    assert saved("save", "main", "--replace").returncode == 0


STATUSES = {"pass": 0, "skip": 0, "inconclusive": 4, "fail": 1}


def test_a_new_a_missing_and_a_renamed_case_count_as_one_says(run_in, saved):
    run_in("user_workloads:GOOD", "user_workloads:ALSO_GOOD", *QUICK)
    saved("save", "both")
    run_in("user_workloads:GOOD", *QUICK)
    assert saved("diff", "both").returncode == 4
    for value, status in STATUSES.items():
        assert saved("diff", "both", "--missing", value).returncode == status
    assert saved("diff", "main", "--missing", "fail").returncode == 0
    run_in("user_workloads:ALSO_GOOD", *QUICK)
    for value, status in STATUSES.items():
        renamed = saved("diff", "main", "--renamed", value)
        assert renamed.returncode == status
        assert "renamed to also_double/small?" in renamed.stdout
        assert saved("diff", "main", "--renamed", "pass", "--new", value).returncode == status


def test_what_could_not_be_told_cannot_be_made_a_pass(baselines):
    done = baselines("diff", "main", "--inconclusive", "pass")
    assert done.returncode == 2
    assert "'pass' is not one of 'skip', 'inconclusive', 'fail'" in done.stderr


@pytest.mark.parametrize(("value", "status"), [("skip", 0), ("inconclusive", 4), ("fail", 1)])
def test_a_baseline_nobody_saved_yet_counts_as_one_says(run_in, tmp_path, value, status):
    held = ("--baseline", "main", "--baselines", tmp_path / "baselines")
    done = run_in("user_workloads:GOOD", *held, "--no-baseline", value, *QUICK)
    assert done.returncode == status, done.stdout + done.stderr
    assert "no baseline 'main' in" in done.stdout
    (run,) = written(tmp_path)
    assert [each["check"] for each in json.loads(run.read_text())["checks"]] == ["baseline"]


def test_one_damaged_baseline_does_not_hide_the_others(saved):
    (saved.folder / "torn.json").write_text("{")
    done = saved("list")
    assert done.returncode == 2
    assert done.stdout.startswith("main ")
    assert "torn.json" in one_error_line(done)


@pytest.mark.parametrize("target", ["LEAVES_IN_RUN", "LEAVES_IN_ORACLE"])
def test_a_workload_that_calls_exit_is_a_failure_not_a_pass(run_in, tmp_path, target):
    done = run_in(f"user_workloads:{target}", "user_workloads:GOOD", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "SystemExit" in done.stdout
    assert len(written(tmp_path)) == 1


def test_a_reader_that_leaves_is_no_failure_of_the_workload(tmp_path):
    script = (
        f"{sys.executable} -m harness run user_workloads:GOOD --no-benchmark "
        f"--output {tmp_path / 'reports'} 2>/dev/null | head -c 1 >/dev/null; "
        "echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=USER, capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.strip() == "0"
    assert done.stderr == ""
    assert written(tmp_path)


def test_a_full_standard_output_is_said_once(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*RUN, "user_workloads:GOOD", *QUICK, "--output", str(tmp_path / "reports")],
            cwd=USER,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
        )
    assert done.returncode == 2
    assert "standard output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert written(tmp_path)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_reports_what_is_finished(tmp_path, sent):
    targets = ("user_workloads:GOOD", "user_workloads:SLEEPS")
    process = subprocess.Popen(
        [*RUN, *targets, *QUICK, "--output", str(tmp_path / "reports")],
        cwd=USER,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if "sleeps" in line:
            break
    process.send_signal(sent)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    (run,) = written(tmp_path)
    assert [each["workload"] for each in json.loads(run.read_text())["verdicts"]] == ["double"]
    assert "after 1 of 2 cases" in output
