"""A device belongs to the process that used it first: a forked child has none, a spawned one its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")

_ROOT = Path(__file__).parents[5]
_START = """
import os, sys, threading
from harness.probes.simulated import SimulatedProbe, launch, namespace as xp

def in_a_child(action):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            answer = action()
        except RuntimeError as error:
            answer = f"RuntimeError: {error}"
        print(answer, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def run(body: str) -> list[str]:
    """Lines printed by a fresh process, in which nothing has used the device yet."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _START + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=_ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_USES = """
float(a.sum())
a.get()
a.tolist()
str(a)
a + 1
a.__setitem__(0, 1.0)
a.fill(2)
a[a > 0]
xp.zeros(3)
xp.asarray([1.0, 2.0])
launch(lambda x: None, a)
xp.cuda.Stream.null.synchronize()
pickle.dumps(a)
"""


def test_a_forked_child_cannot_use_the_device_of_its_parent() -> None:
    uses = _USES.split("\n")[1:-1]
    lines = run(f"""
        import pickle
        a = xp.ones(3)
        for use in {uses}:
            in_a_child(lambda: eval(use))
        in_a_child(lambda: (a.shape, a.dtype.name, a[1:].size))
        print(float(a.sum()))
    """)
    assert lines[-2:] == ["((3,), 'float64', 2)", "3.0"]
    assert len(lines) == len(uses) + 2
    for line in lines[:-2]:
        assert line.startswith("RuntimeError: cudaErrorInitializationError: initialization error")
        assert "get_context('spawn')" in line
        assert " at <string>:1 " in line


def test_a_read_in_a_forked_worker_fails_instead_of_counting_nothing() -> None:
    lines = run("""
        import multiprocessing
        a = xp.ones(3)

        def read(_):
            return float(a.sum())

        with SimulatedProbe().record() as recording:
            with multiprocessing.get_context("fork").Pool(1) as pool:
                try:
                    pool.map(read, [0])
                except RuntimeError as error:
                    print(error)
    """)
    assert len(lines) == 1
    assert "does not survive a fork" in lines[0]


def test_an_uninitialised_array_is_a_use_too() -> None:
    lines = run("""
        a = xp.empty(3)
        in_a_child(lambda: a.fill(1))
    """)
    assert lines[0].startswith("RuntimeError: cudaErrorInitializationError")


def test_a_process_forked_before_the_device_was_used_has_a_device() -> None:
    assert run("""
        in_a_child(lambda: float(xp.ones(3).sum()))
        print(float(xp.ones(3).sum()))
    """) == ["3.0", "3.0"]


def test_the_child_of_a_child_has_no_device_either() -> None:
    lines = run("""
        a = xp.ones(3)
        in_a_child(lambda: in_a_child(lambda: a.get()))
    """)
    assert lines[0].startswith("RuntimeError: cudaErrorInitializationError")


def test_a_child_does_not_wait_for_a_thread_it_does_not_have() -> None:
    lines = run("""
        from harness.probes.simulated import boundary

        held, done = threading.Event(), threading.Event()

        def hold():
            with boundary._order:
                held.set()
                done.wait(10)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(10)
        in_a_child(lambda: float(xp.ones(2).sum()))
        done.set()
        thread.join()
    """)
    assert lines == ["2.0"]


def test_a_spawned_process_gets_arrays_pickled_which_is_counted_here(tmp_path: Path) -> None:
    script = tmp_path / "spawning.py"
    script.write_text(
        textwrap.dedent("""
            import multiprocessing
            from harness.probes.simulated import SimulatedProbe, namespace as xp

            def total(a):
                return float(a.sum())

            if __name__ == "__main__":
                a = xp.ones(3, "float32")
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    with SimulatedProbe().record() as recording:
                        print(pool.map(total, [a]))
                counts = recording.trace().counts()
                print(counts.d2h, counts.d2h_bytes, counts.syncs)
        """),
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        check=False,
    )
    assert done.stdout.splitlines() == ["[3.0]", "1 12 1"], done.stderr
