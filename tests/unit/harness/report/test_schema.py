"""The published schema: it is the model's, every run file keeps it, and a wrong file does not."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from builders import a_run, a_verdict, an_estimate
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from harness.model.verdict import Run
from harness.report.json import decode_run, encode_run
from harness.report.schema import COMMAND, run_schema, schema_text

PUBLISHED = Path(__file__).parents[4] / "docs" / "run-schema.json"

VALIDATOR = Draft202012Validator(run_schema())


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type of the model, whatever fields it will have."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(of_type, arguments))
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return st.lists(of_type(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*map(of_type, arguments))
    if origin is Mapping:
        return st.dictionaries(st.text(max_size=5), of_type(arguments[1]), max_size=2)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        fields = typing.get_type_hints(kind)
        fields.pop("schema_version", None)
        return st.builds(kind, **{name: of_type(each) for name, each in fields.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    return {
        str: st.text(max_size=8),
        bool: st.booleans(),
        int: st.integers(),
        float: st.floats(),
        types.NoneType: st.none(),
    }[kind]


def problems(document: Any) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document)]


def test_the_published_schema_is_that_of_the_model() -> None:
    assert PUBLISHED.read_text("utf-8") == schema_text(), f"make it anew with: {COMMAND}"


def test_it_is_a_schema_of_its_own_dialect_and_says_what_each_object_is() -> None:
    Draft202012Validator.check_schema(run_schema())
    for name, definition in run_schema()["$defs"].items():
        assert definition["title"] == name
        assert definition["description"]
        assert definition.get("additionalProperties", False) is False


@settings(max_examples=60)
@given(of_type(Run))
def test_any_run_of_the_model_keeps_it_and_is_read_again(run: Run) -> None:
    data = encode_run(run)
    assert problems(json.loads(data)) == []
    assert encode_run(decode_run(data, source="run.json")) == data


def test_numbers_that_json_lacks_keep_it() -> None:
    infinite = an_estimate(value=float("nan"), low=float("-inf"), high=float("inf"))
    assert problems(json.loads(encode_run(a_run(a_verdict(call_time=infinite))))) == []


def a_document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode_run(a_run(a_verdict(call_time=an_estimate()))))
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), "ondevice-harness baseline"),
        (("schema_version",), 99),
        (("seed",), "0"),
        (("more",), 1),
        (("verdicts", 0, "call_time", "value"), "NaN"),
        (("verdicts", 0, "checks", 0, "outcome"), "fine"),
        (("verdicts", 0, "checks", 0, "nextstep"), "look"),
        (("environment", "hard", "cpu.model"), 7),
    ],
)
def test_a_wrong_file_does_not_keep_it(path: tuple[Any, ...], value: Any) -> None:
    document = a_document()
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert problems(document)


@pytest.mark.parametrize("name", ["format", "schema_version", "run_id", "verdicts"])
def test_what_every_file_has_is_required(name: str) -> None:
    document = a_document()
    del document[name]
    assert problems(document) == [f"{name!r} is a required property"]
