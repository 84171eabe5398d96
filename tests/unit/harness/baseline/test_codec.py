"""The baseline's file format: everything saved loads again, everything else is refused by name."""

from __future__ import annotations

import copy
import json
import math
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from work import calls_of

from harness.baseline.codec import FORMAT, LARGEST_FILE_BYTES, decode, encode
from harness.baseline.layout import digest
from harness.errors import FileFormatError, OutputError
from harness.model.baseline import LATEST_KEPT, SCHEMA_VERSION, Baseline, BaselineCase
from harness.model.environment import Environment
from harness.model.measurement import SPEED_PROBABILITIES, Speed, Throughput
from harness.model.outcome import Evidence
from harness.model.trace import TrafficCounts

_SOURCE = "baselines/main.json"
_words = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=12
).filter(str.strip)
_facts = st.dictionaries(_words, _words, max_size=3)
_QUANTILES = len(SPEED_PROBABILITIES)
_times = st.floats(0.001, 1e18)
_created = st.datetimes().map(lambda time: f"{time.isoformat()}+00:00")
_amounts = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
_counts = st.integers(0, 2**53)
_traffic = st.builds(
    TrafficCounts,
    d2h=st.integers(1, 2**53),
    h2d=st.integers(1, 2**53),
    **dict.fromkeys(
        ("d2d", "d2h_bytes", "h2d_bytes", "syncs", "blocking_copies", "memsets", "kernels"), _counts
    ),
)


def _quantiles(values: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, ...]]:
    """A non-decreasing function in few draws: some values, each repeated."""
    few = st.lists(values, min_size=1, max_size=4)
    return few.map(lambda drawn: tuple(sorted(drawn * _QUANTILES)[:: len(drawn)]))


@st.composite
def _speeds(draw: st.DrawFn) -> Speed:
    rounds = draw(st.integers(1, 2**53))
    relative = draw(st.just(()) | _quantiles(st.floats(1e-20, 1e20)))
    worth = st.floats(1, rounds)
    return Speed(
        timer=draw(_words),
        rounds=rounds,
        calls_per_value=draw(st.integers(1, 2**53)),
        seed=draw(st.integers(-(2**63) + 1, 2**63 - 1)),
        call_ns=draw(_quantiles(_times)),
        worth=draw(worth),
        relative=relative,
        relative_worth=draw(worth) if relative else 0.0,
        commit=draw(st.none() | _words),
        created=draw(st.just("") | _created),
    )


_cases = st.builds(
    BaselineCase,
    key=_words,
    parameters=_facts,
    traffic_device=_words,
    timing_device=_words,
    traffic=st.dictionaries(_words, _traffic, max_size=2),
    probe=st.just("") | _words,
    evidence=st.none() | st.sampled_from(Evidence),
    speeds=st.lists(_speeds(), max_size=3).map(tuple),
    throughput=st.none()
    | st.builds(Throughput, unit=_words, units_per_call=_amounts, bytes_per_call=_counts),
    margin=st.none() | st.floats(0.001, 0.999),
)
_baselines = st.builds(
    Baseline,
    name=st.from_regex(r"m[A-Za-z0-9._-]{0,20}[a-z]", fullmatch=True),
    created=_created,
    environment=st.builds(
        Environment,
        hard=_facts,
        soft=_facts,
        commit=st.none() | _words,
        dirty=st.none() | st.booleans(),
    ),
    cases=st.lists(_cases, max_size=3, unique_by=lambda case: case.key).map(tuple),
)


def _a_baseline() -> Baseline:
    case = BaselineCase(
        key="softmax_cross_entropy/64x10-float32",
        parameters={"dtype": "float32"},
        traffic_device="simulated",
        timing_device="cpu",
        traffic={"forward": TrafficCounts(d2h=1, d2h_bytes=4, syncs=1)},
        probe="simulated",
        evidence=Evidence.SIMULATED,
        speeds=(_A_SPEED, replace(_A_SPEED, relative=(), relative_worth=0.0, commit=None)),
        throughput=Throughput(unit="samples", units_per_call=64.5, bytes_per_call=2560),
        margin=0.02,
    )
    return Baseline(
        name="main",
        created="2026-01-31T12:00:00Z",
        environment=Environment(hard={"cpu.model": "AMD EPYC™"}, commit="ab" * 20, dirty=False),
        cases=(case, replace(case, key="mlp/seed0", speeds=())),
    )


_A_SPEED = Speed(
    timer="perf_counter",
    rounds=60,
    calls_per_value=4,
    seed=7,
    call_ns=(*(1e6 + 1000 * step for step in range(_QUANTILES - 1)), 1e16),
    worth=41.5,
    relative=tuple(1.25 + step / 64 for step in range(_QUANTILES)),
    relative_worth=59.5,
    commit="ab" * 20,
    created="2026-01-31T12:00:00Z",
)


def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(encode(_a_baseline()), parse_int=_number)
    document["cases"][0]["speeds"][1]["relative_worth"] = 0.0
    return document


def _number(text: str) -> float | int:
    """The numbers of a file as the types of their fields have them: no count in it is as large as a time."""
    return float(text) if len(text) > 6 else int(text)


def _bytes(document: Any, *, seal: bool = True) -> bytes:
    """The document as a file whose digest, unless told otherwise, was made to fit again."""
    if seal and isinstance(document, dict) and "digest" in document:
        content = {key: value for key, value in document.items() if key != "digest"}
        document = {**content, "digest": digest(content)}
    return json.dumps(document).encode()


def _refusal(data: bytes) -> str:
    with pytest.raises(FileFormatError) as caught:
        decode(data, source=_SOURCE)
    message = str(caught.value)
    assert message.startswith(f"{_SOURCE}: ")
    assert message.isprintable()
    assert len(message) < 600
    assert ";" in message  # what is wrong; what to do next
    return message


@given(_baselines)
def test_a_saved_baseline_loads_as_the_same_baseline_and_saves_as_the_same_bytes(
    baseline: Baseline,
) -> None:
    data = encode(baseline)
    assert decode(data, source=_SOURCE) == baseline
    assert encode(decode(data, source=_SOURCE)) == data


def test_the_file_reads_well_in_a_review() -> None:
    text = encode(_a_baseline()).decode()
    assert '\n          "call_ns": [1000000, 1001000, 1002000, ' in text
    assert ", 1031000, 1e+16],\n" in text
    assert '\n          "relative": [1.25, 1.265625, ' in text
    assert '"cpu.model": "AMD EPYC™"' in text
    assert text.endswith("}\n")
    document = json.loads(text)
    assert list(document) == sorted(document)
    assert (document["format"], document["schema_version"]) == (FORMAT, SCHEMA_VERSION)


def test_numpy_scalars_and_read_only_mappings_are_saved_as_plain_values() -> None:
    plain = _a_baseline()
    case = plain.cases[0]
    case = replace(
        case,
        speeds=tuple(replace(one, call_ns=tuple(np.array(one.call_ns))) for one in case.speeds),
        parameters=types.MappingProxyType(dict(case.parameters)),
    )
    assert encode(replace(plain, cases=(case, plain.cases[1]))) == encode(plain)


@pytest.mark.parametrize("reformat", [json.dumps, lambda d: json.dumps(d, indent=8)])
def test_a_reformatted_file_still_loads(reformat: Callable[[Any], str]) -> None:
    text = reformat(_document()).replace("\n", "\r\n")
    assert decode(b"\xef\xbb\xbf" + text.encode(), source=_SOURCE) == _a_baseline()


def _set(*path: str | int, to: Any) -> Callable[[Any], None]:
    def edit(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = to

    return edit


def _drop(*path: str | int) -> Callable[[Any], None]:
    def edit(document: Any) -> None:
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return edit


_FIRST = ("cases", 0)
_SPEED = (*_FIRST, "speeds", 0)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_set(*_SPEED, "call_ns", 0, to=-1.5), "speeds[0].call_ns[0] is -1.5, a time must be"),
        (_set(*_SPEED, "call_ns", 1, to=0), "speeds[0].call_ns[1] is 0.0, a time must be from"),
        (_set(*_SPEED, "call_ns", 1, to=math.nan), "speeds[0].call_ns[1] is nan, a time must"),
        (_set(*_SPEED, "call_ns", 32, to=math.inf), "speeds[0].call_ns[32] is inf, a time must"),
        (_set(*_SPEED, "call_ns", 2, to=1e6), "call_ns[2] is 1000000.0 after 1001000.0, quanti"),
        (_set(*_SPEED, "call_ns", to=[]), "call_ns holds 0 quantiles, must hold 33"),
        (_set(*_SPEED, "call_ns", 0, to="1"), "call_ns[0] is wrong: Expected float, got str"),
        (_set(*_SPEED, "call_ns", 0, to=10**400), "call_ns[0] is wrong: Number out of"),
        (_set(*_SPEED, "relative", to=[1.0]), "relative holds 1 quantiles, must hold 33"),
        (_set(*_SPEED, "relative", 0, to=0), "relative[0] is 0.0, a ratio must be from 1.0"),
        (_set(*_SPEED, "relative", 32, to=1), "relative[32] is 1.0 after 1.734375, quantiles"),
        (_set(*_SPEED, "relative", to=[]), "relative_worth is 59.5, but no ratio to a peer was"),
        (_set(*_SPEED, "relative_worth", to=0), "relative_worth is 0.0, must be from 1 to the 60"),
        (_set(*_SPEED, "worth", to=60.5), "worth is 60.5, must be from 1 to the 60 of rounds"),
        (_set(*_SPEED, "worth", to=math.nan), "worth is nan, must be from 1 to the 60 of rounds"),
        (_set(*_SPEED, "rounds", to=0), "rounds is 0, must be from 1"),
        (_set(*_SPEED, "calls_per_value", to=0), "calls_per_value is 0, must be from 1"),
        (_set(*_SPEED, "seed", to=2**63), "speeds[0].seed does not fit 64 bits"),
        (_set(*_SPEED, "commit", to=""), "speeds[0].commit is '', must say something"),
        (_set(*_SPEED, "created", to="once"), "speeds[0].created is 'once', not an ISO 8601"),
        (_set(*_SPEED, "timer", to=" "), "speeds[0].timer is ' ', must say something"),
        (_set(*_FIRST, "speeds", to=[{}] * 12), "speeds[0] is wrong: Object missing required"),
        (_drop(*_SPEED, "relative"), "speeds[0].relative is missing"),
        (_set(*_FIRST, "margin", to=1), "cases[0].margin is 1.0, must be a fraction between 0"),
        (_set(*_FIRST, "margin", to=0), "cases[0].margin is 0.0, must be a fraction between 0"),
        (_set(*_FIRST, "evidence", to="SURE"), "evidence is wrong: Invalid enum value"),
        (_set(*_FIRST, "probe", to="a\nb"), "$.cases[0].probe is 'a\\nb', not one line"),
        (_set(*_FIRST, "throughput", "units_per_call", to=-1), "units_per_call is -1.0, must be"),
        (_set(*_FIRST, "traffic", "forward", "syncs", to=-1), "traffic.forward.syncs is -1, must"),
        (_set(*_FIRST, "traffic", "forward", "syncs", to=True), "Expected int, got bool"),
        (_set(*_FIRST, "traffic", "forward", "d2h", to=0), "d2h_bytes is 4, but no copy moved"),
        (_set(*_FIRST, "traffic", "forward", "d2x", to=0), "forward.d2x is not a field of this"),
        (_drop(*_FIRST, "traffic", "forward", "d2d"), "cases[0].traffic.forward.d2d is missing"),
        (_set(*_FIRST, "traffic", "a b", to={}), "$.cases[0].traffic['a b'].blocking_copies is"),
        (_set(*_FIRST, "parameters", "dtype", to="a\nb"), "parameters.dtype is 'a\\nb', not one"),
        (_set(*_FIRST, "key", to="mlp/seed0"), "cases[1].key repeats 'mlp/seed0' of $.cases[0]"),
        (_set(*_FIRST, "key", to=" "), "$.cases[0].key is ' ', must say something"),
        (_drop(*_FIRST, "key"), "$.cases[0] is wrong: Object missing required field key"),
        (_set(*_FIRST, "notes", to=[[1]] * 99), "$.cases[0].notes is not a field of this format"),
        (_set("cases", to={}), "$.cases is wrong: Expected array, got object"),
        (_set("environment", "hard", "os\ud800", to="x"), "is 'os\\ud800', not one line of text"),
        (_set("environment", "commit", to=""), "$.environment.commit is '', must say something"),
        (_drop("environment", "dirty"), "$.environment.dirty is missing"),
        (_set("name", to="../main"), "$.name is '../main': a baseline's name is made of ASCII"),
        (_set("created", to="yesterday"), "$.created is 'yesterday', not an ISO 8601 time in UTC"),
        (_set("created", to="2026-01-31T12:00:00+01:00"), "12:00:00+01:00', not an ISO 8601"),
        (_set("created", to="2026-01-31T12:00:00"), "12:00:00', not an ISO 8601 time in UTC"),
        (_set("schema_version", to="1"), "$.schema_version is '1', must be a whole number"),
        (_set("schema_version", to=True), "$.schema_version is True, must be a whole number"),
        (_set("schema_version", to=0), "$.schema_version is 0, this harness reads from 1; restore"),
        (_set("schema_version", to=3), "is 3, this harness reads up to 2; upgrade with: python -m"),
        (_drop("schema_version"), "$.schema_version is None, must be a whole number"),
        (_drop("format"), "is not marked as a baseline"),
        (_set("format", to="ondevice-harness run"), "\"format\" is 'ondevice-harness run', not"),
    ],
)
def test_an_edit_into_nonsense_is_refused_with_its_place(
    edit: Callable[[Any], None], says: str
) -> None:
    document = _document()
    edit(document)
    assert says in _refusal(_bytes(document))


def test_an_edit_that_stays_valid_is_refused_by_the_digest() -> None:
    document = _document()
    document["cases"][0]["speeds"][0]["call_ns"][0] = 1.5
    message = _refusal(_bytes(document, seal=False))
    assert "$.digest does not fit the content, which was edited after it was saved" in message
    assert decode(_bytes(document), source=_SOURCE).cases[0].speeds[0].call_ns[0] == 1.5  # sealed
    del document["digest"]
    assert "$.digest is missing" in _refusal(_bytes(document))


def test_a_newer_file_is_refused_for_its_version_whatever_else_changed() -> None:
    newer = {"format": FORMAT, "schema_version": SCHEMA_VERSION + 1, "cases": "elsewhere"}
    assert "upgrade" in _refusal(_bytes(newer))


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        (b'"d2h": 1', b'"d2h": 0, "d2h": 1', "$.cases[0].traffic.forward has the key 'd2h' twice"),
        (b'"name": "main"', b'"name": "main", "name": "main"', "$ has the key 'name' twice"),
    ],
)
def test_a_repeated_key_is_refused_with_its_place(before: bytes, after: bytes, place: str) -> None:
    data = encode(_a_baseline())
    assert before in data
    assert place in _refusal(data.replace(before, after, 1))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty (0 B)"),
        (b" \n", "is empty (2 B)"),
        (b"\x1f\x8b\x08\x00", "is not UTF-8 text (byte 0x8b at offset 1)"),
        ('{"a": 1}'.encode("utf-16"), "is not UTF-8 text (byte 0xff at offset 0)"),
        (b"# Baselines\n", "is not JSON (Expecting value) at line 1 column 1"),
        (b"[]", "$ is a list, not a baseline"),
        (b"3", "$ is a single value, not a baseline"),
        (b"{}", "is not marked as a baseline"),
        (b"[" * 100_000, "nests deeper than any baseline"),
        (b"1" * 5000, "holds a whole number of thousands of digits"),
        (b'{"a": 1,\n<<<<<<< HEAD\n', "holds a merge conflict at line 2; take one side"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer"),
        (b" " * (LARGEST_FILE_BYTES + 1), "is larger than 67.1 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_baseline_at_all_is_called_what_it_is(data: bytes, says: str) -> None:
    assert says in _refusal(data)


@pytest.mark.parametrize(
    ("keys", "tool"),
    [
        ("machine_info commit_info benchmarks datetime version", "pytest-benchmark"),
        ("meta devices benchmarks", "NVBench"),
        ("context benchmarks", "Google Benchmark"),
        ("benchmarks metadata version", "pyperf"),
        ("commit_hash env_name results", "airspeed velocity"),
        ("schemaVersion traceEvents", "torch.profiler"),
    ],
)
def test_another_tools_file_is_called_by_its_tool(keys: str, tool: str) -> None:
    message = _refusal(json.dumps(dict.fromkeys(keys.split())).encode())
    assert "was written by" in message
    assert tool in message


def test_every_truncation_is_refused_and_said_to_be_one() -> None:
    data = encode(_a_baseline()).rstrip()
    for length in range(1, len(data)):
        text = data[:length].decode(errors="ignore").encode()
        assert "is cut off at line" in _refusal(text)


def _loaded(data: bytes) -> Baseline | str:
    """The baseline, or why it was refused; any other exception is a defect."""
    try:
        return decode(data, source=_SOURCE)
    except FileFormatError as error:
        return str(error)


def _assert_loads_or_is_refused(data: bytes) -> None:
    match _loaded(data):
        case str(message):
            assert message.startswith(f"{_SOURCE}: ")
            assert message.isprintable()
        case baseline:
            assert decode(encode(baseline), source=_SOURCE) == baseline


@given(st.binary(max_size=200))
@example(b'{"format": "\\ud800"}')
def test_arbitrary_bytes_load_or_are_refused(data: bytes) -> None:
    _assert_loads_or_is_refused(data)


_VALID = encode(_a_baseline())


@given(st.integers(0, len(_VALID)), st.integers(0, 40), st.binary(max_size=8))
def test_a_damaged_file_is_refused_or_still_the_same(start: int, cut: int, added: bytes) -> None:
    damaged = _VALID[:start] + added + _VALID[start + cut :]
    loaded = _loaded(damaged)
    assert isinstance(loaded, str) or loaded == _a_baseline()  # then only layout was touched


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(st.characters(), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@given(st.data())
def test_any_value_at_any_place_loads_or_is_refused_even_with_a_fitting_digest(
    data: st.DataObject,
) -> None:
    document = copy.deepcopy(_document())
    node: Any = document
    while True:
        key = data.draw(st.sampled_from(list(node) if isinstance(node, dict) else range(len(node))))
        if isinstance(node[key], (dict, list)) and node[key] and data.draw(st.booleans()):
            node = node[key]
            continue
        node[key] = data.draw(_json)
        break
    _assert_loads_or_is_refused(_bytes(document))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": "a/b"}, "$.name is 'a/b'"),
        ({"schema_version": 1}, "$.schema_version is 1, must be 2"),
        ({"created": "now"}, "$.created"),
        ({"environment": Environment(hard={"cores": 2})}, "$.environment.hard"),  # type: ignore[dict-item]
        ({"cases": (_a_baseline().cases[0],) * 2}, "$.cases[1].key repeats"),
    ],
)
def test_what_could_not_be_loaded_again_is_not_saved(change: dict[str, Any], says: str) -> None:
    with pytest.raises(OutputError, match="was not saved") as caught:
        encode(replace(_a_baseline(), **change))
    assert says in str(caught.value)


def test_a_history_longer_than_is_kept_is_not_saved() -> None:
    case = replace(_a_baseline().cases[0], speeds=(_A_SPEED,) * (2 + LATEST_KEPT))
    with pytest.raises(OutputError, match=r"speeds holds 12, at most an anchor and 10 later ones"):
        encode(replace(_a_baseline(), cases=(case,)))


def test_eight_timed_cases_are_a_few_kilobytes_however_long_their_history() -> None:
    times = tuple(float(f"{1.23456e7 + 12345 * step:.5g}") for step in range(_QUANTILES))
    ratios = tuple(float(f"{1.23456 + step / 1000:.5g}") for step in range(_QUANTILES))
    speed = replace(_A_SPEED, call_ns=times, relative=ratios)
    for speeds, most_bytes in (((speed,), 1_600 * 8), ((speed,) * (1 + LATEST_KEPT), 11_000 * 8)):
        cases = [replace(_a_baseline().cases[0], key=f"op/{n}", speeds=speeds) for n in range(8)]
        assert len(encode(replace(_a_baseline(), cases=tuple(cases)))) < most_bytes


def test_twice_as_many_cases_are_twice_the_work_to_load() -> None:
    case = _a_baseline().cases[0]
    cases = tuple(replace(case, key=f"op/{n}", speeds=(_A_SPEED,) * 2) for n in range(400))
    whole, half = (
        encode(replace(_a_baseline(), cases=some)) for some in (cases, cases[: len(cases) // 2])
    )
    work = calls_of(lambda: decode(whole, source=_SOURCE))
    assert work < 2.2 * calls_of(lambda: decode(half, source=_SOURCE))


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("baselines/main.json", "harness baseline save main --replace --new-anchor --drop"),
        ("perf/v1.2.json", "harness baseline save v1.2 --replace --new-anchor --drop --store perf"),
        (
            "postgresql://ci:***@h/d, baseline 'main'",
            "harness baseline save main --replace --new-anchor --drop --store postgresql://ci@h/d",
        ),
        ("/tmp/.json", "harness baseline save main"),
    ],
)
def test_a_damaged_baseline_is_answered_by_the_command_that_saves_it_anew(
    source: str, command: str
) -> None:
    for data in (b"{", b"{}"):
        with pytest.raises(FileFormatError) as caught:
            decode(data, source=source)
        assert str(caught.value).endswith(command)


def test_zeros_are_no_text_that_was_cut_off() -> None:
    for data in (b"\0", b"\0" * 4096, b"\0\0\n"):
        message = _refusal(data)
        assert "holds no text, only" in message
        assert "cut off" not in message
