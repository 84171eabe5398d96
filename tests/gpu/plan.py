"""The sections: what each asks, what runs it, and how long it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .bandwidth import run_bandwidth
from .bench import Bench
from .checklist import run_checklist, run_stress
from .convolution import run_convolution
from .findings import Notebook
from .idioms import run_idioms
from .kernels import run_kernels
from .op_traffic import run_op
from .sensors import run_sensors
from .tracing_cost import run_tracing_cost

__all__ = ["SECTIONS", "TOTAL_S", "WHOLE", "Section", "section_named"]

Run = Callable[[Bench, Notebook, Path], None]

TOTAL_S = 475.0
"""For everything: under eight minutes with what comes before the first section and after the last."""


@dataclass(frozen=True, slots=True)
class Section:
    """One process: its name, its title, the seconds after which it is killed, and what it runs.

    ``run`` is given the bench, a notebook and a folder for files of its own.
    """

    name: str
    title: str
    limit_s: float
    run: Run


def _without_files(run: Callable[[Bench, Notebook], None]) -> Run:
    return lambda bench, note, folder: run(bench, note)


SECTIONS = (
    Section("checklist", "what CUPTI records, item by item", 40, _without_files(run_checklist)),
    Section("op", "the op before and after its fix, by harness run", 90, run_op),
    Section("idioms", "CuPy's idioms against the simulated device", 85, _without_files(run_idioms)),
    Section("kernels", "the fused kernels against the oracle", 65, _without_files(run_kernels)),
    Section(
        "convolution", "cuDNN's convolutions beside columns", 40, _without_files(run_convolution)
    ),
    Section("tracing", "what tracing costs", 25, _without_files(run_tracing_cost)),
    Section("sensors", "NVML's readings", 15, run_sensors),
    Section("bandwidth", "speed beside the device's own copying", 65, run_bandwidth),
    Section("stress", "what may hang or lose records", 25, _without_files(run_stress)),
)
"""In the order in which one would want them if time ran out. Their limits add up to less than ``TOTAL_S``."""

WHOLE = frozenset({"checklist", "op", "stress"})
"""Sections of which a part that was not tried leaves the check inconclusive."""


def section_named(name: str) -> Section:
    """The section of this name; ``KeyError`` for another."""
    return {section.name: section for section in SECTIONS}[name]
