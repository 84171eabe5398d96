"""How many rows of the large op to call again, for it to take a wished share more time on this machine, now.

The second call finds more in the cache than the first, by how much depends on the machine and on who shares it. So the
time is measured for several numbers of rows, beside that without any, and a line is laid through.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Mapping, Sequence

import numpy as np
from rounds import Peer, measure
from verdict_ops import LARGE, OpCase

_ROWS = (0, 60, 120, 200)
"""Of 4096: about 0, 2, 3.5 and 6 %."""

_PROCESSES, _SECONDS = 8, 5.0
"""A process lays its buffers once, which biases its ratios by some 0.5 %: of eight their median is sure to 0.2 %."""


def extra_rows(shares: Sequence[float], *, seed: int) -> Mapping[float, int]:
    """Rows by share of time; 0 for none. Takes 40 s where any share is wished for."""
    if not any(shares):
        return dict.fromkeys(shares, 0)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        found = pool.map(_shares, range(seed, seed + _PROCESSES), chunksize=1)
    slope, start = np.polyfit(_ROWS[1:], np.median(found, axis=0), 1)
    return {share: round((share - start) / slope) if share else 0 for share in shares}


def _shares(seed: int) -> list[float]:
    """The extra time of each number of rows, as a share, in a process of its own."""
    case = OpCase(name=LARGE)
    values, labels = case.inputs(seed).values()
    peers = [
        Peer(str(rows), lambda rows=rows: case.work(values, labels, more=rows)) for rows in _ROWS
    ]
    measure(peers, rounds=3, seed=seed)
    for peer in peers:
        peer.times_s.clear()
    until = time.perf_counter() + _SECONDS
    while time.perf_counter() < until:
        measure(peers, rounds=10, seed=seed + len(peers[0].times_s))
    base, *others = (np.array(peer.times_s) for peer in peers)
    return [float(np.median(other / base)) - 1 for other in others]
