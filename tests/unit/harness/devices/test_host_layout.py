"""A layout of the host: live blocks of random size, which move what is allocated next."""

import itertools
import random

import numpy as np

from harness.devices.host_layout import change_host_layout


def test_a_layout_is_three_live_blocks_of_one_to_four_mebibytes() -> None:
    blocks = change_host_layout(random.Random(0))
    assert len(blocks) == 3
    assert all(1 << 20 <= block.nbytes <= 4 << 20 for block in blocks)
    starts = sorted((block.ctypes.data, block.nbytes) for block in blocks)
    assert all(start + size <= after for (start, size), (after, _) in itertools.pairwise(starts))
    for number, block in enumerate(blocks):
        block[:] = number  # memory of its own, which can be written
    assert [int(block[-1]) for block in blocks] == [0, 1, 2]


def test_sizes_are_random_and_the_same_again_from_the_same_seed() -> None:
    def sizes(seed: int) -> list[int]:
        chance = random.Random(seed)
        return [block.nbytes for _ in range(20) for block in change_host_layout(chance)]

    assert sizes(1) == sizes(1)
    assert len(set(sizes(1))) == 60
    mean = float(np.mean(sizes(2)))
    assert abs(mean - 2.5 * 2**20) < 0.4 * 2**20


def test_buffers_allocated_behind_a_layout_land_elsewhere() -> None:
    """Not where the last ones did, on most of the moves; an allocator that maps every buffer may reuse a place."""
    chance = random.Random(3)
    places = set()
    for _ in range(30):
        held = change_host_layout(chance)
        buffer = np.empty(3 << 20, np.uint8)
        places.add(buffer.ctypes.data)
        del buffer, held
    assert len(places) > 5
