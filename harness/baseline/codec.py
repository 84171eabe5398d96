"""The file format of a baseline: JSON that reads well in a review and refuses every silent change.

Keys are sorted and indented, every list of numbers and the counts of every region are one line, numbers have the
shortest text that reads back as the same number, and the same baseline always gives the same bytes. ``digest`` is the SHA-256 of
the content (not of its layout), so a reformatted file still loads and one with an edited value does not.
Files of version 1, which held raw timings, load as what they would be today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from harness.baseline.layout import digest, is_flat, laid_out, plain
from harness.baseline.parsing import FORMAT, LARGEST_FILE_BYTES, document_in, refuse
from harness.baseline.validation import Problem, inside, problems, quoted
from harness.baseline.version_1 import BaselineOf1, problems_of_1, upgraded
from harness.errors import OutputError
from harness.model.baseline import SCHEMA_VERSION, Baseline

__all__ = ["FORMAT", "LARGEST_FILE_BYTES", "decode", "encode"]

_UPGRADE = "upgrade with: python -m pip install --upgrade ondevice-harness"


def encode(baseline: Baseline) -> bytes:
    """The baseline as a file's bytes, UTF-8 with a newline at the end.

    Raises ``OutputError`` naming the field when the baseline holds what could not be loaded again: wrong
    types, NaN, a time that is not positive, two cases of one key.
    """
    try:
        normal = msgspec.convert(plain(baseline), Baseline)
    except msgspec.ValidationError as error:
        path, problem = _type_problem(error)
        raise OutputError(_unsaved(baseline, path, problem)) from None
    for path, problem in problems(normal):
        raise OutputError(_unsaved(baseline, path, problem))
    content = {**plain(normal), "format": FORMAT}
    return f"{laid_out({**content, 'digest': digest(content)})}\n".encode()


def decode(data: bytes, *, source: str) -> Baseline:
    """The baseline in a file's bytes; ``source`` is what messages call the file.

    Raises ``FileFormatError``, and nothing else, when the bytes are empty, not text, truncated, another
    tool's, of a newer schema version, malformed, or edited after they were saved; its one line names the
    file, the place in it and the next step. Costs about 1 s per 10 MB.
    """
    document = document_in(data, source=source)
    version = _VERSIONS[_version(document, source)]
    sealed = document.pop("digest", None)
    del document["format"]
    try:
        kept = msgspec.convert(document, version.kind)
    except msgspec.ValidationError as error:
        refuse(source, *_type_problem(error))
    content = plain(kept)
    for path, problem in (*_structure(document, content, "$"), *version.problems(kept)):
        refuse(source, path, problem)
    if sealed is None:
        refuse(source, "$.digest", "is missing")
    if sealed != digest({**content, "format": FORMAT}):
        refuse(source, "$.digest", "does not fit the content, which was edited after it was saved")
    return version.upgraded(kept)


class _Version(NamedTuple):
    """How files of one schema version are read: their content, what may be wrong with it, what it is today."""

    kind: Any
    problems: Callable[[Any], Iterable[Problem]]
    upgraded: Callable[[Any], Baseline]


_VERSIONS = {
    1: _Version(BaselineOf1, problems_of_1, upgraded),
    SCHEMA_VERSION: _Version(Baseline, problems, lambda baseline: baseline),
}


def _version(document: dict[str, Any], source: str) -> int:
    version = document.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        refuse(source, "$.schema_version", f"is {quoted(version)}, must be a whole number")
    if version > SCHEMA_VERSION:
        problem = f"is {quoted(version)}, this harness reads up to {SCHEMA_VERSION}"
        refuse(source, "$.schema_version", problem, _UPGRADE)
    if version not in _VERSIONS:
        problem = f"is {quoted(version)}, this harness reads from {min(_VERSIONS)}"
        refuse(source, "$.schema_version", problem)
    return version


def _unsaved(baseline: Baseline, path: str, problem: str) -> str:
    return f"baseline {quoted(baseline.name)} was not saved: {path} {problem}"


def _structure(given: Any, rebuilt: Any, path: str) -> Iterator[Problem]:
    """Fields the file has and the format has not, and the other way round.

    Decoding ignores unknown fields and fills in defaults; a baseline must spell out every one.
    """
    if isinstance(rebuilt, dict):
        for key in sorted(given.keys() - rebuilt.keys()):
            yield inside(path, key), "is not a field of this format"
        for key in sorted(rebuilt.keys() - given.keys()):
            yield inside(path, key), "is missing"
        for key in given.keys() & rebuilt.keys():
            yield from _structure(given[key], rebuilt[key], inside(path, key))
    elif isinstance(rebuilt, list) and not is_flat(rebuilt):
        for index, (one, other) in enumerate(zip(given, rebuilt, strict=True)):
            yield from _structure(one, other, f"{path}[{index}]")


def _type_problem(error: msgspec.ValidationError) -> Problem:
    """Splits ``Expected `int`, got `str` - at `$.cases[0].key``` into a path and the complaint."""
    complaint, _, path = str(error).partition(" - at ")
    return path.strip("`") or "$", f"is wrong: {complaint.replace('`', '')}"
