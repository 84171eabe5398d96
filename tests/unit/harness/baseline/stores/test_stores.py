"""What every store promises, asked of all three: a folder, a SQLite file, a PostgreSQL server."""

from __future__ import annotations

import random
import re
import sqlite3
import struct
import time
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection, wait

import pytest
from builders import a_sample, a_speed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_writers import (
    a_baseline,
    a_history_record,
    append_until_killed,
    append_with_others,
    report_under,
    started,
)
from work import calls_of

from harness.baseline.stores.base import Store
from harness.baseline.stores.opening import open_store
from harness.errors import ConflictError, ExitCode, FileFormatError, OutputError, UsageError
from harness.model.history import HistoryRecord
from harness.model.measurement import SPEED_PROBABILITIES, Sample, Speed

QUANTILES = len(SPEED_PROBABILITIES)

positive = st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False)
counts = st.integers(0, 2**63 - 1)
seeds = st.integers(-(2**63) + 1, 2**63 - 1)
lines = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=60
).filter(str.strip)
moments = st.builds(
    lambda moment, zone: moment.isoformat() + zone, st.datetimes(), st.sampled_from(("Z", "+00:00"))
)
speeds = st.builds(
    Speed,
    timer=lines,
    rounds=counts,
    calls_per_value=counts,
    seed=seeds,
    call_ns=st.tuples(*[positive] * 3).map(lambda few: (few * QUANTILES)[:QUANTILES]),
    worth=st.floats(0, 1e18),
    relative=st.one_of(st.just(()), positive.map(lambda value: (value,) * QUANTILES)),
    relative_worth=st.floats(0, 1e18),
)
samples = st.builds(
    Sample,
    call_ns=st.lists(st.floats(), max_size=20).map(tuple),
    peer_ns=st.lists(st.floats(), max_size=20).map(tuple),
    calls_per_value=counts,
    warmup_calls=counts,
    timer=lines,
    seed=seeds,
    process_starts=st.lists(counts, max_size=4).map(tuple),
)
records = st.builds(
    HistoryRecord,
    key=lines,
    comparable=lines,
    run_id=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    created=moments,
    commit=st.one_of(st.none(), lines),
    dirty=st.sampled_from((None, False, True)),
    speed=speeds,
    sample=st.one_of(st.none(), samples),
)

in_one_store = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""Every example adds to the same store, under names of its own."""


def in_order(those: list[HistoryRecord]) -> list[HistoryRecord]:
    return sorted(
        (replace(record, sample=None) for record in those),
        key=lambda record: (record.created.replace("Z", "+00:00"), record.run_id, record.key),
    )


def bits(sample: Sample | None) -> object:
    """Equal only for samples that are the same to the last bit, whatever NaN they hold."""
    if sample is None:
        return None
    values = (*sample.call_ns, *sample.peer_ns)
    packed = struct.pack(f"<{len(values)}d", *values)
    return replace(sample, call_ns=(), peer_ns=()), len(sample.call_ns), packed


def test_baselines_are_kept_by_name_until_they_are_removed(place) -> None:
    store: Store = place.store
    assert store.names() == ()
    assert "main" in store.save(a_baseline())
    store.save(a_baseline("a-2"))
    assert store.load("main") == a_baseline()
    assert place.store.names() == ("a-2", "main")
    assert "main" in store.remove("main")
    assert store.names() == ("a-2",)


def test_a_baseline_is_never_overwritten_unless_asked(place) -> None:
    store: Store = place.store
    store.save(a_baseline())
    with pytest.raises(UsageError, match=r"'main' exists in .* was left as it is; .*--replace"):
        store.save(a_baseline(note="second"))
    assert store.load("main") == a_baseline()
    store.save(a_baseline(note="second"), replace=True)
    assert store.load("main") == a_baseline(note="second")


def test_only_what_was_loaded_is_replaced(place) -> None:
    store: Store = place.store
    with pytest.raises(ConflictError, match=r"'main' in .* was changed by another process"):
        store.save(a_baseline(note="second"), instead_of=a_baseline())
    assert store.names() == ()
    store.save(a_baseline())
    store.save(a_baseline(note="second"), instead_of=store.load("main"))
    with pytest.raises(ConflictError, match="left as that made it; save it again"):
        store.save(a_baseline(note="third"), instead_of=a_baseline())
    assert store.load("main") == a_baseline(note="second")


def test_what_cannot_be_saved_leaves_what_was_saved(place) -> None:
    store: Store = place.store
    store.save(a_baseline())
    with pytest.raises(OutputError, match=r"was not saved: \$.environment.soft.note"):
        store.save(a_baseline(note="two\nlines"), replace=True)
    with pytest.raises(UsageError, match=r"'Main' differs from 'main' .* only by case"):
        store.save(a_baseline("Main"), replace=True)
    with pytest.raises(UsageError, match=r"'release/1.2' is not allowed.*use 'release-1.2'"):
        store.save(a_baseline("release/1.2"))
    assert store.load("main") == a_baseline()
    assert store.names() == ("main",)


def test_an_unknown_baseline_is_answered_with_the_known_ones(place) -> None:
    store: Store = place.store
    for use in (store.load, store.remove):
        with pytest.raises(
            UsageError, match="none is saved there; save one: harness baseline save"
        ):
            use("main")
    store.save(a_baseline())
    store.save(a_baseline("nightly"))
    for use in (store.load, store.remove):
        with pytest.raises(
            UsageError, match=r"did you mean 'main'\? known: main, nightly"
        ) as caught:
            use("mian")
        assert caught.value.exit_code is ExitCode.USAGE


def test_an_empty_store_answers_and_appears_only_with_the_first_record(place) -> None:
    store: Store = place.store
    assert store.history() == ()
    assert store.keys() == ()
    assert store.sample("run-1", "softmax/a") is None
    assert store.append([]) == 0
    assert not place.folder.exists() or not any(place.folder.iterdir())


def test_records_come_back_as_they_were_and_their_samples_to_the_last_bit(place) -> None:
    store: Store = place.store
    examples = 0

    @in_one_store
    @given(st.lists(records, max_size=6, unique_by=lambda record: (record.run_id, record.key)))
    def holds(some: list[HistoryRecord]) -> None:
        nonlocal examples
        examples += 1
        named = [replace(one, comparable=f"{examples} {one.comparable}") for one in some]
        named = [replace(one, run_id=f"{examples}-{one.run_id}") for one in named]
        assert store.append(named) == len(named)
        assert store.append(named) == 0
        kept = [one for one in store.history() if one.run_id.startswith(f"{examples}-")]
        assert kept == in_order(named)
        for one in named:
            assert bits(store.sample(one.run_id, one.key)) == bits(one.sample)
        assert {one.key for one in named} <= set(store.keys())

    holds()


def test_a_record_is_added_once_whoever_adds_it_again(place) -> None:
    first = a_history_record(sample=a_sample())
    other = a_history_record(key="softmax/b")
    assert place.store.append([first, first]) == 1
    assert place.store.append([first, other]) == 1
    again = a_history_record(speed=a_speed(call_ns=9e9), sample=a_sample(call_ns=(1.0,)))
    assert place.store.append([again]) == 0
    assert place.store.history() == (replace(first, sample=None), other)
    assert place.store.sample("run-1", "softmax/a") == a_sample()
    assert place.store.sample("run-1", "softmax/b") is None


def test_history_is_narrowed_by_key_and_comparable_and_cut_to_the_newest(place) -> None:
    several = [
        a_history_record(
            f"run-{number}",
            key,
            comparable=comparable,
            created=f"2026-0{1 + number % 3}-0{1 + number}T12:00:00{zone}",
        )
        for number, zone in enumerate(("Z", "+00:00", ".5Z", "Z", "Z"))
        for key in ("b", "a")
        for comparable in ("x" if key == "a" else "y",)
    ]
    store: Store = place.store
    assert store.append(several[::-1]) == 10
    assert store.keys() == ("a", "b")
    ordered = in_order(several)
    for key in (None, "a", "b", "c"):
        for comparable in (None, "x", "y"):
            wanted = tuple(
                one
                for one in ordered
                if key in (None, one.key) and comparable in (None, one.comparable)
            )
            assert store.history(key=key, comparable=comparable) == wanted
            for limit in (0, 1, 3, 99):
                cut = wanted[max(0, len(wanted) - limit) :]
                assert store.history(key=key, comparable=comparable, limit=limit) == cut


def test_the_tails_of_many_cases_are_what_was_known_when_a_run_was_made(place) -> None:
    several = [
        a_history_record(
            f"run-{number}",
            key,
            comparable=comparable,
            created=f"2026-01-{1 + number:02}T12:00:00Z",
        )
        for number in range(9)
        for key, comparable in (("a", "x"), ("b", "x" if number % 2 else "y"), ("c", "z"))
    ]
    store: Store = place.store
    wanted = {"a": {"x"}, "b": {"x", "y"}, "c": {"x"}, "d": {"x"}}
    moment = "2026-01-08T12:00:00+00:00"
    assert store.tails(wanted, run_id="run-7", created=moment, limit=3) == {}
    store.append(several)
    found = store.tails(wanted, run_id="run-7", created=moment, limit=3)
    assert set(found) == {"a", "b"}
    for key in found:
        mine = [one for one in several if one.key == key]
        assert found[key].records == tuple(mine[4:7])
        assert found[key].earlier == 4
    assert store.tails({"b": {"y"}}, run_id="x", created=moment, limit=99)["b"].earlier == 0
    assert store.tails({}, run_id="x", created=moment, limit=3) == {}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"key": "a\nb"}, r"key is 'a\\nb', not one line of text"),
        ({"key": "\udc80"}, "not one line of text"),
        ({"key": "x" * 1001}, "has 1,001 bytes, the most is 1,000"),
        ({"comparable": " "}, "comparable is ' '"),
        ({"commit": "a\0"}, "commit is"),
        ({"run_id": "../run"}, "run_id is '../run', not letters"),
        ({"created": "2026-01-31"}, "created is '2026-01-31', not an ISO 8601 time in UTC"),
        ({"created": "2026-01-31T12:00:00+01:00"}, "not an ISO 8601 time in UTC"),
        ({"speed": replace(a_speed(), call_ns=(1.0,))}, "has 1 and 0 quantiles, not 33"),
        ({"speed": replace(a_speed(), call_ns=(float("nan"),) * 33)}, "holds nan"),
        ({"speed": replace(a_speed(), relative=(0.0,) * 33)}, "relative holds 0.0"),
        ({"speed": replace(a_speed(), worth=float("inf"))}, "worth is inf"),
        ({"speed": replace(a_speed(), seed=2**63)}, "seed does not fit 64 bits"),
        ({"sample": replace(a_sample(), warmup_calls=2**63)}, "does not fit 64 bits"),
        ({"sample": replace(a_sample(), process_starts=(-1,))}, "holds what is no index"),
    ],
)
def test_a_record_that_not_every_store_could_give_back_is_refused_with_all_beside_it(
    folder_place, sqlite_place, change, says
) -> None:
    for store in (folder_place.store, sqlite_place.store):
        with pytest.raises(OutputError, match=says):
            store.append([a_history_record(key="good"), replace(a_history_record(), **change)])
        assert store.history() == ()


def test_sixteen_writers_at_once_lose_nothing_and_add_nothing_twice(place) -> None:
    place.store.save(a_baseline("counted", note="0"))
    processes = [started(append_with_others, place.where, writer) for writer in range(16)]
    for _, pipe in processes:
        pipe.send("go")
    told = [pipe.recv() for _, pipe in processes]
    for process, _ in processes:
        process.join(60)
        assert process.exitcode == 0
    store: Store = place.store
    assert len(store.history()) == sum(new for new, _ in told) == (16 * 4 + 4) * 3
    assert sum(saved for _, saved in told) == 1
    assert store.names() == tuple(
        sorted([*(f"own-{writer}" for writer in range(16)), "counted", "replaced", "shared"])
    )
    assert store.load("counted").environment.soft["note"] == "16"
    for name in store.names():
        assert store.load(name).name == name
    assert store.sample("shared-3", "b") == store.sample("own-15-0", "a") == a_sample()


def _killed_again_and_again(place, *, kills: int, seed: int) -> None:
    """What a process said is there stays there when it is killed at any moment, and everything else is whole."""
    rng, promised = random.Random(seed), []
    for attempt in range(kills):
        process, pipe = started(append_until_killed, place.where, attempt)
        promised.append(pipe.recv())
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        process.join(60)
        promised += _received(pipe)
        store: Store = open_store(place.where, say=lambda line: None)
        kept = {(record.run_id, record.key) for record in store.history()}
        assert {(run_id, f"key-{key}") for run_id in promised for key in range(3)} <= kept
        assert store.sample(promised[-1], "key-2") == a_sample()
        assert store.load("rolling").environment.soft["note"].startswith(f"{attempt}-")
        # whatever was begun can be added as if it had not been
        store.append([a_history_record(f"run-{attempt}-after", sample=a_sample())])
    assert len(promised) >= kills


def _received(pipe: Connection) -> list[str]:
    got = []
    try:
        while wait([pipe], timeout=0):
            got.append(pipe.recv())
    except (EOFError, OSError):  # cut off by the kill
        pass
    return got


def test_a_writer_killed_at_any_moment_loses_nothing_it_had_promised(place) -> None:
    _killed_again_and_again(place, kills=12, seed=1)


@pytest.mark.slow
def test_a_writer_killed_hundreds_of_times_loses_nothing_it_had_promised(place) -> None:
    _killed_again_and_again(place, kills=150, seed=2)


def _in_a_process(place, hindrance: str) -> list[object]:
    process, pipe = started(report_under, place.where, hindrance)
    said: list[object] = pipe.recv()
    process.join(60)
    return said


def _hinder_the_server(place, hindrance: str) -> None:
    """PostgreSQL fails by itself; what its own file system or a standby would say is asked of it."""
    tables = [f"{place.schema}.harness_{name}" for name in ("history", "baselines")]
    if hindrance == "read-only":
        place.server.run_sql(
            f"CREATE ROLE {place.schema} LOGIN",
            f"GRANT USAGE ON SCHEMA {place.schema} TO {place.schema}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {place.schema} TO {place.schema}",
        )
        return
    place.server.run_sql(
        f"CREATE FUNCTION {place.schema}.disk_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$",
        *(
            f"CREATE TRIGGER disk_full BEFORE INSERT ON {table} FOR EACH STATEMENT "
            f"EXECUTE FUNCTION {place.schema}.disk_full()"
            for table in tables
        ),
    )


@pytest.mark.parametrize(
    ("hindrance", "says"),
    [
        ("read-only", "Permission denied|readonly database|permission denied for table"),
        ("full disk", "File too large|disk I/O error|database or disk is full|No space left"),
    ],
)
def test_a_store_that_cannot_be_written_says_so_once_and_keeps_what_it_has(
    place, hindrance: str, says: str
) -> None:
    place.store.append([a_history_record(sample=a_sample())])
    place.store.save(a_baseline())
    hindered = place
    if place.server is not None:
        _hinder_the_server(place, hindrance)
        if hindrance == "read-only":
            hindered = replace(place, where=place.where.replace("postgres@", f"{place.schema}@"))
    read, *writes = _in_a_process(hindered, hindrance)
    assert read == 1
    for name, status, line in writes:
        assert (name, status) == ("OutputError", 2), line
        assert re.search(says, line), line
        assert "\n" not in line
    assert place.store.history() == (a_history_record(),)
    assert place.store.names() == ("main",)
    assert place.store.sample("run-1", "softmax/a") == a_sample()


def _of_a_newer_schema(place) -> None:
    if place.kind == "folder":
        (path,) = (place.folder / "history").glob("*.jsonl")
        path.write_bytes(path.read_bytes().replace(b'_version":1', b'_version":7'))
    elif place.kind == "sqlite":
        with closing(sqlite3.connect(place.folder / "history.db")) as connection:
            connection.execute("UPDATE harness_meta SET schema_version = 7")
            connection.commit()
    else:
        place.server.run_sql(f"UPDATE {place.schema}.harness_meta SET schema_version = 7")


def test_a_newer_schema_is_refused_by_name_and_left_as_it_is(place) -> None:
    place.store.append([a_history_record()])
    _of_a_newer_schema(place)
    for act in (place.store.history, place.store.keys):
        with pytest.raises(
            FileFormatError, match=r"schema_version 7, this harness reads.* upgrade"
        ):
            act()
    if place.kind != "folder":  # lines of several versions can stand in one file
        with pytest.raises(FileFormatError, match="schema_version 7, this harness reads up to 1"):
            place.store.append([a_history_record("next")])


def _damage(place) -> None:
    if place.kind == "folder":
        (path,) = (place.folder / "history").glob("*.jsonl")
        path.write_bytes(path.read_bytes().replace(b'"call_ns":[', b'"call_ns":[true,'))
    elif place.kind == "sqlite":
        path = place.folder / "history.db"
        path.write_bytes(b"not a database, much longer than the header of one, " * 20)
    else:
        place.server.run_sql(f"ALTER TABLE {place.schema}.harness_history DROP COLUMN speed")


def test_a_damaged_store_is_refused_in_one_line_that_names_it(place) -> None:
    place.store.append([a_history_record()])
    _damage(place)
    with pytest.raises(FileFormatError) as caught:
        place.store.history()
    assert str(caught.value).startswith(place.where.replace("postgres:", "postgres"))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_history_of_several_fetches_is_read_whole_and_in_proportion(place) -> None:
    made = [a_history_record(f"run-{n // 100:03}", f"case-{n % 100:02}") for n in range(12_000)]
    place.store.append(made[:6_000])
    half = calls_of(place.store.history)
    place.store.append(made[6_000:])
    assert [(r.run_id, r.key) for r in place.store.history()] == [(r.run_id, r.key) for r in made]
    assert calls_of(place.store.history) < 2.2 * half
