"""What one step takes in memory: measured in a process of its own for every peer and batch.

Between a step and the next the heap is handed back (glibc's ``malloc_trim``), and the high-water mark of resident memory
is set back to what is resident. What a step adds to that is the peak of everything it allocates, whoever allocates it, at
a step in which parameters, momentum and the libraries' own buffers are there already. Then the step's page faults are
counted over further steps, between which nothing is handed back by us. Linux only.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import subprocess
import sys
import tracemalloc
from dataclasses import asdict, dataclass
from pathlib import Path

from training_steps import Device, Program, Step, programs

_FAULT_STEPS = 5


@dataclass(frozen=True)
class Memory:
    """Peaks of one step, above what was there before it, and the pages it touched first.

    ``traced_bytes``: what tracemalloc saw, NumPy's arrays and Python's objects; None for a library that does not tell it.
    """

    resident_bytes: int
    traced_bytes: int | None
    page_faults: float


def memory_of(program: Program, peer: str, batch: int, *, threads: int, seed: int) -> Memory:
    """Measured in a new process."""
    arguments = [program.name, peer, str(batch), str(threads), str(seed)]
    done = subprocess.run(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True, text=True
    )
    return Memory(**json.loads(done.stdout))


def _measured(name: str, peer: str, batch: int, seed: int) -> Memory:
    program = programs()[name]
    step = (program.ours if peer == "ours" else program.torch)(batch, seed, Device())
    for _ in range(2):
        step()
    resident = _resident_peak(step)
    return Memory(resident, _traced_peak(step) if peer == "ours" else None, _page_faults(step))


def _resident_peak(step: Step) -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    step()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (kibibytes,) = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(kibibytes) * 1024


def _traced_peak(step: Step) -> int:
    tracemalloc.start()
    step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def _page_faults(step: Step) -> float:
    step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(_FAULT_STEPS):
        step()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / _FAULT_STEPS


def _main() -> None:
    name, peer, batch, threads, seed = sys.argv[1:]
    if peer != "ours":
        import torch

        torch.set_num_threads(int(threads))
    found = _measured(name, peer, int(batch), int(seed))
    sys.stdout.write(json.dumps(asdict(found)))


if __name__ == "__main__":
    _main()
