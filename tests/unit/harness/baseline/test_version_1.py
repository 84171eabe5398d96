"""Baselines of schema version 1, which held raw timings: they load as what they would be today."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import a_record, a_run, a_sample, a_verdict

from harness.baseline.codec import decode, encode
from harness.baseline.layout import digest
from harness.baseline.promise import promised_by
from harness.errors import FileFormatError
from harness.model.baseline import SCHEMA_VERSION
from harness.model.measurement import Throughput
from harness.model.outcome import Evidence
from harness.model.verdict import Run

_SAMPLE = a_sample(
    call_ns=tuple(1e6 + 1e3 * (step % 7) for step in range(40)),
    peer_ns=tuple(8e5 + 1e3 * (step % 5) for step in range(40)),
)
_WORK = Throughput(unit="samples", units_per_call=64.5, bytes_per_call=2560)


def _the_run() -> Run:
    return a_run(a_verdict(traffic=a_record(), sample=_SAMPLE, throughput=_WORK))


def _of_1(run: Run | None = None) -> dict[str, Any]:
    """The document version 1 wrote for a run of one case, as its own code laid it down."""
    run = run or _the_run()
    (verdict,) = run.verdicts
    assert verdict.sample is not None
    assert verdict.traffic is not None
    counts = verdict.traffic.regions
    content: dict[str, Any] = {
        "cases": [
            {
                "key": verdict.key,
                "parameters": dict(verdict.parameters),
                "sample": {
                    "call_ns": list(verdict.sample.call_ns),
                    "calls_per_value": 4,
                    "peer_ns": list(verdict.sample.peer_ns),
                    "seed": 0,
                    "timer": "perf_counter_ns",
                    "warmup_calls": 10,
                },
                "throughput": {"bytes_per_call": 2560, "unit": "samples", "units_per_call": 64.5},
                "timing_device": "cpu",
                "traffic": {
                    region: {
                        name: getattr(each, name)
                        for name in [
                            "blocking_copies",
                            "d2d",
                            "d2h",
                            "d2h_bytes",
                            "h2d",
                            "h2d_bytes",
                            "kernels",
                            "memsets",
                            "syncs",
                        ]
                    }
                    for region, each in counts.items()
                },
                "traffic_device": "simulated",
            }
        ],
        "created": run.created,
        "environment": {
            "commit": run.environment.commit,
            "dirty": False,
            "hard": dict(run.environment.hard),
            "soft": dict(run.environment.soft),
        },
        "format": "ondevice-harness baseline",
        "name": "main",
        "schema_version": 1,
    }
    return content


def _bytes(content: dict[str, Any]) -> bytes:
    return json.dumps({**content, "digest": digest(content)}).encode()


def test_an_old_file_loads_as_the_baseline_its_run_would_give_today() -> None:
    loaded = decode(_bytes(_of_1()), source="main.json")
    assert loaded == promised_by(_the_run(), "main")
    assert loaded.schema_version == SCHEMA_VERSION
    assert decode(encode(loaded), source="main.json") == loaded


def test_what_saw_the_traffic_of_a_gpu_is_not_made_up() -> None:
    content = _of_1()
    content["cases"][0]["traffic_device"] = "cuda:0"
    (case,) = decode(_bytes(content), source="main.json").cases
    assert (case.probe, case.evidence) == ("", None)
    (simulated,) = decode(_bytes(_of_1()), source="main.json").cases
    assert (simulated.probe, simulated.evidence) == ("simulated", Evidence.SIMULATED)


def test_a_case_without_timings_has_no_speeds() -> None:
    content = _of_1()
    content["cases"][0] |= {"sample": None, "throughput": None, "traffic": {}}
    (case,) = decode(_bytes(content), source="main.json").cases
    assert (case.speeds, case.throughput, case.evidence) == ((), None, None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"call_ns": [1.0, -1.0], "peer_ns": []}, "sample.call_ns[1] is -1.0, a time must"),
        ({"call_ns": [], "peer_ns": []}, "sample.call_ns holds no timing"),
        ({"peer_ns": [1.0]}, "peer_ns holds 1 timings for 40 of call_ns"),
        ({"calls_per_value": 0}, "calls_per_value is 0, must be from 1"),
        ({"warmup_calls": -1}, "warmup_calls is -1, must be from 0"),
        ({"seed": 2**63}, "seed does not fit 64 bits"),
        ({"timer": ""}, "timer is '', must say something"),
        ({"timer": None}, "timer is wrong: Expected str, got null"),
        ({"speeds": []}, "sample.speeds is not a field of this format"),
    ],
)
def test_a_damaged_old_file_is_refused_with_its_place(change: dict[str, Any], says: str) -> None:
    content = _of_1()
    content["cases"][0]["sample"] |= change
    with pytest.raises(FileFormatError, match="save it anew") as caught:
        decode(_bytes(content), source="main.json")
    assert says in str(caught.value)


def test_an_edited_old_file_is_refused_by_its_own_digest() -> None:
    content = _of_1()
    sealed = digest(content)
    content["cases"][0]["sample"]["call_ns"][0] = 999_999.0
    data = json.dumps({**content, "digest": sealed}).encode()
    with pytest.raises(FileFormatError, match="edited after it was saved"):
        decode(data, source="main.json")
