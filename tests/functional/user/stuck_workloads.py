"""Workloads that never come back or take their process along, and what each of them would be without its defect."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from user_workloads import Double, One

C = ctypes.CDLL(None)
WITH_GIL = ctypes.PyDLL(None)


def deaf():
    """No signal is heard from now on in this thread."""
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))


class Loops(Double):
    def double(self, x):
        while True:
            time.sleep(0.01)


class WaitsInC(Double):
    """As a thread in cudaStreamSynchronize: in C, without the GIL, deaf to signals."""

    def double(self, x):
        deaf()
        C.pause()


class KeepsTheGil(Double):
    def double(self, x):
        deaf()
        WITH_GIL.pause()


class Deadlocks(Double):
    def double(self, x):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()  # for ever


class Insists(Double):
    def double(self, x):
        while True:
            try:
                time.sleep(60)
            except BaseException:  # noqa: BLE001, S112 - the defect
                continue


class StartsAndWaits(Double):
    """Leaves its process's number, and that of what it has started, in a file."""

    def double(self, x):
        started = subprocess.Popen(["sleep", "60"])
        Path(os.environ["NUMBERS"]).write_text(f"{os.getpid()} {started.pid}")
        started.wait()


class HangsWhenTimed(Double):
    calls = 0

    def run(self, inputs, region):
        HangsWhenTimed.calls += 1
        if HangsWhenTimed.calls > 8:  # six watched calls on the simulated device, two on the CPU
            time.sleep(60)
        return super().run(inputs, region)


class Crashes(Double):
    def double(self, x):
        os.kill(os.getpid(), signal.SIGSEGV)


class Leaves(Double):
    def double(self, x):
        os._exit(0)


class IsKilled(Double):
    def double(self, x):
        os.kill(os.getpid(), signal.SIGKILL)


class Forks(Double):
    """Its child comes out of the case too, and must not tell a second story."""

    def double(self, x):
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
        return x * 2


class WritesEverywhere(Double):
    def double(self, x):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"\xff" * 8)
            except OSError:
                continue
        time.sleep(60)


class Interrupts(Double):
    def double(self, x):
        raise KeyboardInterrupt


class Prints(Double):
    def double(self, x):
        print("printed by the op")  # noqa: T201 - on purpose
        return x * 2


class PrintsAndLeaves(Double):
    def double(self, x):
        print("last words", flush=True)  # noqa: T201 - on purpose
        os._exit(1)


class _Timed:
    """Beside a frozen peer, so that every command that times takes it."""

    def peer(self, inputs, region):
        return {"y": inputs["x"] * 2}


class Timed(_Timed, Double):
    pass


class TimedLeaves(_Timed, Leaves):
    pass


class TimedCrashes(_Timed, Crashes):
    pass


class TimedLoops(_Timed, Loops):
    pass


TIMED = One(Timed(), name="timed")
ALSO_TIMED = One(Timed(), name="also_timed")
TIMED_LEAVES = One(TimedLeaves(), name="timed_leaves")
TIMED_CRASHES = One(TimedCrashes(), name="timed_crashes")
TIMED_LOOPS = One(TimedLoops(), name="timed_loops")
LOOPS = One(Loops(), name="loops")
WAITS_IN_C = One(WaitsInC(), name="waits_in_c")
KEEPS_THE_GIL = One(KeepsTheGil(), name="keeps_the_gil")
DEADLOCKS = One(Deadlocks(), name="deadlocks")
INSISTS = One(Insists(), name="insists")
STARTS_AND_WAITS = One(StartsAndWaits(), name="starts_and_waits")
HANGS_WHEN_TIMED = One(HangsWhenTimed(), name="hangs_when_timed")
CRASHES = One(Crashes(), name="crashes")
LEAVES = One(Leaves(), name="leaves")
IS_KILLED = One(IsKilled(), name="is_killed")
FORKS = One(Forks(), name="forks")
WRITES_EVERYWHERE = One(WritesEverywhere(), name="writes_everywhere")
INTERRUPTS = One(Interrupts(), name="interrupts")
PRINTS = One(Prints(), name="prints")
PRINTS_AND_LEAVES = One(PrintsAndLeaves(), name="prints_and_leaves")
FIXED = One(Double(), name="fixed")


class _NeverListed:
    name, summary = "never_listed", "its cases() never returns"

    def cases(self):
        time.sleep(60)


NEVER_LISTED = _NeverListed()


def __getattr__(name):
    if name == "DIES_WHEN_LOADED":
        sys.stdout.flush()
        os._exit(7)
    raise AttributeError(name)
