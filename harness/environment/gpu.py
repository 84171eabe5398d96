"""From what NVML and CUDA say about a GPU to facts of the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.devices.base import GpuIdentity
from harness.environment.facts import Facts

__all__ = ["GpuReadings", "mig_profile", "readings_facts"]

_MIG_IN_NAME = re.compile(r"\bMIG (\d+c\.)?(\d+g\.\d+gb\S*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuReadings:
    """What one GPU says about itself; ``None`` or an empty text is what it does not say.

    Clocks in MHz, power in mW, temperature in degrees Celsius. ``missing`` says why NVML said nothing at all.
    """

    identity: GpuIdentity
    missing: str = ""
    uuid: str = ""
    mig: str = ""
    driver: str = ""
    driver_cuda: int | None = None
    vbios: str = ""
    clocks: Mapping[str, int] | None = None
    max_clocks: Mapping[str, int] | None = None
    power_limit: int | None = None
    temperature: int | None = None
    ecc: bool | None = None
    persistence: bool | None = None
    compute_mode: int | None = None
    performance_state: int | None = None
    pcie: tuple[int, int] | None = None
    pcie_max: tuple[int, int] | None = None


_COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
"""``nvmlComputeMode_t``."""


def readings_facts(readings: Sequence[GpuReadings]) -> Facts:
    """The facts of each GPU: ``gpu.name`` of the first, ``gpu.1.name`` of the second, and so on.

    Hard are those that change what code runs or how fast the same clock lets it run; soft is what changes by
    the minute or explains. A fact that is not known has no key.
    """
    hard: dict[str, str] = {}
    soft: dict[str, str] = {}
    for number, reading in enumerate(readings):
        prefix = f"gpu.{number}." if number else "gpu."
        hard |= _prefixed(prefix, _hard(reading))
        soft |= _prefixed(prefix, _soft(reading))
    return Facts(hard=hard, soft=soft)


def mig_profile(name: str, *, memory_mb: int | None = None, slices: int | None = None) -> str:
    """``1g.10gb`` from a name that ends in ``MIG 1g.10gb``, else from slices and memory; empty for neither."""
    found = _MIG_IN_NAME.search(name)
    if found:
        return (found[1] or "") + found[2]
    if memory_mb is None or slices is None:
        return ""
    return f"{slices}g.{round(memory_mb / 1024)}gb"


def _hard(reading: GpuReadings) -> dict[str, str]:
    identity = reading.identity
    return {
        "name": identity.name,
        "compute_capability": identity.compute_capability,
        "cuda_runtime": identity.cuda_runtime,
        "mig_profile": reading.mig or mig_profile(identity.name),
        "driver_branch": reading.driver.partition(".")[0],
    }


def _soft(reading: GpuReadings) -> dict[str, str]:
    facts = {
        "uuid": reading.uuid,
        "pci_bus_id": reading.identity.pci_bus_id,
        "driver": reading.driver,
        "driver_cuda": _cuda_version(reading.driver_cuda),
        "vbios": reading.vbios,
        "power_limit": "" if reading.power_limit is None else f"{reading.power_limit / 1000:g} W",
        "temperature": "" if reading.temperature is None else f"{reading.temperature} C",
        "ecc": _on_off(reading.ecc),
        "persistence": _on_off(reading.persistence),
        "compute_mode": _COMPUTE_MODES.get(reading.compute_mode, "")
        if reading.compute_mode is not None
        else "",
        "performance_state": ""
        if reading.performance_state is None
        else f"P{reading.performance_state}",
        "pcie": _pcie(reading.pcie, reading.pcie_max),
        "nvml": reading.missing,
    }
    for kind, mhz in (reading.clocks or {}).items():
        facts[f"clock.{kind}"] = f"{mhz} MHz"
    for kind, mhz in (reading.max_clocks or {}).items():
        facts[f"clock.{kind}_max"] = f"{mhz} MHz"
    return facts


def _prefixed(prefix: str, facts: Mapping[str, str]) -> dict[str, str]:
    return {prefix + name: value for name, value in sorted(facts.items()) if value}


def _cuda_version(number: int | None) -> str:
    """``13020`` as ``13.2``."""
    return "" if not number else f"{number // 1000}.{number % 1000 // 10}"


def _on_off(state: bool | None) -> str:
    return {True: "on", False: "off", None: ""}[state]


def _pcie(now: tuple[int, int] | None, most: tuple[int, int] | None) -> str:
    """An idle link drops a generation, so what it can do is said beside what it does."""
    if now is None:
        return ""
    text = f"gen {now[0]} x{now[1]}"
    return text if most is None else f"{text} of gen {most[0]} x{most[1]}"
