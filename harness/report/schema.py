"""The JSON Schema of ``run.json``, made from the data classes themselves; ``python -m harness.report.schema`` prints it."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import msgspec

from harness.model.verdict import SCHEMA_VERSION, Run
from harness.report.json import DIGEST, FORMAT, NOT_FINITE

__all__ = ["COMMAND", "run_schema", "schema_text"]

COMMAND = "python -m harness.report.schema > docs/run-schema.json"
"""Makes the published file anew."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER = "Number"
_SEAL = {
    "description": "SHA-256 of all other values, keys sorted and whole numbers without a point; older files have none.",
    "type": "string",
    "pattern": "^sha256:[0-9a-f]{64}$",
}
_LITERAL = re.compile(r"``([^`]+)``")


def run_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) that every file of ``encode_run`` keeps; field names and types are those of the model.

    Objects have no other fields, a float may be one of the strings that stand for what JSON lacks, and a field is
    required exactly where the model has no default for it.
    """
    made = msgspec.json.schema(Run)
    definitions = {name: _strict(definition) for name, definition in made["$defs"].items()}
    run = definitions.pop("Run")
    marks = {"format": {"const": FORMAT}, "schema_version": {"const": SCHEMA_VERSION}}
    run["properties"] = {**marks, **run["properties"], **marks, DIGEST: _SEAL}
    run["required"] = [*marks, *run["required"]]
    definitions[_NUMBER] = {
        "title": _NUMBER,
        "description": "A number, or one of the strings that stand for those JSON does not have.",
        "anyOf": [{"type": "number"}, {"enum": sorted(NOT_FINITE)}],
    }
    identity = {"$schema": _DIALECT, "$id": f"urn:ondevice-harness:run:{SCHEMA_VERSION}"}
    return {**identity, **run, "$defs": dict(sorted(definitions.items()))}


def schema_text() -> str:
    """The schema as the text of its file."""
    return f"{json.dumps(run_schema(), indent=1)}\n"


def _strict(node: Any) -> Any:
    """A part of what msgspec made: closed objects, numbers that may be no finite ones, docstrings as plain sentences."""
    if isinstance(node, list):
        return [_strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == "number":
        others = {key: value for key, value in node.items() if key != "type"}
        return {"$ref": f"#/$defs/{_NUMBER}", **others}
    strict = {key: value if key == "default" else _strict(value) for key, value in node.items()}
    if "properties" in strict:
        strict["additionalProperties"] = False
    if isinstance(strict.get("description"), str):
        strict["description"] = _LITERAL.sub(r"`\1`", strict["description"])
    return strict


if __name__ == "__main__":
    sys.stdout.write(schema_text())
