"""The questions only a device answers: each a function that holds what it expects against what it sees.

They are the points the probes' documentation calls not yet confirmed. Two groups, in a process each: what may
hang is in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.devices.cuda_faults import fault_of
from harness.errors import UnavailableError

from . import copies, graphs, losses, memory, threads, waits
from .bench import Bench
from .findings import Notebook

__all__ = ["CHECKLIST", "STRESS", "Item", "run_checklist", "run_items", "run_stress"]

Look = Callable[[Bench, Notebook], None]


@dataclass(frozen=True, slots=True)
class Item:
    """One question, its number in the checklist, and what looks for the answer."""

    number: int
    title: str
    look: Look

    @property
    def label(self) -> str:
        """``2 synchronous copies``."""
        return f"{self.number} {self.title}"


CHECKLIST = (
    Item(1, "reads and uploads", copies.look_at_reads),
    Item(2, "synchronous copies", copies.look_at_synchronous_copies),
    Item(3, "waits", waits.look_at_waits),
    Item(4, "copies of default kind", copies.look_at_default_kind),
    Item(7, "correlation", copies.look_at_correlation),
    Item(8, "lines and threads", threads.look_at_lines),
    Item(9, "fence and control", losses.look_at_fence),
    Item(10, "capture", graphs.look_at_capture),
    Item(10, "graphs", graphs.look_at_launched_graphs),
)

STRESS = (
    Item(5, "allocation under a running kernel", memory.look_at_allocation),
    Item(6, "managed and mapped memory", memory.look_at_shared_memory),
    # Last what may not come back.
    Item(9, "loss is told", losses.look_at_small_buffers),
    Item(8, "no deadlock", threads.look_for_deadlock),
)
"""Item 11, the cost of tracing, is a section of its own."""


def run_checklist(bench: Bench, note: Notebook) -> None:
    """What is over in a moment."""
    run_items(CHECKLIST, bench, note)


def run_stress(bench: Bench, note: Notebook) -> None:
    """What may hang, which ends this process only."""
    run_items(STRESS, bench, note)


def run_items(items: Sequence[Item], bench: Bench, note: Notebook) -> None:
    """Look at each; one that raises is not tried, and after a fault that CUDA keeps neither are the others."""
    gone = ""
    for item in items:
        here = note.about(item.label)
        if gone:
            here.not_tried("all of it", gone)
            continue
        try:
            item.look(bench, here)
        except (UnavailableError, NotImplementedError) as error:
            here.not_tried("the rest of it", str(error))
        except Exception as error:  # noqa: BLE001 - one question must not keep the others from being asked
            here.broke("the rest of it", error)
            fault = fault_of(error)
            if fault is not None and fault.sticky:
                gone = f"the device was gone after item {item.label}: {fault}"
