"""A noisy neighbour: copies memory in bursts of random length, as another job on a shared machine does."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_COPIED_BYTES = 32 << 20
"""Beyond any last-level cache share, so that what it takes is memory bandwidth."""

_BURST_S = (0.05, 1.5)


@contextmanager
def bursty_neighbour(*, seed: int) -> Iterator[None]:
    """Keep a neighbour at work in a process of its own while the block runs."""
    process = subprocess.Popen([sys.executable, __file__, str(seed)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def disturb(chance: random.Random) -> None:
    """Copy and rest by turns, for ever."""
    source = np.ones(_COPIED_BYTES, dtype=np.uint8)
    target = np.empty_like(source)
    while True:
        ends = time.perf_counter() + chance.uniform(*_BURST_S)
        while time.perf_counter() < ends:
            np.copyto(target, source)
        time.sleep(chance.uniform(*_BURST_S))


if __name__ == "__main__":
    disturb(random.Random(int(sys.argv[1])))
