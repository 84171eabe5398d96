"""What a program says it did, read strictly: one line for anything that is no training."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness.errors import FileFormatError, UsageError, WorkloadError
from harness.session.training import (
    RECORD_FORMAT,
    read_record,
    read_records,
    training_of,
    training_offered,
)

PLAIN: dict[str, Any] = {
    "program": "mlp",
    "data": "points",
    "curves": [
        {
            "name": "loss",
            "x_unit": "step",
            "points": [[0, 1.0], [1, 0.5]],
            "band": {"points": [[0, 0.9, 1.1]], "source": "elsewhere"},
        }
    ],
    "timings": [
        {
            "label": "loop",
            "stages": [{"name": "total", "seconds": 0.5}],
            "per_second": 2.0,
            "unit": "images",
            "syncs": 325,
        }
    ],
}


def test_plain_data_become_a_training() -> None:
    training = training_of(PLAIN, where="here")
    assert training.curves[0].points == ((0.0, 1.0), (1.0, 0.5))
    assert training.timings[0].syncs == 325
    assert training.timings[0].reads is None


def changed(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(plain: Any) -> None:
        for step in path[:-1]:
            plain = plain[step]
        plain[path[-1]] = value

    return change


SPOILT = {
    "$.programme is not a field": changed("programme", value="x"),
    "$.curves[0].color is not a field": changed("curves", 0, "color", value="red"),
    "$.program is wrong": changed("program", value=3),
    "must be named": changed("data", value=""),
    "a curve needs a name and points": changed("curves", 0, "points", value=[]),
    "curve 'loss' holds a number that is not finite": changed(
        "curves", 0, "points", 1, 1, value=math.nan
    ),
    "has its lowest above its highest": changed("curves", 0, "band", "points", 0, 1, value=2.0),
    "timing 'loop' holds a number that is not finite": changed(
        "timings", 0, "per_second", value=math.inf
    ),
    "timing 'loop' counts below 0": changed("timings", 0, "syncs", value=-1),
    "$.timings is wrong": changed("timings", value=7),
    "a timing needs a label and stages": changed("timings", 0, "stages", value=[]),
}


@pytest.mark.parametrize("complaint", SPOILT)
def test_what_is_wrong_is_said_in_one_line(complaint: str) -> None:
    plain = copy.deepcopy(PLAIN)
    SPOILT[complaint](plain)
    with pytest.raises(WorkloadError) as caught:
        training_of(plain, where="here")
    assert str(caught.value).startswith("here: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("plain", [None, [], "text", 3])
def test_what_is_no_mapping_is_refused(plain: object) -> None:
    with pytest.raises(WorkloadError, match=r"here: \$ is wrong"):
        training_of(plain, where="here")


def test_a_case_offers_it_by_name_and_gets_arrays_of_its_own() -> None:
    inputs = {"x": np.zeros(2)}

    def training(given: Any) -> Any:
        given["x"] += 1
        return PLAIN

    assert training_offered(SimpleNamespace(name="case"), inputs) is None  # type: ignore[arg-type]
    case: Any = SimpleNamespace(name="case", training=training)
    assert training_offered(case, inputs) is not None
    assert not inputs["x"].any()


def test_a_case_that_raises_is_named_with_what_it_raised() -> None:
    def training(given: Any) -> Any:
        raise KeyError("gone")

    case: Any = SimpleNamespace(name="case", training=training)
    with pytest.raises(WorkloadError, match=r"case: training\(\) raised KeyError"):
        training_offered(case, {})


def test_a_record_is_read_and_any_other_file_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    marked = {"format": RECORD_FORMAT, "schema_version": 1, **PLAIN}
    path.write_text(json.dumps(marked))
    assert read_record(path) == training_of(PLAIN, where="here")
    for content, complaint in (
        ("", "is empty"),
        (" \n", "is empty"),
        ("{", "is no JSON"),
        ("[]", "is no training record"),
        (json.dumps(PLAIN), "is no training record"),
        (json.dumps({**marked, "schema_version": 2}), "schema version 2"),
        (json.dumps({**marked, "data": 3}), r"\$.data is wrong"),
        (json.dumps({**marked, "curves": [], "timings": []}), "neither curves nor timings"),
    ):
        path.write_text(content)
        with pytest.raises(FileFormatError, match=complaint):
            read_record(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_record(tmp_path / "absent")


def test_records_are_read_in_their_order_and_each_is_wanted_once(tmp_path: Path) -> None:
    one, other, copied = (tmp_path / name for name in ("one.json", "other.json", "copy.json"))
    marked = {"format": RECORD_FORMAT, "schema_version": 1, **PLAIN}
    for path, program in ((one, "mlp"), (other, "mnist_cnn"), (copied, "mlp")):
        path.write_text(json.dumps({**marked, "program": program}))
    assert [each.program for each in read_records((other, one))] == ["mnist_cnn", "mlp"]
    assert read_records(()) == ()
    for paths, complaint in (
        ((one, other, one), f"{one}: is given twice; give each training record once"),
        (
            (one, other, copied),
            f"{copied}: holds the same as {one}; give each training record once",
        ),
    ):
        with pytest.raises(UsageError) as caught:
            read_records(paths)
        assert str(caught.value) == complaint
