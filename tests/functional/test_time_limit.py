"""Cases that hang or take their process along: each says where it was, and the others are still run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are forked on Linux only"
)

USER = Path(__file__).parent / "user"
RUN = (sys.executable, "-m", "harness", "run", "--no-benchmark")


@pytest.fixture
def run_in(tmp_path):
    """``harness run`` on names of ``stuck_workloads``, with its output in this test's folder."""

    def run(*names, limit="1", options=(), **more):
        targets = [name if ":" in name else f"stuck_workloads:{name}" for name in names]
        return subprocess.run(
            [*RUN, *targets, "--time-limit", limit, "--output", tmp_path / "reports", *options],
            cwd=USER,
            capture_output=True,
            text=True,
            timeout=300,
            **more,
        )

    return run


@pytest.fixture
def verdicts(tmp_path):
    """The verdicts of the one run in this test's folder, by workload."""

    def read():
        (run,) = (tmp_path / "reports").glob("*/run.json")
        return {each["workload"]: each for each in json.loads(run.read_text())["verdicts"]}

    return read


def outcome(verdict):
    found = {check["outcome"] for check in verdict["checks"]}
    return next(each for each in ("failed", "inconclusive", "passed") if each in found)


def the_end(verdict):
    """The check that says how the case ended."""
    (check,) = [check for check in verdict["checks"] if check["check"] == "run"]
    return check


def line(text):
    """``stuck_workloads.py:LINE in double`` of the line with this text."""
    lines = (USER / "stuck_workloads.py").read_text().splitlines()
    (number,) = [number for number, each in enumerate(lines, 1) if each.strip() == text]
    return f"stuck_workloads.py:{number} in double"


def test_every_kind_of_hang_is_ended_with_its_line_and_the_others_are_run(run_in, verdicts):
    hangs = {
        "loops": "time.sleep(0.01)",
        "deadlocks": "lock.acquire()  # for ever",
        "waits_in_c": "C.pause()",
        "keeps_the_gil": "WITH_GIL.pause()",
    }
    done = run_in(*map(str.upper, hangs), "FIXED")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    found = verdicts()
    assert list(found) == [*hangs, "fixed"]
    for name, text in hangs.items():
        end = the_end(found[name])
        assert end["outcome"] == "inconclusive"
        assert end["summary"].startswith("small did not come back within 1 s and was stopped at ")
        assert end["summary"].endswith(line(text))
        assert end["evidence"] == "a time limit of 1 s"
        assert "--time-limit SECONDS" in end["next_step"]
        assert end["summary"] in done.stdout
    assert outcome(found["fixed"]) == "passed"


def test_what_swallows_the_request_to_stop_is_killed_with_all_it_has_started(
    run_in, verdicts, tmp_path
):
    numbers = tmp_path / "numbers"
    done = run_in("INSISTS", "STARTS_AND_WAITS", env={**os.environ, "NUMBERS": str(numbers)})
    assert done.returncode == 4
    assert [the_end(verdict)["outcome"] for verdict in verdicts().values()] == ["inconclusive"] * 2
    assert all(map(gone, numbers.read_text().split()))


def test_every_kind_of_death_is_named_and_the_others_are_run(run_in, verdicts):
    deaths = {
        "crashes": f"died of SIGSEGV at {USER / line('os.kill(os.getpid(), signal.SIGSEGV)')}",
        "leaves": "ended itself with exit status 0",
        "is_killed": "died of SIGKILL",
        "writes_everywhere": "wrote into the pipe",
    }
    done = run_in(*map(str.upper, deaths), "FIXED", limit="60")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    found = verdicts()
    assert list(found) == [*deaths, "fixed"]
    for name, words in deaths.items():
        end = the_end(found[name])
        own_doing = name in ("crashes", "leaves")
        assert end["outcome"] == ("failed" if own_doing else "inconclusive")
        assert words in end["summary"]
        assert end["next_step"]
    assert "stuck_workloads:CRASHES/small" in the_end(found["crashes"])["next_step"]
    assert outcome(found["fixed"]) == "passed"


def test_a_child_the_op_forks_tells_no_second_story(run_in, verdicts):
    done = run_in("FORKS", "FIXED", limit="60")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(verdicts()) == ["forks", "fixed"]


def test_a_workload_that_cannot_be_imported_takes_no_other_along(run_in, verdicts):
    done = run_in("DIES_WHEN_LOADED", "FIXED", limit="60")
    assert done.returncode == 1, done.stdout + done.stderr
    found = verdicts()
    died = the_end(found["stuck_workloads:DIES_WHEN_LOADED"])["summary"]
    assert "importing it and listing its cases" in died
    assert "exit status 7" in died
    assert outcome(found["fixed"]) == "passed"


def scripted(tmp_path, script):
    """What ``script`` prints, after the names that every one of them needs."""
    path = tmp_path / "script.py"
    path.write_text(PREAMBLE + script)
    done = subprocess.run(
        [sys.executable, path],
        cwd=USER,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(USER), *sys.path])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


PREAMBLE = """
from harness.session.verify import Settings
from harness.session.isolation import Errand, Hooks, conduct_apart
from harness.session.record import Terms


def show(*names, device="simulated", time_limit_s=2.0):
    errand = Errand(
        workloads=names,
        device=device,
        settings=Settings(benchmark=False),
        terms=Terms(command="", seed=0),
        time_limit_s=time_limit_s,
        preparation_s=2.0,
    )
    run = conduct_apart(errand, Hooks(progress=lambda *seen: None, tick=int, dump=str))
    for verdict in run.verdicts:
        check = verdict.checks[-1]
        print(verdict.key, verdict.outcome.value, check.summary, check.next_step, sep="|")
"""


def test_a_workload_that_never_lists_its_cases_takes_no_other_along(tmp_path):
    script = 'show("stuck_workloads:NEVER_LISTED", "stuck_workloads:FIXED")'
    hung, fixed = scripted(tmp_path, script)
    key, outcome, summary, _ = hung.split("|")
    assert (key, outcome) == ("stuck_workloads:NEVER_LISTED/-", "inconclusive")
    assert "did not come back within 2 s" in summary
    assert summary.endswith("in cases")
    assert fixed.startswith("fixed/small|passed")


GPU = """
import ctypes
import signal

from harness.devices.cuda_faults import DeviceFaultError, fault_of_status
from harness.devices.registry import Devices
from harness.devices.simulated import SimulatedDevice
from harness.session.isolation import worker

gone = []


class CUDARuntimeError(RuntimeError):
    status = 700


class Gpu(SimulatedDevice):
    name = "a scripted cuda device"
    notes = ()

    def to_device(self, array):
        if gone:
            fault = fault_of_status(700, "cudaErrorIllegalAddress: as CUDA says it")
            raise DeviceFaultError(self.name, "copying an input to it", fault)
        return super().to_device(array)

    def to_host(self, array):
        if "waits" in gone:
            signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
            ctypes.CDLL(None).pause()
        return super().to_host(array)


import user_workloads


class Faults(user_workloads.Double):
    def double(self, x):
        gone.append("faulted")
        raise CUDARuntimeError("cudaErrorIllegalAddress: as CUDA says it")


class NeverEnds(user_workloads.Double):
    def double(self, x):
        gone.append("waits")
        return x * 2


user_workloads.FAULTS = user_workloads.One(Faults(), name="faults")
user_workloads.NEVER_ENDS = user_workloads.One(NeverEnds(), name="never_ends")
worker.choose_devices = lambda name: Devices(Gpu(), None)
"""


def test_a_kernel_that_never_ends_is_told_by_the_call_that_waits_for_it(tmp_path):
    show = 'show("user_workloads:NEVER_ENDS", "user_workloads:GOOD", device="cuda:0")'
    hung, good = scripted(tmp_path, GPU + show)
    key, outcome, summary, next_step = hung.split("|")
    assert (key, outcome) == ("never_ends/small", "inconclusive")
    assert summary.endswith("in to_host")
    assert "cuda-gdb --args python -m harness run --time-limit 0" in next_step
    assert good.startswith("double/small|passed")


def test_after_a_kernel_that_broke_the_context_the_next_case_has_a_new_one(tmp_path):
    show = 'show("user_workloads:FAULTS", "user_workloads:GOOD", device="cuda:0")'
    faulted, good = scripted(tmp_path, GPU + show)
    assert faulted.startswith("faults/small|failed")
    assert "cudaErrorIllegalAddress" in faulted
    assert good.startswith("double/small|passed")


def test_a_gpu_that_is_gone_for_good_is_told_of_every_case_left(tmp_path):
    script = (
        GPU
        + """
from harness.devices.cuda_requirements import unavailable

first = []


def choose(name):
    if os.path.exists("MARK"):
        raise unavailable(0, "the driver sees no GPU", "see `nvidia-smi`")
    open("MARK", "w").close()
    return Devices(Gpu(), None)


worker.choose_devices = choose
show("user_workloads:FAULTS", "user_workloads:GOOD", "user_workloads:ALSO_GOOD", device="cuda:0")
"""
    )
    script = script.replace("MARK", str(tmp_path / "used")).replace(
        "import ctypes", "import ctypes\nimport os", 1
    )
    faulted, *left = scripted(tmp_path, script)
    assert faulted.startswith("faults/small|failed")
    assert [each.split("|")[:2] for each in left] == [
        ["double/small", "inconclusive"],
        ["also_double/small", "inconclusive"],
    ]
    for each in left:
        assert "was not run: device 'cuda:0' cannot be used: the driver sees no GPU" in each


def test_a_device_that_does_not_come_up_ends_the_run_in_one_line(tmp_path):
    script = (
        GPU
        + """
import time
from harness.session.isolation import NothingRanError

worker.choose_devices = lambda name: time.sleep(60)
try:
    show("user_workloads:GOOD", device="cuda:0")
except NothingRanError as error:
    print(int(error.exit_code), error)
"""
    )
    (line,) = scripted(tmp_path, script)
    assert line.startswith(
        "4 no case was run: preparing device cuda:0 did not come back within 2 s"
    )


def test_a_run_in_which_nothing_can_be_imported_still_has_a_report(run_in, verdicts):
    assert run_in("DIES_WHEN_LOADED").returncode == 1
    assert list(verdicts()) == ["stuck_workloads:DIES_WHEN_LOADED"]


def test_what_was_found_before_a_hang_is_kept(run_in, verdicts, tmp_path):
    options = ("--output", tmp_path / "reports", "--seconds", "0.05")
    done = subprocess.run(
        [*RUN[:-1], "stuck_workloads:HANGS_WHEN_TIMED", "--time-limit", "1", *options],
        cwd=USER,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 4, done.stdout + done.stderr
    verdict = verdicts()["hangs_when_timed"]
    assert {"traffic", "values", "run"} <= {check["check"] for check in verdict["checks"]}
    assert verdict["traffic"]["regions"]["forward"]["d2h"] == 0
    assert the_end(verdict)["evidence"] == "a time limit of 1 s, and 0.25 s for its benchmark"


def test_what_cannot_be_started_again_is_told_of_the_cases_left(run_in, tmp_path):
    mark = tmp_path / "imported"
    done = run_in("once:TWO", limit="60", env={**os.environ, "ONCE": str(mark)})
    assert done.returncode == 1, done.stdout + done.stderr
    (run,) = (tmp_path / "reports").glob("*/run.json")
    crashed, left = json.loads(run.read_text())["verdicts"]
    assert "SIGSEGV" in the_end(crashed)["summary"]
    assert left["case"] == "fine"
    assert the_end(left)["summary"].startswith("fine was not run: workload 'once:TWO': no module")


def test_debug_shows_every_frame_of_a_hang(run_in):
    done = run_in("LOOPS", options=["--debug"])
    assert "Timeout (" in done.stderr
    assert "in verify_case" in done.stderr


def test_without_a_limit_everything_is_in_one_process_and_found_alike(run_in, verdicts, tmp_path):
    def found(limit):
        assert run_in("PRINTS", "FIXED", limit=limit).returncode == 0
        seen = verdicts()
        (folder,) = (tmp_path / "reports").iterdir()
        folder.rename(tmp_path / f"with-{limit}")
        return seen

    assert found("0") == found("60")


def test_what_an_op_prints_comes_before_the_summary_and_outlives_it(run_in):
    done = run_in("PRINTS", "PRINTS_AND_LEAVES")
    assert done.stdout.index("printed by the op") < done.stdout.index("FAILED")
    assert "last words" in done.stdout


@pytest.mark.parametrize("limit", ["nan", "-1", "inf", "soon", "1e9"])
def test_a_limit_that_is_none_is_refused(run_in, limit):
    done = run_in("FIXED", limit=limit)
    assert done.returncode == 2
    assert "between 0 (no limit) and" in done.stderr


def started(tmp_path, *names, **environment):
    """``harness run`` as it goes, and the file in which ``STARTS_AND_WAITS`` leaves its numbers."""
    numbers = tmp_path / "numbers"
    process = subprocess.Popen(
        [*RUN, *(f"stuck_workloads:{name}" for name in names), "--output", tmp_path / "reports"],
        cwd=USER,
        env={**os.environ, "NUMBERS": str(numbers), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, numbers


def until(holds):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def gone(number):
    """Whether a process has ended; as a zombie, if nobody has asked for it yet."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_a_killed_run_leaves_no_process_behind(tmp_path):
    process, numbers = started(tmp_path, "STARTS_AND_WAITS")
    until(lambda: numbers.exists() and len(numbers.read_text().split()) == 2)
    process.kill()
    process.communicate(timeout=120)
    until(lambda: all(map(gone, numbers.read_text().split())))


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_hang_that_hears_nothing_can_be_interrupted_and_what_is_done_is_kept(tmp_path, sent):
    process, _ = started(tmp_path, "FIXED", "WAITS_IN_C")
    for line in process.stderr:
        if "waits_in_c" in line:
            break
    process.send_signal(sent)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "after 1 of 2 cases" in output
    (run,) = (tmp_path / "reports").glob("*/run.json")
    assert [each["workload"] for each in json.loads(run.read_text())["verdicts"]] == ["fixed"]


def test_an_op_that_raises_an_interrupt_ends_the_run_as_one(run_in, verdicts):
    done = run_in("FIXED", "INTERRUPTS", "PRINTS", limit="60")
    assert done.returncode == 130, done.stdout + done.stderr
    assert list(verdicts()) == ["fixed"]


def test_on_a_terminal_the_bar_moves_and_the_op_may_print(tmp_path):
    import pty

    targets = ("stuck_workloads:PRINTS", "stuck_workloads:LOOPS")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*RUN, *targets, "--time-limit", "1", "--output", str(tmp_path / "reports")],
        cwd=USER,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.STDOUT,
    )
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 4096):
            seen += data
    except OSError:  # EIO: the other side is closed
        pass
    os.close(ours)
    assert process.wait(20) == 4
    text = seen.decode()
    assert "printed by the op" in text
    assert "loops/small" in text
    assert "INCONCLUSIVE" in text


def command(tmp_path, verb, *names, options=()):
    """Another verb on names of ``stuck_workloads``, with a limit of a second."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "harness", *verb, "--device", "cpu", "--time-limit", "1"),
            *(f"stuck_workloads:{name}" for name in names),
            *("--output", tmp_path / "reports", *options),
        ],
        cwd=USER,
        capture_output=True,
        text=True,
        timeout=300,
    )


PEER = ("compare", "--against", "peer", "--seconds", "0.1")
CHECK = ("selfcheck", "--seconds", "0.05", "--decisions", "5", "--find", "80%", "--margin", "40%")
BAD = ("TIMED_LEAVES", "TIMED_CRASHES", "TIMED_LOOPS", "DIES_WHEN_LOADED")
SAYS = {
    "timed_leaves/small": ("failed", "ended itself with exit status 0"),
    "timed_crashes/small": ("failed", "died of SIGSEGV at "),
    "timed_loops/small": ("inconclusive", "was stopped at "),
    "stuck_workloads:DIES_WHEN_LOADED": ("failed", "exit status 7"),
}


def test_a_comparison_with_a_peer_outlives_every_op(tmp_path, verdicts):
    done = command(tmp_path, PEER, "TIMED", *BAD, "ALSO_TIMED")
    assert done.returncode == 1, done.stdout + done.stderr
    found = verdicts()
    assert set(found) == {key.partition("/")[0] for key in SAYS} | {"timed", "also_timed"}
    for key, (ending, words) in SAYS.items():
        end = the_end(found[key.partition("/")[0]])
        assert end["outcome"] == ending
        assert words in end["summary"]
    for name in ("timed", "also_timed"):
        assert len(found[name]["sample"]["call_ns"]) == len(found[name]["sample"]["peer_ns"])


def test_a_self_check_outlives_every_op(tmp_path):
    done = command(tmp_path, CHECK, "TIMED", *BAD, "ALSO_TIMED")
    assert done.returncode == 1, done.stdout + done.stderr
    (machine,) = json.loads((tmp_path / "reports" / "selfcheck.json").read_text())["machines"]
    checks = {check["key"]: check for check in machine["checks"]}
    assert set(checks) == set(SAYS) | {"timed/small", "also_timed/small"}
    for key, (ending, words) in SAYS.items():
        assert checks[key]["outcome"] == ending
        assert words in checks[key]["summary"]
    assert checks["timed/small"]["decisions"] == checks["also_timed/small"]["decisions"] == 5


@pytest.mark.parametrize("verb", [PEER, CHECK])
def test_an_op_that_leaves_with_status_0_is_no_pass(tmp_path, verb):
    done = command(tmp_path, verb, "TIMED_LEAVES")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED" in done.stdout


@pytest.mark.parametrize(
    ("ref", "option", "other"),
    [("peer", "--patience", "--time-limit"), ("HEAD", "--time-limit", "--patience")],
)
def test_a_limit_without_an_effect_is_refused(tmp_path, ref, option, other):
    done = subprocess.run(
        [sys.executable, "-m", "harness", "compare", "--against", ref, option, "5"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2
    assert f"{option} has no effect with --against {ref}; use {other} SECONDS" in done.stderr
