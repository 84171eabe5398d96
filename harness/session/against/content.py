"""What a case works on and how much, in a form two processes can compare: other work is no slower or faster."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from harness.errors import OutputError, WorkloadError
from harness.model.workload import Case
from harness.session.declared import Declared
from harness.session.foreign import foreign
from harness.session.observe import HostArrays

__all__ = ["digests", "file_digests", "made_inputs", "read_arrays", "work_of", "write_arrays"]


def made_inputs(case: Case, seed: int) -> HostArrays:
    """The host arrays of a case; ``WorkloadError`` for what is not a mapping of arrays."""
    with foreign(f"the inputs of {case.name}"):
        inputs = case.inputs(seed)
    problem = _problem(inputs)
    if problem:
        raise WorkloadError(f"{case.name}: {problem}; return a mapping of names to NumPy arrays")
    return {str(name): each for name, each in inputs.items()}


def _problem(inputs: object) -> str:
    if not isinstance(inputs, Mapping):
        return f"inputs() returned {type(inputs).__name__}"
    others = [name for name, each in inputs.items() if not isinstance(each, np.ndarray)]
    return f"input {others[0]!r} is {type(inputs[others[0]]).__name__}" if others else ""


def digests(inputs: HostArrays) -> dict[str, str]:
    """Dtype, shape and the start of a hash per array: equal for equal bits, whatever the memory order."""
    found = {}
    for name, array in sorted(inputs.items()):
        digest = hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()
        found[name] = f"{array.dtype.name}{list(array.shape)} {digest}"
    return found


def file_digests(files: Mapping[str, Path]) -> dict[str, str]:
    """The start of a hash per file: equal for equal content, wherever it lies. One that is gone differs from any."""
    found = {}
    for name, path in files.items():
        try:
            found[name] = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        except OSError:
            found[name] = str(path)
    return found


def work_of(declared: Declared) -> str:
    """What one call does, in the units the case declares; empty where it declares none."""
    if declared.throughput is None:
        return ""
    each = declared.throughput
    return f"{each.units_per_call!r} {each.unit} and {each.bytes_per_call:,} B per call"


def write_arrays(path: Path, arrays: HostArrays) -> None:
    """Write named arrays of numbers; kinds that NumPy's files do not have become float64.

    Raises ``OutputError`` when they cannot be written.
    """
    plain = {
        name: array if array.dtype.kind in "biufc" else array.astype(np.float64)
        for name, array in arrays.items()
    }
    try:
        with path.open("wb") as stream:
            np.savez(
                stream,
                allow_pickle=False,
                **{f"output {name}": each for name, each in plain.items()},
            )
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}; "
            "free space there, or set TMPDIR to a folder that has it"
        ) from None


def read_arrays(path: Path) -> HostArrays:
    """What ``write_arrays`` wrote."""
    with np.load(path, allow_pickle=False) as file:
        return {name.removeprefix("output "): file[name] for name in file.files}
