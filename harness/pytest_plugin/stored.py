"""The baseline of a session: what a file says of each test, and whether it may be compared at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.baseline.codec import decode
from harness.baseline.comparability import difference_text, differences
from harness.baseline.parsing import FORMAT
from harness.errors import FileFormatError, UsageError
from harness.interchange.pytest_benchmark import StoredBenchmark, decode_benchmarks
from harness.model.environment import Environment, FieldDifference

__all__ = ["Stored", "load_stored", "stored_of"]

_STORED = pytest.StashKey["Stored"]()

_SAME_FACTS = {
    "system": "os.name",
    "machine": "machine.architecture",
    "python_implementation": "python.implementation",
}
"""What pytest-benchmark calls the facts that must agree, and what the harness calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A baseline file: its name for messages, its tests by id, and the machine it was written on.

    ``environment`` is ``None`` where the file was written without the harness; ``machine`` then says what it can.
    """

    name: str
    benchmarks: Mapping[str, StoredBenchmark]
    environment: Environment | None
    machine: Mapping[str, str]

    def differences(self, now: Environment) -> tuple[str, ...]:
        """The facts that must agree before timings are compared and do not, one line each."""
        if self.environment is None:
            return tuple(map(difference_text, _foreign_differences(self.machine, now.hard)))
        then, current = (
            replace(side, hard={name: text for name, text in side.hard.items() if name != _DEVICES})
            for side in (self.environment, now)
        )
        return tuple(map(difference_text, differences(then, current)))


_DEVICES = "devices"
"""All devices of a run, those for traffic too; each timing names its own."""


def stored_of(config: pytest.Config, path: Path) -> Stored:
    """The baseline of this session, read once. Raises as ``load_stored``."""
    if _STORED not in config.stash:
        config.stash[_STORED] = load_stored(path)
    return config.stash[_STORED]


def load_stored(path: Path) -> Stored:
    """Read pytest-benchmark's JSON or a baseline of the harness, whichever it is.

    Raises ``UsageError`` for a file that cannot be read, ``FileFormatError`` for one that is neither.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    if _is_baseline(data):
        return _from_baseline(data, path)
    file = decode_benchmarks(data, source=str(path))
    return Stored(
        name=path.name,
        benchmarks=file.benchmarks,
        environment=file.environment,
        machine=file.machine,
    )


def _is_baseline(data: bytes) -> bool:
    try:
        plain: Any = msgspec.json.decode(data)
    except (
        msgspec.DecodeError,
        RecursionError,
    ):  # whoever reads it as benchmarks says what is wrong
        return False
    return isinstance(plain, dict) and plain.get("format") == FORMAT


def _from_baseline(data: bytes, path: Path) -> Stored:
    """A baseline saved from the plugin's report knows a test as ``module.py/name``."""
    baseline = decode(data, source=str(path))
    found = {
        nodeid: StoredBenchmark(
            fullname=nodeid, speeds=case.speeds, throughput=case.throughput, sealed=True
        )
        for case in baseline.cases
        if case.speeds and (nodeid := _nodeid(case.key))
    }
    if not found:
        raise FileFormatError(
            f"{path}: holds no timed test of pytest; make a baseline of them with: "
            "pytest --harness-report FILE.html, then: harness baseline save NAME FILE.html"
        )
    return Stored(name=path.name, benchmarks=found, environment=baseline.environment, machine={})


def _nodeid(key: str) -> str:
    module, found, name = key.partition(".py/")
    return f"{module}.py::{name}" if found else ""


def _foreign_differences(
    machine: Mapping[str, str], now: Mapping[str, str]
) -> Iterator[FieldDifference]:
    for theirs, ours in _SAME_FACTS.items():
        then, current = machine.get(theirs), now.get(ours)
        if then is not None and then != current:
            yield FieldDifference(field=theirs, baseline=then, current=current)
    then = machine.get("python_version", "")
    minor = ".".join(then.split(".")[:2])
    current = now.get("python.version", "")
    if minor and not current.startswith(minor):
        yield FieldDifference(field="python_version", baseline=minor, current=current)
    brand, model = machine.get("cpu.brand_raw"), now.get("cpu.model", "")
    if brand and not model.startswith(brand):
        yield FieldDifference(field="cpu.brand_raw", baseline=brand, current=model)
    gpu = now.get("gpu.name")
    if gpu is not None:
        yield FieldDifference(field="gpu.name", baseline=None, current=gpu)
