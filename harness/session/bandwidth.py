"""The copy bandwidth around a timed run: the roof of its throughput, and a canary for a slow machine."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from harness.benchmark.bandwidth import copy_size_bytes, measure_copy
from harness.devices.base import Device
from harness.devices.cuda_faults import DeviceFaultError
from harness.environment.cache import last_level_cache_bytes
from harness.errors import UnavailableError, WorkloadError
from harness.model.measurement import CopyBandwidth, CopyRate, rates_of
from harness.model.verdict import Verdict
from harness.session.foreign import foreign
from harness.units import percent_text, rate_text

__all__ = ["SOFT_FACT", "BandwidthMeter", "canary", "soft_fact", "with_rates"]

SOFT_FACT = "timing.copy_bandwidth"
"""The fact by which a baseline knows how fast its machine copied; it explains and forbids nothing."""

_SLOWER = 0.10
"""Between calm hours of one machine the median copy moved by a few per cent; a neighbour that shares its memory took
a third and more."""

_FACT = re.compile(r"(?P<rate>\d{1,9}) MB/s on (?P<device>\S+)")


class BandwidthMeter:
    """Measures the copy bandwidth of one device, now and again; what hinders it is kept as a sentence."""

    def __init__(self, device: Device) -> None:
        self._device = device
        cache = last_level_cache_bytes() if device.identity is None else None
        self.size_bytes = copy_size_bytes(cache)
        self.rates: list[CopyRate] = []
        self.problem = ""

    def measure(self) -> None:
        """Copy for a tenth of a second, 0.3 s with making the buffers; nothing here fails a run."""
        if self.problem:
            return
        device = self._device
        try:
            with foreign(f"copying within {device.name}"):
                copy = device.copier(self.size_bytes)
                self.rates.append(measure_copy(copy, self.size_bytes, timer=device.timer()))
        except (DeviceFaultError, MemoryError, UnavailableError, WorkloadError) as error:
            self.problem = f"the copy bandwidth of {device.name} was not measured: {error}"

    @property
    def result(self) -> CopyBandwidth | None:
        """What was measured first and last."""
        if not self.rates:
            return None
        return CopyBandwidth(
            device=self._device.name,
            size_bytes=self.size_bytes,
            before=self.rates[0],
            after=self.rates[-1] if len(self.rates) > 1 else None,
        )


def soft_fact(copy: CopyBandwidth) -> Mapping[str, str]:
    """The fact a baseline keeps: ``9876 MB/s on cpu``, the lower median of the run."""
    if not 0 < copy.usual < math.inf:
        return {}
    return {SOFT_FACT: f"{copy.usual / 1e6:.0f} MB/s on {copy.device}"}


def canary(copy: CopyBandwidth, then: Mapping[str, str]) -> Iterator[str]:
    """What to say beside a comparison of speed with the soft facts ``then``: at most one sentence.

    It says that one of the two sides was taken on a slow machine. It changes no number and no outcome: a copy is not
    slowed as an op is.
    """
    found = _FACT.fullmatch(then.get(SOFT_FACT, ""))
    if found is None or found["device"] != copy.device or not int(found["rate"]):
        return
    before = int(found["rate"]) * 1e6
    change = copy.usual / before - 1
    rates = (
        f"memory copies ran at {rate_text(copy.usual, 'B')} now and {rate_text(before, 'B')} then"
    )
    if change < -_SLOWER:
        yield f"the machine was slow now: {rates} ({percent_text(change, signed=True)}); no number was corrected"
    elif 1 / (1 + change) - 1 < -_SLOWER:
        yield f"the machine was slow then: {rates} ({percent_text(change, signed=True)}); no number was corrected"


def with_rates(verdict: Verdict, copy: CopyBandwidth | None) -> Verdict:
    """The verdict with its throughput per second, also as a fraction of the copy bandwidth of its device."""
    rates = rates_of(verdict.throughput, verdict.call_time, copy, device=verdict.timing_device)
    return replace(verdict, rates=rates)
