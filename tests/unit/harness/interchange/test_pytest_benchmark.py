"""pytest-benchmark's JSON, read and written: what one side writes the other reads, and damage is one clear line."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from builders import a_check, a_run, a_sample, a_verdict
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import FileFormatError, OutputError
from harness.interchange.pytest_benchmark import decode_benchmarks, timer_label
from harness.interchange.pytest_benchmark_writer import encode_benchmarks
from harness.model.measurement import Throughput
from harness.stats.speed import speed_of

times = st.floats(1e-1, 1e12, allow_nan=False)


def document(*benchmarks: dict[str, Any], **more: Any) -> bytes:
    whole = {"machine_info": {}, "commit_info": {}, "benchmarks": list(benchmarks), **more}
    return json.dumps(whole).encode()


def entry(**changed: Any) -> dict[str, Any]:
    plain = {
        "fullname": "test_op.py::test_loss",
        "options": {"timer": "perf_counter"},
        "extra_info": {"mine": 1},
        "stats": {"data": [0.001, 0.002], "iterations": 3},
    }
    return {**plain, **changed}


@settings(max_examples=50)
@given(st.lists(st.tuples(times, times), min_size=1, max_size=30), st.booleans())
def test_what_is_written_is_read_back(rounds, paired):
    calls, peers = zip(*rounds, strict=True)
    sample = a_sample(call_ns=calls, peer_ns=peers if paired else ())
    run = a_run(
        a_verdict(workload="tests/test_op.py", case="TestLoss::test_loss[4-f32]", sample=sample)
    )
    read = decode_benchmarks(encode_benchmarks(run), source="out.json")
    stored = read.benchmarks["tests/test_op.py::TestLoss::test_loss[4-f32]"]
    raw, ours = stored.speeds
    assert ours.relative == speed_of(sample).relative
    assert ours.call_ns == pytest.approx(speed_of(sample).call_ns)
    assert raw.call_ns == pytest.approx(ours.call_ns)
    assert raw.timer == ours.timer == sample.timer
    assert read.environment.hard == run.environment.hard
    assert read.commit == run.environment.commit


def test_every_field_that_readers_of_the_format_use_is_there():
    values = tuple(float(value) for value in [*range(100, 120), 500])
    run = a_run(a_verdict(workload="t.py", case="test_x[a]", sample=a_sample(call_ns=values)))
    (plain,) = json.loads(encode_benchmarks(run))["benchmarks"]
    assert (plain["name"], plain["fullname"], plain["param"]) == (
        "test_x[a]",
        "t.py::test_x[a]",
        "a",
    )
    stats = plain["stats"]
    assert stats["min"] == 100e-9
    assert stats["max"] == 500e-9
    assert stats["median"] == 110e-9
    assert stats["q1"] <= stats["median"] <= stats["q3"]
    assert stats["iqr"] == stats["q3"] - stats["q1"]
    assert stats["iqr_outliers"] == 1
    assert stats["hd15iqr"] == 119e-9
    assert stats["ld15iqr"] == 100e-9
    assert stats["ops"] == pytest.approx(1 / stats["mean"])
    assert stats["rounds"] == len(stats["data"]) == 21


def test_one_value_has_statistics_too():
    run = a_run(a_verdict(sample=a_sample(call_ns=(5.0,))))
    (plain,) = json.loads(encode_benchmarks(run))["benchmarks"]
    assert plain["stats"]["stddev"] == plain["stats"]["iqr"] == 0


def test_untimed_cases_are_left_out_and_a_timing_that_is_none_is_refused():
    assert json.loads(encode_benchmarks(a_run(a_verdict())))["benchmarks"] == []
    with pytest.raises(OutputError, match="was not written as benchmarks"):
        encode_benchmarks(a_run(a_verdict(a_check(), sample=a_sample(call_ns=(math.inf, 1.0)))))


def test_the_work_of_a_call_is_kept():
    work = Throughput(unit="samples", units_per_call=64.0, bytes_per_call=256)
    run = a_run(a_verdict(workload="t.py", case="test_x", sample=a_sample(), throughput=work))
    read = decode_benchmarks(encode_benchmarks(run), source="out.json")
    assert read.benchmarks["t.py::test_x"].throughput == work


def test_a_file_of_pytest_benchmark_alone_is_read():
    machine = {
        "system": "Linux",
        "python_version": "3.11.7",
        "cpu": {"brand_raw": "EPYC", "count": 2},
    }
    read = decode_benchmarks(document(entry(), machine_info=machine), source="base.json")
    (speed,) = read.benchmarks["test_op.py::test_loss"].speeds
    assert speed.timer == timer_label("perf_counter")
    assert (speed.rounds, speed.calls_per_value) == (2, 3)
    assert read.environment is None
    assert read.machine["cpu.brand_raw"] == "EPYC"


def test_a_benchmark_saved_without_timings_says_so():
    read = decode_benchmarks(document(entry(stats={"mean": 1.0})), source="base.json")
    stored = read.benchmarks["test_op.py::test_loss"]
    assert stored.speeds == ()
    assert "--benchmark-save-data" in stored.why_none


def test_a_benchmark_that_stands_twice_is_neither():
    read = decode_benchmarks(document(entry(), entry()), source="base.json")
    assert read.benchmarks["test_op.py::test_loss"].why_none == "stands twice in the file"


def sealed() -> dict[str, Any]:
    sample = a_sample(call_ns=(1.0, 2.0, 3.0), peer_ns=(1.0, 1.5, 2.0))
    return json.loads(
        encode_benchmarks(a_run(a_verdict(workload="t.py", case="test_x", sample=sample)))
    )


def doubled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: doubled(each) for name, each in value.items()}
    if isinstance(value, list):
        return [doubled(each) for each in value]
    return 2 * value if isinstance(value, float) else value


EDITS = {
    "data": lambda plain: plain["stats"].update(data=doubled(plain["stats"]["data"])),
    "iterations": lambda plain: plain["stats"].update(iterations=7),
    "ratios": lambda plain: plain["extra_info"].update(doubled(plain["extra_info"])),
    "name": lambda plain: plain.update(fullname="t.py::test_y"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_benchmark_is_refused_by_name(edit):
    document = sealed()
    EDITS[edit](document["benchmarks"][0])
    with pytest.raises(FileFormatError, match=r"digest does not fit .*edited.*; save it again"):
        decode_benchmarks(json.dumps(document).encode(), source="base.json")


def test_an_edited_machine_is_refused_by_name():
    document = sealed()
    document["machine_info"]["harness"]["environment"]["hard"]["cpu.model"] = "a faster one"
    with pytest.raises(FileFormatError, match=r"machine_info.*digest does not fit the machine's"):
        decode_benchmarks(json.dumps(document).encode(), source="base.json")


def test_another_layout_of_the_same_values_is_no_edit():
    whole = json.dumps(sealed(), sort_keys=True, separators=(",", ":")).replace(".0,", ",")
    (stored,) = decode_benchmarks(whole.encode(), source="base.json").benchmarks.values()
    assert stored.sealed


def test_a_file_without_digest_is_read_and_known_as_unverified():
    read = decode_benchmarks(document(entry()), source="base.json")
    assert not read.benchmarks["test_op.py::test_loss"].sealed


DAMAGE = {
    b"": "base.json: is empty",
    b"\xff": "base.json: is not UTF-8 text",
    b"{": "base.json: is cut off at line 1 column 2",
    b"[1]": r"base.json: \$ is \[1\], must be an object",
    b"{}": "base.json: holds no benchmarks",
    b'{"benchmarks": 3}': r"base.json: \$.benchmarks is 3, must be a list",
    b'{"traceEvents": []}': "base.json: was written by a Chrome trace writer",
    b"version https://git-lfs.github.com/spec/v1": "base.json: is a Git LFS pointer",
    b"[" * 100_000: "base.json: nests deeper",
    b"1" * 5000: "base.json: holds a whole number of thousands of digits",
    document(entry(fullname=3)): r"\$.benchmarks\[0\].fullname is 3",
    document(entry(stats={"data": []})): r"\$.benchmarks\[0\].stats.data holds no timing",
    document(entry(stats={"data": [1.0, math.nan]})): r"stats.data\[1\] is nan, not the seconds",
    document(entry(stats={"data": [0]})): r"stats.data\[0\] is 0, not the seconds",
    document(entry(stats={"data": [-1.0]})): r"stats.data\[0\] is -1.0, not the seconds",
    document(entry(stats={"data": [10**400]})): r"stats.data\[0\] is 1000",
    document(entry(stats={"data": [True]})): r"stats.data\[0\] is True, not the seconds",
    document(
        entry(stats={"data": [1.0], "iterations": 0})
    ): "stats.iterations is 0, must be at least 1",
    document(
        entry(extra_info={"harness": {"schema_version": 2}})
    ): "is 2, this harness reads up to 1; upgrade",
    document(
        entry(extra_info={"harness": {"schema_version": 1, "speed": {}}})
    ): r"harness.speed is wrong: Object missing",
}


@pytest.mark.parametrize("data", DAMAGE, ids=range(len(DAMAGE)))
def test_damage_is_one_line_that_names_file_place_and_next_step(data):
    with pytest.raises(FileFormatError, match=DAMAGE[data]) as raised:
        decode_benchmarks(data, source="base.json")
    assert "\n" not in str(raised.value)
    assert "; " in str(raised.value)


@settings(max_examples=200)
@given(st.data())
def test_no_edit_of_a_file_ends_in_anything_but_a_reading_or_one_line(data):
    run = a_run(a_verdict(workload="t.py", case="test_x", sample=a_sample(peer_ns=(1.0, 2.0, 3.0))))
    whole = bytearray(encode_benchmarks(run))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place : place + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=6))
    try:
        decode_benchmarks(bytes(whole), source="base.json")
    except FileFormatError as error:
        assert str(error).startswith("base.json: ")  # noqa: PT017  either ending is right
