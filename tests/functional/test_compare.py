"""``harness compare``: real repositories, real worktrees, real processes."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from git_repositories import git, repository, write

PERF = """
import os
import signal
import time

import numpy as np

import ops


class Case:
    timed = True
    throughput = ("elements", 20_000.0, 160_000)
    budget = {}
    tolerances = {"y": {"dtype": "float32"}}
    gradients = {}
    loss = None

    def __init__(self, name):
        self.name = name
        self.parameters = {"n": ops.SIZES.get(name, "20000")}

    def inputs(self, seed):
        chance = np.random.default_rng(seed + ops.SHIFTS.get(self.name, 0))
        return {"x": chance.normal(size=20_000).astype(np.float32)}

    def run(self, inputs, region):
        return {"y": ops.double(inputs["x"], self.name)}

    def expected(self, inputs):
        return {"y": np.asarray(inputs["x"], dtype=np.float64) * 2}

    def peer(self, inputs, region):
        return {"y": ops.double(inputs["x"], "peer")}


class Perf:
    name = "perf"
    summary = "doubles"

    def cases(self):
        return [Case(name) for name in ops.NAMES]


PERF = Perf()
"""

DOUBLE = """

def double(x, name):
    for _ in range(REPEATS.get(name, 1)):
        y = x * FACTORS.get(name, 2)
    if name in DYING:
        import os, signal
        print("about to end", flush=True)
        os.kill(os.getpid(), signal.SIGKILL if name == "starves" else signal.SIGABRT)
    if name in HANGING:
        import time
        time.sleep(600)
    if name in RAISING:
        raise RuntimeError("cannot double this")
    if name == "prints":
        print("doubling, and saying so")
    return y
"""

QUICK = ("--seconds", "0.3", "--processes", "1")
SEVERAL = ("--seconds", "0.45", "--processes", "3")


def ops(**changes: object) -> str:
    """The op's module: twice the input, with what each case does otherwise."""
    names = ["steady"]
    values = {
        "NAMES": names, "REPEATS": {}, "FACTORS": {}, "SIZES": {}, "SHIFTS": {},
        "DYING": [], "HANGING": [], "RAISING": [], **changes,
    }  # fmt: skip
    return "".join(f"{name} = {value!r}\n" for name, value in values.items()) + DOUBLE


class Harness:
    """Runs ``harness compare`` with temporary files and reports in folders that can be looked at."""

    def __init__(self, folder: Path) -> None:
        self.temporary, self.reports = folder / "temporary", folder / "reports"
        self.temporary.mkdir(parents=True)

    def command(self, *arguments: str) -> list[str]:
        return [
            *(sys.executable, "-m", "harness", "compare", "--device", "cpu"),
            *("--output", str(self.reports), *arguments),
        ]

    def environment(self, **variables: str) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.temporary), **variables}

    def compare(
        self, where: Path, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=where,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=120,
        )

    def run(self) -> dict:
        (file,) = self.reports.glob("*/run.json")
        return json.loads(file.read_text())

    def assert_nothing_left(self, where: Path) -> None:
        assert list(self.temporary.iterdir()) == []
        assert len(git(where, "worktree", "list").splitlines()) == 1
        assert not processes_with(str(self.temporary))


def processes_with(text: str) -> list[int]:
    """Processes whose environment holds ``text``."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.fixture
def harness(tmp_path):
    return Harness(tmp_path / "harness")


BEFORE = {
    "NAMES": [
        *(
            "steady",
            "slower",
            "faster",
            "prints",
            "wrong-then",
            "wrong-now",
            "reshaped",
            "reseeded",
        ),
        *("dies-then", "raises-then", "dies-now", "starves", "gone", "last"),
    ],
    "REPEATS": {"faster": 4},
    "FACTORS": {"wrong-then": 3},
    "DYING": ["dies-then"],
    "RAISING": ["raises-then"],
}
AFTER = {
    "NAMES": [*BEFORE["NAMES"][:-2], "new", "raises-now", "last"],
    "REPEATS": {"slower": 4},
    "FACTORS": {"wrong-now": 3},
    "SIZES": {"reshaped": "many"},
    "SHIFTS": {"reseeded": 1},
    "DYING": ["dies-now", "starves"],
    "RAISING": ["raises-now"],
}


BAD = """
import perf


class Bad(perf.Perf):
    name = "bad"

    def cases(self):
        return [perf.Case("bad")]


BAD = Bad()
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """One comparison in which everything happens at once."""
    folder = tmp_path_factory.mktemp("compared")
    where = repository(folder / "repository", perf=PERF, ops=ops(**BEFORE), bad="def double(:")
    write(where, ops=ops(**AFTER), bad=BAD)
    harness = Harness(folder / "harness")
    done = harness.compare(where, "--against", "main", "perf:PERF", "bad:BAD/bad", *QUICK)
    assert "Traceback" not in done.stderr
    return harness, where, done


def results_of(run, case):
    (verdict,) = [verdict for verdict in run["verdicts"] if verdict["case"] == case]
    return {result["check"]: result for result in verdict["checks"]}


@pytest.mark.parametrize(
    ("case", "check", "outcome", "says"),
    [
        ("slower", "throughput", "failed", "regressed: "),
        ("faster", "throughput", "passed", "improved: "),
        ("wrong-now", "values", "failed", "y"),
        ("wrong-then", "values", "passed", "y"),
        ("reshaped", "throughput", "inconclusive", "n is many now and 20000 at main @ "),
        ("reseeded", "throughput", "inconclusive", "input x is float32[20000]"),
        ("dies-then", "run", "inconclusive", "was ended by SIGABRT"),
        ("raises-then", "run", "inconclusive", "main @ "),
        ("raises-now", "throughput", "skipped", "has no case 'raises-now'"),
        ("dies-now", "run", "failed", "was ended by SIGABRT: about to end"),
        ("starves", "run", "inconclusive", "memory runs out"),
        ("bad", "run", "inconclusive", "SyntaxError"),
        ("new", "throughput", "skipped", "has no case 'new'"),
    ],
)
def test_each_case_gets_its_own_answer(compared, case, check, outcome, says):
    result = results_of(compared[0].run(), case)[check]
    assert result["outcome"] == outcome
    assert says in result["summary"]


@pytest.mark.parametrize("case", ["steady", "prints", "last"])
def test_unchanged_code_is_timed_on_both_sides_and_never_fails(compared, case):
    results = results_of(compared[0].run(), case)
    assert results["throughput"]["outcome"] in ("passed", "inconclusive")
    assert results["values"]["outcome"] == "passed"


def test_a_regression_decides_the_exit_status(compared):
    assert compared[2].returncode == 1


def test_nothing_is_left_behind(compared):
    harness, where, _ = compared
    harness.assert_nothing_left(where)


def test_the_report_says_what_was_compared_with_what(compared):
    run = compared[0].run()
    assert run["baseline"].startswith("main @ ")
    assert run["baseline"].endswith(" (git worktree)")
    assert run["environment"]["dirty"] is True
    notes = "\n".join(run["notes"])
    assert "with 2 uncommitted changes, with main @ " in notes
    assert "cases of perf that main @ " in notes
    assert "has not: gone" in notes


def test_pairs_are_stored_with_the_process_each_comes_from(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    write(where, ops=ops(REPEATS={"steady": 4}))
    done = harness.compare(where, "--against", "main", "perf:PERF", *SEVERAL)
    assert " of 3" not in done.stderr  # how many there will be is not known before
    (verdict,) = harness.run()["verdicts"]
    sample = verdict["sample"]
    assert len(sample["call_ns"]) == len(sample["peer_ns"])
    assert len(sample["process_starts"]) == 3
    result = results_of(harness.run(), "steady")["throughput"]
    assert result["outcome"] == "failed"
    design = f"{len(sample['call_ns'])} pair ratios, 3 processes, order and layout random"
    assert design in result["evidence"]
    assert "paired with main @ " in result["evidence"]


def test_a_baseline_that_is_wrong_is_said_to_be(compared):
    details = results_of(compared[0].run(), "wrong-then")["throughput"]["details"]
    assert any("values failed: " in detail and "main @ " in detail for detail in details)


def test_progress_goes_to_standard_error_with_the_time_left(compared):
    lines = compared[2].stderr.splitlines()
    assert lines[0].startswith("[1/")
    assert "perf/steady, about " in lines[0]
    assert lines[0].endswith(" s left")
    assert len({line.partition("/")[2].partition("]")[0] for line in lines if "[" in line}) == 1


def test_the_same_code_on_both_sides_never_fails_and_is_said_to_be_the_same(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    done = harness.compare(where, "--against", "HEAD", "perf:PERF", "--json", "-", *QUICK)
    assert done.returncode in (0, 4)
    assert any("the same code on both sides" in note for note in json.loads(done.stdout)["notes"])
    assert "report  " in done.stderr


def test_a_package_found_through_an_absolute_path_is_taken_from_the_ref(harness, tmp_path):
    """More work is seen only if the two sides run different code."""
    where = repository(tmp_path / "repository", bench__perf=PERF, src__ops=ops())
    write(where, src__ops=ops(REPEATS={"steady": 4}))
    done = harness.compare(
        where, "--against", "main", "bench.perf:PERF", *QUICK, PYTHONPATH=with_path(where / "src")
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "regressed" in done.stdout


def with_path(folder: Path) -> str:
    """An import path that begins with ``folder`` and goes on as this process's."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_a_package_that_moved_since_the_ref_is_found_there(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    (where / "src").mkdir()
    git(where, "mv", "perf.py", "ops.py", "src")
    write(where, src__ops=ops(REPEATS={"steady": 4}))
    done = harness.compare(where / "src", "--against", "main", "perf:PERF", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr


def test_code_of_the_working_tree_on_the_ref_side_is_refused(harness, tmp_path):
    """Else both sides would run the same code, and every comparison would pass."""
    where = tmp_path / "repository"
    force = f"import sys\nsys.path.insert(0, {str(where / 'lib')!r})\n"
    repository(where, perf=force + PERF, lib__ops=ops())
    write(where, lib__ops=ops(REPEATS={"steady": 4}))
    done = harness.compare(where, "--against", "main", "perf:PERF", *QUICK)
    assert done.returncode == 2
    assert f"ops was imported from {where / 'lib' / 'ops.py'}, not from main @ " in done.stderr
    assert "--import-path" in done.stderr
    harness.assert_nothing_left(where)


def test_compiled_code_that_the_commit_does_not_hold_is_refused(harness, tmp_path):
    """Else the ref would run without it, or with whatever it falls back to."""
    built = Path(importlib.import_module("_lsprof").__file__)
    where = repository(tmp_path / "repository", perf=PERF, ops="import _lsprof\n" + ops())
    shutil.copy(built, where)  # a copy beside the op comes before the interpreter's own
    done = harness.compare(where, "--against", "main", "perf:PERF", *QUICK)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{built.name} is compiled, and the commit main @ " in done.stderr


def test_code_that_is_not_in_the_repository_is_refused(harness, tmp_path):
    where = repository(tmp_path / "repository", other="")
    write(tmp_path / "elsewhere", perf=PERF, ops=ops())
    done = harness.compare(
        where,
        "--against",
        "main",
        "perf:PERF",
        *QUICK,
        PYTHONPATH=with_path(tmp_path / "elsewhere"),
    )
    assert done.returncode == 2, done.stdout
    assert "is not in the repository" in done.stderr


def test_a_workload_the_ref_lacks_is_new_and_a_run_of_nothing_else_is_inconclusive(
    harness, tmp_path
):
    where = repository(tmp_path / "repository", ops=ops())
    write(where, perf=PERF)
    done = harness.compare(where, "--against", "main", "perf:PERF", *QUICK)
    assert done.returncode == 4
    assert "no file of it holds perf" in done.stdout
    assert "nothing was compared with main @ " in done.stdout


def test_a_side_that_hangs_is_waited_for_only_so_long(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops(NAMES=["hangs", "steady"]))
    write(where, ops=ops(NAMES=["hangs", "steady"], HANGING=["hangs"]))
    done = harness.compare(where, "--against", "main", "perf:PERF", *QUICK, "--patience", "3")
    assert done.returncode == 4
    results = results_of(harness.run(), "hangs")
    summary = results["run"]["summary"]
    assert "did not answer within 3.00 s when asked to verify: it hangs at " in summary
    assert "ops.py:" in summary
    assert "throughput" in results_of(harness.run(), "steady")
    harness.assert_nothing_left(where)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--against", "mian"), "did you mean main?"),
        (("--against", "HEAD:ops.py"), "has no commit 'HEAD:ops.py'"),
        (("--against=-x",), "'-x' cannot be a ref"),
        (
            ("--against", "main", "--import-path", "no/such"),
            "--import-path no/such is no folder of",
        ),
        (("--against", "main", "--python", "/no/such/python"), "No such file or directory"),
        (("--against", "main", "--python", "/bin/false"), "cannot run the harness"),
        (("--against", "main", "--device", "simulated"), "says nothing about code"),
        (("--against", "main", "--find", "1%"), "more than 1.0%"),
        (("--against", "peer", "--device", "simulated"), "is host code"),
    ],
)
def test_a_wrong_request_is_refused_in_a_line(harness, tmp_path, arguments, says):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    done = harness.compare(where, "perf:PERF", *QUICK, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    harness.assert_nothing_left(where)


def test_a_folder_without_a_repository_is_refused(harness, tmp_path):
    write(tmp_path / "plain", perf=PERF, ops=ops())
    done = harness.compare(tmp_path / "plain", "--against", "main", "perf:PERF")
    assert done.returncode == 2
    assert "is not in a git repository" in done.stderr


def test_a_shallow_clone_is_told_how_to_get_the_ref(harness, tmp_path):
    origin = repository(tmp_path / "origin", perf=PERF, ops=ops())
    git(origin, "branch", "base")
    write(origin, ops=ops(REPEATS={"steady": 1}))
    git(origin, "commit", "-aqm", "after")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "clone")
    done = harness.compare(tmp_path / "clone", "--against", "origin/base", "perf:PERF")
    assert done.returncode == 2
    _, _, step = done.stderr.strip().partition("; get it with: git ")
    assert step == "fetch --depth 1 origin base:refs/remotes/origin/base"
    git(tmp_path / "clone", *step.split())
    done = harness.compare(tmp_path / "clone", "--against", "origin/base", "perf:PERF", *QUICK)
    assert done.returncode in (0, 1, 4)
    assert "origin/base @ " in done.stdout


def test_a_full_disk_is_said_to_be_full(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    real = subprocess.run(
        ["which", "git"], capture_output=True, text=True, check=True
    ).stdout.strip()
    full = tmp_path / "bin" / "git"
    full.parent.mkdir()
    full.write_text(
        "#!/bin/sh\n"
        'case "$*" in *"worktree add"*) echo "fatal: write error: No space left on device" >&2; exit 128;; esac\n'
        f'exec {real} "$@"\n'
    )
    full.chmod(0o755)
    done = harness.compare(
        where,
        "--against",
        "main",
        "perf:PERF",
        PATH=f"{full.parent}{os.pathsep}{os.environ['PATH']}",
    )
    assert done.returncode == 2
    assert "No space left on device; free space there, or set TMPDIR" in done.stderr
    harness.assert_nothing_left(where)


def started(harness: Harness, where: Path) -> subprocess.Popen[str]:
    """A long comparison that has begun to time."""
    process = subprocess.Popen(
        harness.command("--against", "main", "perf:PERF", "--seconds", "60", "--margin", "0.01%"),
        cwd=where,
        env=harness.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wanted = 2  # itself and the process that holds both versions
    for _ in range(200):
        if len(processes_with(str(harness.temporary))) >= wanted:
            break
        time.sleep(0.05)
    time.sleep(0.5)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_being_stopped_leaves_nothing_behind_but_the_report(harness, tmp_path, number):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    process = started(harness, where)
    process.send_signal(number)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, output + errors
    assert "interrupted" in output
    assert "Traceback" not in errors
    assert harness.run()["checks"][0]["check"] == "interrupted"
    harness.assert_nothing_left(where)


def test_what_a_killed_comparison_left_is_removed_by_the_next(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    process = started(harness, where)
    process.kill()
    process.communicate(timeout=120)
    assert len(git(where, "worktree", "list").splitlines()) == 2
    harness.compare(where, "--against", "main", "perf:PERF", *QUICK)
    harness.assert_nothing_left(where)


def test_a_comparison_that_is_running_is_left_alone_by_another(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    process = started(harness, where)
    try:
        done = Harness(tmp_path / "other").compare(where, "--against", "main", "perf:PERF", *QUICK)
        assert done.returncode in (0, 4)
        assert process.poll() is None
        assert len(git(where, "worktree", "list").splitlines()) == 2
    finally:
        process.terminate()
        process.communicate(timeout=120)


def test_another_interpreter_runs_what_is_installed_there(harness, tmp_path):
    """The ref installed into a folder of its own, as a wheel would be."""
    where = repository(tmp_path / "repository", perf=PERF, ops=ops(REPEATS={"steady": 4}))
    write(tmp_path / "installed", perf=PERF, ops=ops())
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={with_path(tmp_path / "installed")} exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    done = harness.compare(where, "--against", "main", "perf:PERF", *QUICK, "--python", str(python))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "regressed" in done.stdout


def test_a_frozen_peer_is_compared_with_in_one_process(harness, tmp_path):
    where = tmp_path / "plain"
    write(where, perf=PERF, ops=ops(NAMES=["steady", "slower"], REPEATS={"slower": 8}))
    done = harness.compare(where, "--against", "peer", "perf:PERF", "--seconds", "0.6")
    assert done.returncode == 1, done.stdout + done.stderr
    run = harness.run()
    assert results_of(run, "slower")["throughput"]["summary"].startswith("regressed: ")
    assert "1 process," in results_of(run, "slower")["throughput"]["evidence"]


def test_without_a_frozen_peer_nothing_can_be_said(harness, tmp_path):
    where = tmp_path / "plain"
    write(where, perf=PERF.replace("def peer", "def other"), ops=ops())
    done = harness.compare(where, "--against", "peer", "perf:PERF", *QUICK)
    assert done.returncode == 4
    assert "perf/steady has no frozen peer" in done.stdout


def test_versions_that_cannot_share_a_process_get_one_each(harness, tmp_path):
    """As a package does that registers its ops with a framework, which takes every name once."""
    registers = "\nimport sys\nassert not hasattr(sys, 'registered'), 'registered twice'\nsys.registered = True\n"
    where = repository(tmp_path / "repository", perf=PERF, ops=ops() + registers)
    done = harness.compare(where, "--against", "main", "perf:PERF", *SEVERAL)
    assert done.returncode in (0, 4), done.stderr
    assert "process pairs, order" in results_of(harness.run(), "steady")["throughput"]["evidence"]


def test_a_comparison_cannot_be_saved_as_a_baseline(harness, tmp_path):
    where = repository(tmp_path / "repository", perf=PERF, ops=ops())
    harness.compare(where, "--against", "main", "perf:PERF", *QUICK)
    (file,) = harness.reports.glob("*/run.json")
    command = [sys.executable, "-m", "harness", "baseline", "save", "main", str(file)]
    done = subprocess.run(command, cwd=where, capture_output=True, text=True)
    assert done.returncode == 2
    assert "compared with main @ " in done.stderr
    assert not (where / "baselines").exists()


@pytest.mark.parametrize("where_it_leaves", ["import", "inputs", "oracle", "run"])
def test_code_that_leaves_with_status_0_fails_and_the_others_are_compared(
    harness, tmp_path, where_it_leaves
):
    """In the command's own process it would end the command as if all were well."""
    leaves = "import os; os._exit(0)\n"
    other = PERF.replace('name = "perf"', 'name = "other"')
    body = {
        "import": leaves + other,
        "inputs": other.replace("        chance =", f"        {leaves}        chance ="),
        "oracle": other.replace(
            '        return {"y": np.as', f'        {leaves}        return {{"y": np.as'
        ),
        "run": other.replace(
            '        return {"y": ops.double(inputs["x"], self',
            f'        {leaves}        return {{"y": ops.double(inputs["x"], self',
        ),
    }[where_it_leaves]
    assert leaves in body
    where = repository(tmp_path / "repository", perf=PERF, other=other, ops=ops())
    write(where, other=body)
    done = harness.compare(where, "--against", "main", "other:PERF", "perf:PERF", *QUICK)
    assert done.returncode == 1, done.stdout + done.stderr
    found = {verdict["workload"]: verdict for verdict in harness.run()["verdicts"]}
    (end,) = [
        check
        for name, verdict in found.items()
        for check in verdict["checks"]
        if name != "perf" and check["check"] == "run"
    ]
    assert end["outcome"] == "failed"
    assert "status 0" in end["summary"]
    assert found["perf"]["sample"] is not None
    harness.assert_nothing_left(where)
