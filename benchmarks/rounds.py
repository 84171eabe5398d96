"""Rounds in which every peer is timed once, and what they are printed with."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np

Call = Callable[[], object]


@dataclass
class Peer:
    """One way to do it: ``times_s`` of its calls, in the order of the rounds."""

    name: str
    call: Call
    times_s: list[float] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        """Half of the calls took no longer."""
        return float(np.median(self.times_s))


def measure(peers: Sequence[Peer], *, rounds: int, seed: int) -> None:
    """Time each peer once a round, in an order that is drawn anew."""
    order = np.random.default_rng(seed)
    for _ in range(rounds):
        for i in order.permutation(len(peers)):
            start = time.perf_counter()
            peers[i].call()
            peers[i].times_s.append(time.perf_counter() - start)


def ratio(upper: Peer, lower: Peer) -> str:
    """The median over rounds, in each of which the machine was the same to both; and that of the fastest calls."""
    by_round = np.array(upper.times_s) / np.array(lower.times_s)
    return f"{np.median(by_round):.2f} [{min(upper.times_s) / min(lower.times_s):.2f}]"


def spread(peer: Peer) -> str:
    """The 10th and 90th percentile around the median, and the number of calls."""
    low, high = np.percentile(peer.times_s, (10, 90)) / peer.median_s
    return f"{low - 1:+.0%} {high - 1:+.0%} ({len(peer.times_s)})"


def say(line: str = "") -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def machine() -> str:
    """The date, the processor, and how many there are."""
    return f"{time.strftime('%Y-%m-%d')}, {_processor()}, {os.cpu_count()} processors"


def versions(*modules: str) -> str:
    """Python's, and that of every module or that it is missing."""
    found = [f"Python {platform.python_version()}"]
    for name in modules:
        try:
            found.append(f"{name} {import_module(name).__version__}")
        except ImportError:
            found.append(f"no {name}")
    return ", ".join(found)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            facts = dict(line.split(":", 1) for line in lines if ":" in line)
        return " ".join(facts.get("model name\t", platform.processor()).split())
    except OSError:
        return platform.processor()
