"""The file format of a baseline: JSON that reads well in a review and refuses every silent change.

Keys are sorted and indented, every list of numbers is one line, floats have the shortest text that reads
back as the same number, and the same baseline always gives the same bytes. ``digest`` is the SHA-256 of
the content (not of its layout), so a reformatted file still loads and one with an edited value does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn, TypeGuard

import msgspec

from harness.baseline.foreign import foreign_document, foreign_text
from harness.baseline.validation import Problem, inside, problems, quoted
from harness.errors import FileFormatError, OutputError
from harness.model.baseline import SCHEMA_VERSION, Baseline
from harness.units import bytes_text

__all__ = ["FORMAT", "LARGEST_FILE_BYTES", "decode", "encode"]

FORMAT = "ondevice-harness baseline"
"""Marks the file as ours, so that another tool's JSON is told from a damaged baseline."""

LARGEST_FILE_BYTES = 64 * 2**20
"""1,000 cases of 200 timings and 200 peer timings at 20 characters are 8 MB; eight times that still
loads in seconds, and anything larger was not written by the harness."""

_SAVE_AGAIN = "restore it from version control or save it again with: harness baseline save"
_UPGRADE = "upgrade with: python -m pip install --upgrade ondevice-harness"


def encode(baseline: Baseline) -> bytes:
    """The baseline as a file's bytes, UTF-8 with a newline at the end.

    Raises ``OutputError`` naming the field when the baseline holds what could not be loaded again: wrong
    types, NaN, a time that is not positive, two cases of one key.
    """
    try:
        normal = msgspec.convert(_plain(baseline), Baseline)
    except msgspec.ValidationError as error:
        path, problem = _type_problem(error)
        raise OutputError(_unsaved(baseline, path, problem)) from None
    for path, problem in problems(normal):
        raise OutputError(_unsaved(baseline, path, problem))
    content = {**_plain(normal), "format": FORMAT}
    text = _layout({**content, "digest": _digest(content)}, indent="")
    return f"{text}\n".encode()


def decode(data: bytes, *, source: str) -> Baseline:
    """The baseline in a file's bytes; ``source`` is what messages call the file.

    Raises ``FileFormatError``, and nothing else, when the bytes are empty, not text, truncated, another
    tool's, of another schema version, malformed, or edited after they were saved; its one line names the
    file, the place in it and the next step. Costs about 1 s per 10 MB.
    """
    document = _document(_parse(_text(data, source), source), source)
    digest = document.pop("digest", None)
    del document["format"]
    try:
        baseline = msgspec.convert(document, Baseline)
    except msgspec.ValidationError as error:
        _refuse(source, *_type_problem(error))
    content = _plain(baseline)
    for path, problem in (*_structure(document, content, "$"), *problems(baseline)):
        _refuse(source, path, problem)
    if digest is None:
        _refuse(source, "$.digest", "is missing")
    if digest != _digest({**content, "format": FORMAT}):
        _refuse(source, "$.digest", "does not fit the content, which was edited after it was saved")
    return baseline


def _refuse(source: str, path: str, problem: str, step: str = _SAVE_AGAIN) -> NoReturn:
    place = f"{path} " if path else ""
    raise FileFormatError(f"{source}: {place}{problem}; {step}")


def _unsaved(baseline: Baseline, path: str, problem: str) -> str:
    return f"baseline {quoted(baseline.name)} was not saved: {path} {problem}"


def _text(data: bytes, source: str) -> str:
    if len(data) > LARGEST_FILE_BYTES:
        limit = bytes_text(LARGEST_FILE_BYTES)
        _refuse(source, "", f"is larger than {limit}, the most a baseline may have")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{data[error.start]:02x} at offset {error.start}"
        _refuse(source, "", f"is not UTF-8 text ({byte}), so not a baseline")
    if not text.strip():
        _refuse(source, "", f"is empty ({bytes_text(len(data))})")
    return text


def _parse(text: str, source: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        if known := foreign_text(text):
            raise FileFormatError(f"{source}: {known}") from None
        place = f"line {error.lineno} column {error.colno}"
        what = "is cut off" if _is_cut(text.rstrip(), error) else f"is not JSON ({error.msg})"
        _refuse(source, "", f"{what} at {place}")
    except RecursionError:
        _refuse(source, "", "nests deeper than any baseline")
    except ValueError:  # Python refuses to read integers of more than 4,300 digits
        _refuse(source, "", "holds a whole number of thousands of digits")


def _is_cut(text: str, error: json.JSONDecodeError) -> bool:
    """Whether parsing failed because the text ends, maybe inside ``false`` or a ``\\u00e9``."""
    left = len(text) - error.pos
    unfinished = left < len(r"\u00e9") and not text.endswith("}")
    return left <= 0 or unfinished or error.msg.startswith("Unterminated string")


class _Repeating(dict[str, Any]):
    """An object of the file in which a key stands twice."""

    repeated: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    found = _Repeating(plain)
    keys = [key for key, _ in pairs]
    found.repeated = next(key for key in keys if keys.count(key) > 1)
    return found


def _document(parsed: Any, source: str) -> dict[str, Any]:
    """The top-level object, known to be ours, of our version and without repeated keys."""
    if not isinstance(parsed, dict):
        kind = "list" if isinstance(parsed, list) else "single value"
        _refuse(source, "$", f"is a {kind}, not a baseline")
    if parsed.get("format") != FORMAT:
        tool = foreign_document(parsed)
        what = f"was written by {tool}" if tool else "is not marked as a baseline"
        where = f'its "format" is {quoted(parsed.get("format"))}, not {FORMAT!r}'
        step = "name a baseline's file, or save one with: harness baseline save"
        _refuse(source, "", f"{what} ({where})", step)
    version = parsed.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        _refuse(source, "$.schema_version", f"is {quoted(version)}, must be a whole number")
    if version > SCHEMA_VERSION:
        problem = f"is {quoted(version)}, this harness reads up to {SCHEMA_VERSION}"
        _refuse(source, "$.schema_version", problem, _UPGRADE)
    if version < SCHEMA_VERSION:
        problem = f"is {quoted(version)}, this harness reads from {SCHEMA_VERSION}"
        _refuse(source, "$.schema_version", problem)
    for path, problem in _repetitions(parsed):
        _refuse(source, path, problem)
    return parsed


def _repetitions(parsed: Any) -> Iterator[Problem]:
    """Objects with a repeated key, found without recursion since the nesting is not checked yet."""
    waiting: list[tuple[str, Any]] = [("$", parsed)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, _Repeating):
            yield path, f"has the key {quoted(value.repeated)} twice"
        if isinstance(value, dict):
            waiting += [(inside(path, key), item) for key, item in value.items()]
        elif isinstance(value, list) and not _is_flat(value):
            waiting += [(f"{path}[{index}]", item) for index, item in enumerate(value)]


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
    elif isinstance(rebuilt, list) and not _is_flat(rebuilt):
        for index, (one, other) in enumerate(zip(given, rebuilt, strict=True)):
            yield from _structure(one, other, f"{path}[{index}]")


def _type_problem(error: msgspec.ValidationError) -> Problem:
    """Splits ``Expected `int`, got `str` - at `$.cases[0].key``` into a path and the complaint."""
    complaint, _, path = str(error).partition(" - at ")
    return path.strip("`") or "$", f"is wrong: {complaint.replace('`', '')}"


def _plain(value: Any) -> Any:
    """Dictionaries, lists and plain numbers instead of data classes, mappings and NumPy scalars."""
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        if set(map(type, value)) == {float}:  # timings, most of every file
            return list(value)
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, float) else value


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(canonical.encode('ascii')).hexdigest()}"


def _layout(value: Any, *, indent: str) -> str:
    """JSON text with sorted, indented keys, where a list of scalars is one line."""
    deeper = f"{indent}  "
    if isinstance(value, dict) and value:
        items = [f"{_scalar(key)}: {_layout(value[key], indent=deeper)}" for key in sorted(value)]
        return _block("{", items, "}", indent=indent)
    if isinstance(value, list) and not _is_flat(value):
        items = [_layout(item, indent=deeper) for item in value]
        return _block("[", items, "]", indent=indent)
    return _scalar(value)


def _block(opening: str, items: Sequence[str], closing: str, *, indent: str) -> str:
    lines = ",\n".join(f"{indent}  {item}" for item in items)
    return f"{opening}\n{lines}\n{indent}{closing}"


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _is_flat(value: list[Any]) -> TypeGuard[list[float | str]]:
    return {dict, list, _Repeating}.isdisjoint(map(type, value))
