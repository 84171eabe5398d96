"""The run file: every run survives it, and nothing else gets through."""

from __future__ import annotations

import json
import math
import os
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import (
    a_change,
    a_check,
    a_copy_bandwidth,
    a_defective_record,
    a_failed_traffic_check,
    a_record,
    a_run,
    a_sample,
    a_self_check,
    a_verdict,
    an_estimate,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import FileFormatError, UsageError
from harness.model.measurement import Rates, Throughput
from harness.model.verdict import SCHEMA_VERSION, Run
from harness.report.json import FORMAT, decode_run, encode_run, read_run

A_FULL_RUN = a_run(
    a_verdict(
        a_check(details=("float32, 4,096 terms",)),
        a_failed_traffic_check(),
        traffic=a_record(),
        controls=(a_defective_record(),),
        sample=a_sample(peer_ns=(1.0, 2.0, 3.0)),
        call_time=an_estimate(),
        throughput=Throughput(unit="samples", units_per_call=4096.0, bytes_per_call=2**40),
    ),
    a_verdict(workload="mlp", case="batch-64"),
    checks=(a_check(check="baseline"),),
    baseline="main",
    notes=("one",),
    copy_bandwidth=a_copy_bandwidth(),
    self_checks=(a_self_check(), replace(a_self_check(key="b"), spread=None, call_ns=None)),
)


def decoded(data: bytes) -> Run:
    return decode_run(data, source="run.json")


def edited(**changes: Any) -> bytes:
    return json.dumps({**json.loads(encode_run(A_FULL_RUN)), **changes}).encode()


def test_a_run_comes_back_as_it_was() -> None:
    assert decoded(encode_run(A_FULL_RUN)) == A_FULL_RUN


def test_throughput_is_there_for_programs_in_units_in_bytes_and_against_the_copies() -> None:
    rates = Rates(units_per_second=4.0, bytes_per_second=3.0, of_copy=0.5)
    run = a_run(replace(a_verdict(), rates=rates), copy_bandwidth=a_copy_bandwidth(after=None))
    plain = json.loads(encode_run(run))
    assert plain["verdicts"][0]["rates"] == {
        "units_per_second": 4.0,
        "bytes_per_second": 3.0,
        "of_copy": 0.5,
    }
    assert plain["copy_bandwidth"]["before"]["best"] == 20e9
    assert decoded(encode_run(run)) == run


def test_a_file_from_before_there_were_copies_and_self_checks_loads() -> None:
    plain = json.loads(encode_run(A_FULL_RUN))
    del plain["digest"]
    for name in ("copy_bandwidth", "self_checks"):
        del plain[name]
    for verdict in plain["verdicts"]:
        del verdict["rates"]
    old = decoded(json.dumps(plain).encode())
    assert old == replace(A_FULL_RUN, copy_bandwidth=None, self_checks=())


def test_a_change_of_speed_comes_back_and_a_file_from_before_there_was_one_loads() -> None:
    run = a_run(a_verdict(a_check(change=a_change()), a_check()))
    assert decoded(encode_run(run)) == run
    plain = json.loads(encode_run(run))
    del plain["digest"]
    for check in plain["verdicts"][0]["checks"]:
        del check["change"]
    assert decoded(json.dumps(plain).encode()) == a_run(a_verdict(a_check(), a_check()))
    plain["verdicts"][0]["checks"][0]["change"] = {"ratio": 1.0}
    with pytest.raises(FileFormatError, match=r"checks\[0\].change"):
        decoded(json.dumps(plain).encode())


def test_format_and_version_come_first_so_that_the_head_of_a_file_says_what_it_is() -> None:
    assert list(json.loads(encode_run(A_FULL_RUN)))[:2] == ["format", "schema_version"]


def test_a_file_of_python_numbers_is_strict_json_and_ascii() -> None:
    run = a_run(a_verdict(call_time=an_estimate(low=-math.inf, high=math.nan)))
    text = encode_run(run).decode("ascii")
    document = json.loads(text, parse_constant=pytest.fail)
    estimate = document["verdicts"][0]["call_time"]
    assert (estimate["low"], estimate["high"]) == ("-inf", "nan")


def test_numbers_that_json_lacks_come_back() -> None:
    estimate = an_estimate(value=math.inf, low=-math.inf, high=math.nan)
    run = a_run(a_verdict(case="nan", sample=a_sample(call_ns=(math.inf, 1.0)), call_time=estimate))
    verdict = decoded(encode_run(run)).verdicts[0]
    assert verdict.call_time is not None
    assert verdict.sample is not None
    assert (verdict.call_time.value, verdict.call_time.low) == (math.inf, -math.inf)
    assert math.isnan(verdict.call_time.high)
    assert verdict.sample.call_ns == (math.inf, 1.0)
    assert verdict.case == "nan"


def test_numpy_numbers_and_read_only_mappings_are_written_as_what_they_are() -> None:
    rows: Any = np.float32(2.5)
    size: Any = np.int64(7)
    verdict = a_verdict(
        parameters=types.MappingProxyType({"dtype": "float32"}),
        throughput=Throughput(unit="rows", units_per_call=rows, bytes_per_call=size),
    )
    back = decoded(encode_run(a_run(verdict))).verdicts[0]
    assert back.parameters == {"dtype": "float32"}
    assert back.throughput == Throughput(unit="rows", units_per_call=2.5, bytes_per_call=7)


def test_what_a_run_cannot_hold_is_refused_when_written() -> None:
    with pytest.raises(TypeError, match="a run cannot hold object"):
        encode_run(a_run(notes=(object(),)))  # type: ignore[arg-type]


texts = st.text(max_size=40)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    numbers = st.floats(allow_nan=False)
    verdicts = draw(
        st.lists(
            st.builds(
                a_verdict,
                workload=texts,
                case=texts,
                parameters=st.dictionaries(texts, texts, max_size=3),
                sample=st.builds(a_sample, call_ns=st.lists(numbers, max_size=4).map(tuple)),
                call_time=st.builds(an_estimate, value=numbers, low=numbers, high=numbers),
                traffic=st.none() | st.builds(a_record, label=texts),
            ),
            max_size=3,
        )
    )
    run = a_run(*verdicts, command=draw(texts), notes=tuple(draw(st.lists(texts, max_size=3))))
    return replace(run, seed=draw(st.integers()))


@given(runs())
def test_any_run_comes_back_as_it_was(run: Run) -> None:
    assert decoded(encode_run(run)) == run


def test_undecodable_bytes_of_a_file_name_come_back() -> None:
    run = a_run(notes=(os.fsdecode(b"\xff.py"),))
    assert decoded(encode_run(run)) == run


def test_the_version_is_judged_before_anything_else() -> None:
    with pytest.raises(FileFormatError) as caught:
        decoded(edited(schema_version=SCHEMA_VERSION + 1, verdicts="from the future"))
    assert str(caught.value) == (
        f"run.json: $.schema_version is {SCHEMA_VERSION + 1}, this harness reads up to {SCHEMA_VERSION}; "
        "upgrade with: python -m pip install --upgrade ondevice-harness"
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "is not UTF-8 text (byte 0xff at 0)"),
        (b"\0" * 100, "holds NUL bytes (the first at 0)"),
        (b'{"seed": 1, "run_id": "a\0\0\0', "holds NUL bytes (the first at 24)"),
        (b"<html>", "is neither a run nor a page of the harness: it begins with '<html>'"),
        (
            b"# Title\n\nmore",
            "is neither a run nor a page of the harness: it begins with '# Title'",
        ),
        (b"{seed: 1}", "is not JSON (Expecting property name enclosed in double quotes) at line 1"),
        (b"[]", "$ is no object, so not a run"),
        (b"{}", "is not marked as a run (its \"format\" is None, not 'ondevice-harness run')"),
        (b'{"traceEvents": []}', "was written by a Chrome trace writer"),
        (b'{"format": "ondevice-harness baseline"}', "is a baseline, not a run"),
        (b'{"seed": NaN}', "holds NaN, which JSON does not have"),
        (b'{"seed": 1, "seed": 2}', "has the key 'seed' twice in one object"),
        (b'{"seed": 1' + b"0" * 5000 + b"}", "holds a whole number of thousands of digits"),
        (b"[" * 100_000 + b"]" * 100_000, "nests deeper than any run"),
        (b"<<<<<<< HEAD\n{}", "holds a merge conflict at line 1"),
        (edited(schema_version=0), "$.schema_version is 0, this harness reads from 1"),
        (edited(schema_version="1"), "$.schema_version is '1', must be a whole number"),
        (edited(schema_version=True), "$.schema_version is True, must be a whole number"),
        (edited(seed="0"), "$.seed is wrong: Expected int, got str"),
        (edited(seed=0.5), "$.seed is wrong: Expected int, got float"),
        (edited(duration_s="long"), "$.duration_s is wrong: Expected float, got str"),
        (edited(verdict=[]), "$.verdict is not a field of this format"),
        (edited(verdicts=None), "$.verdicts is wrong: Expected array, got null"),
        (
            edited(environment={"hard": {"a": 1}}),
            "$.environment.hard[...] is wrong: Expected str, got int",
        ),
    ],
)
def test_a_file_that_is_no_run_is_refused_by_name(data: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        decoded(data)
    assert str(caught.value).startswith(f"run.json: {problem}")
    assert "\n" not in str(caught.value)
    assert "; " in str(caught.value)


def test_a_wrong_word_deep_in_the_file_is_named_with_its_path() -> None:
    data = encode_run(A_FULL_RUN).replace(b'"outcome":"failed"', b'"outcome":"fine"')
    with pytest.raises(FileFormatError) as caught:
        decoded(data)
    assert "$.verdicts[0].checks[1].outcome" in str(caught.value)
    assert "fine" in str(caught.value)


def test_a_misspelt_optional_field_is_not_silently_dropped() -> None:
    data = encode_run(A_FULL_RUN).replace(b'"next_step"', b'"nextstep"', 1)
    with pytest.raises(
        FileFormatError, match=r"\$\.verdicts\[0\]\.checks\[0\]\.nextstep is not a field"
    ):
        decoded(data)


def test_a_file_cut_off_anywhere_is_refused() -> None:
    data = encode_run(A_FULL_RUN)
    for length in range(0, len(data.rstrip()), 97):
        with pytest.raises(FileFormatError, match=r"is cut off|is empty|is not JSON"):
            decoded(data[:length])


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(FileFormatError):
        decoded(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(data=st.data())
@settings(max_examples=200)
def test_a_value_replaced_anywhere_is_read_or_refused_by_name(data: st.DataObject) -> None:
    document = json.loads(encode_run(A_FULL_RUN))
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], (dict, list)) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(json_values)
        break
    text = json.dumps(document)
    try:
        decoded(text.encode())
    except FileFormatError as error:
        assert str(error).startswith("run.json: ")  # noqa: PT017 -- either way is right


def test_a_later_optional_field_that_is_missing_takes_its_default() -> None:
    document = json.loads(encode_run(A_FULL_RUN))
    del document["notes"], document["digest"]
    assert decoded(json.dumps(document).encode()).notes == ()


def test_a_run_turned_green_by_hand_is_refused_and_what_is_wrong_besides_is_told_first() -> None:
    data = encode_run(A_FULL_RUN)
    green = data.replace(b'"outcome":"failed"', b'"outcome":"passed"')
    assert green != data
    with pytest.raises(FileFormatError, match="was edited after it was written") as caught:
        decoded(green)
    assert str(caught.value).endswith("make one with: harness run")
    with pytest.raises(FileFormatError, match="was edited after it was written"):
        decoded(edited(digest=None))
    with pytest.raises(FileFormatError, match=r"\$\.seed is wrong"):
        decoded(edited(seed="0"))


def test_another_layout_of_the_same_values_and_a_file_without_a_digest_load() -> None:
    document = json.loads(encode_run(A_FULL_RUN), parse_float=_as_other_tools)
    assert decoded(json.dumps(document, indent=4, sort_keys=True).encode()) == A_FULL_RUN
    del document["digest"]
    assert decoded(json.dumps(document).encode()) == A_FULL_RUN


def _as_other_tools(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def test_a_run_file_is_read_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(encode_run(A_FULL_RUN))
    assert read_run(path) == A_FULL_RUN


@pytest.mark.parametrize("name", ["absent.json", "nul\0.json", "x" * 300])
def test_a_path_without_a_file_is_told_with_its_reason(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read: .+; name an unchanged run\.json"):
        read_run(tmp_path / name)


def test_a_folder_and_a_pipe_are_refused_without_opening_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        read_run(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is not a regular file"):
        read_run(tmp_path / "pipe")


def test_the_marker_is_not_a_field_of_the_model() -> None:
    assert json.loads(encode_run(a_run()))["format"] == FORMAT
