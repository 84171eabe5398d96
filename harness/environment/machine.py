"""The environment of this run: what must agree before it is compared, and what explains the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.environment.facts import FactSource, git_state, hard_facts, soft_facts
from harness.environment.readings import Readings, read
from harness.model.environment import Environment

__all__ = ["environment", "fingerprint"]


def fingerprint(
    devices: Sequence[str],
    *,
    repository: Path | None = None,
    more: Sequence[FactSource] = (),
) -> Environment:
    """Facts about this machine, the interpreter and the code under test.

    ``devices`` are the names the run uses (``["simulated", "cpu"]``), ``repository`` any folder of the code
    under test (default: the working directory). Each of ``more`` adds facts of its own, as a GPU's driver
    does, and wins where a name repeats. A fact this machine does not give has no key; nothing raises for
    it. Costs under 50 ms once NumPy is imported (see ``harness.environment.readings.read``).
    """
    return environment(read(repository), devices, more=more)


def environment(
    readings: Readings, devices: Sequence[str], *, more: Sequence[FactSource] = ()
) -> Environment:
    """The environment these readings describe; pure but for what ``more`` does."""
    hard, soft = hard_facts(readings, devices), soft_facts(readings)
    for source in more:
        facts = source(devices)
        hard.update(facts.hard)
        soft.update(facts.soft)
    commit, dirty = git_state(readings.git)
    return Environment(hard=hard, soft=soft, commit=commit, dirty=dirty)
