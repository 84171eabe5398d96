"""Databases that are locked, down, lost in the middle or somebody else's: one clear line, and no password in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from builders import a_sample
from postgres_server import PostgresServer, missing
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError
from store_writers import a_baseline, a_history_record

from harness.baseline.stores.opening import open_store
from harness.baseline.stores.sql import SqlStore
from harness.baseline.stores.sql_database import postgresql_database, sqlite_database
from harness.baseline.stores.sql_errors import explained
from harness.errors import ExitCode, FileFormatError, HarnessError, OutputError, UnavailableError


def _impatient(place) -> SqlStore:
    if place.kind == "sqlite":
        return SqlStore(sqlite_database(place.folder / "history.db", where=place.where, wait_s=0.2))
    return SqlStore(postgresql_database(make_url(place.where), where=place.where, wait_s=0.2))


@contextmanager
def _locked(place) -> Iterator[None]:
    """Another program that began to write and does not end."""
    if place.kind == "sqlite":
        with closing(sqlite3.connect(place.folder / "history.db")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
        return
    import psycopg

    with psycopg.connect(host=str(place.server.folder), user="postgres", dbname="postgres") as one:
        one.execute(f"LOCK TABLE {place.schema}.harness_history IN EXCLUSIVE MODE")
        yield


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest):
    fixture = {"sqlite": "sqlite_place", "postgresql": "postgres_place"}[request.param]
    return request.getfixturevalue(fixture)


def test_a_locked_database_is_waited_for_and_then_told_while_reading_goes_on(database) -> None:
    store = _impatient(database)
    store.append([a_history_record()])
    with _locked(database):
        with pytest.raises(OutputError, match=r"process keeps it locked|lock timeout") as caught:
            store.append([a_history_record("run-2")])
        assert "try again" in str(caught.value) or "add it again" in str(caught.value)
        assert len(store.history()) == 1
    assert store.append([a_history_record("run-2")]) == 1


def test_a_database_of_something_else_is_left_alone(sqlite_place) -> None:
    sqlite_place.folder.mkdir()
    path = sqlite_place.folder / "history.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    before = path.read_bytes()
    assert sqlite_place.store.history() == ()
    with pytest.raises(FileFormatError, match=r"something else .*'StringIds'.*; name another file"):
        sqlite_place.store.append([a_history_record()])
    assert path.read_bytes() == before


def test_a_new_file_that_another_program_keeps_locked_is_told_too(sqlite_place) -> None:
    sqlite_place.folder.mkdir()
    with _locked(sqlite_place), pytest.raises(OutputError, match=r"locked; .* try again"):
        _impatient(sqlite_place).append([a_history_record()])
    assert _impatient(sqlite_place).append([a_history_record()]) == 1


def test_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}")
    with pytest.raises(OutputError, match="unable to open database file; see that the folder"):
        store.append([a_history_record()])
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file was not created: "):
        open_store(f"sqlite:///{tmp_path}/file/x.db").append([a_history_record()])


def test_a_damaged_sample_or_baseline_is_told_by_its_place(database) -> None:
    store = database.store
    store.append([a_history_record(sample=a_sample())])
    store.save(a_baseline())
    statements = (
        "UPDATE {0}harness_baselines SET content = '{{'",
        "UPDATE {0}harness_samples SET data = substr(data, 1, 20)",
        "UPDATE {0}harness_history SET speed = '{{}}'",
    )
    prefix = f"{database.schema}." if database.schema else ""
    if database.kind == "sqlite":
        with closing(sqlite3.connect(database.folder / "history.db")) as connection:
            for statement in statements:
                connection.execute(statement.format(prefix))
            connection.commit()
    else:
        database.server.run_sql(*(statement.format(prefix) for statement in statements))
    with pytest.raises(FileFormatError, match="baseline 'main': is cut off"):
        store.load("main")
    with pytest.raises(FileFormatError, match=r"sample of softmax/a in run-1 cannot be read"):
        store.sample("run-1", "softmax/a")
    with pytest.raises(FileFormatError, match="holds a damaged speed"):
        store.history()
    assert store.keys() == ("softmax/a",)


def test_write_ahead_logging_is_on_so_that_readers_do_not_wait(sqlite_place) -> None:
    sqlite_place.store.append([a_history_record()])
    with closing(sqlite3.connect(sqlite_place.folder / "history.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def _refused(where: str) -> Iterator[HarnessError]:
    """What opening and every kind of use say of a store that cannot be used."""
    for use in (
        lambda store: store.keys(),
        lambda store: store.append([a_history_record()]),
        lambda store: store.save(a_baseline()),
    ):
        with pytest.raises(HarnessError) as caught:
            use(open_store(where))
        yield caught.value


@pytest.mark.parametrize(
    "login",
    ["u:s3cret@localhost:1", "u:s3cret@no-host.invalid", "u:s3cret@h:port", "u:s3@cret@localhost:1",
     "u:s3cret@/x?host=/nowhere&z=", "u@localhost:1/x?password=s3cret&z=", "u:s3:cret@[::1"],
)  # fmt: skip
def test_no_message_shows_a_password(login: str) -> None:
    pytest.importorskip("psycopg", reason="python -m pip install 'ondevice-harness[postgres]'")
    for error in _refused(f"postgresql://{login}/x"):
        assert error.exit_code in (ExitCode.UNAVAILABLE, ExitCode.USAGE)
        line = str(error)
        assert "\n" not in line
        assert "s3" not in line
        assert "cret" not in line
        assert "***" in line


def test_a_wrong_password_is_told_without_it(postgres: PostgresServer) -> None:
    for error in _refused(postgres.url(user="guarded", password="falsch-99")):
        assert isinstance(error, UnavailableError)
        assert "password authentication failed for user" in str(error)
        assert str(error).endswith(
            "give the password of this user, in PGPASSWORD or ~/.pgpass or the URL"
        )
        assert "falsch" not in str(error)
    with pytest.raises(
        OutputError, match=r"permission denied for schema public.*; grant this user"
    ):
        open_store(postgres.url(user="guarded", password="geheim")).append([a_history_record()])


def test_a_connection_cut_in_the_middle_costs_one_call_and_nothing_that_was_there(
    postgres_place,
) -> None:
    store = postgres_place.store
    store.append([a_history_record()])
    cut = (
        f"CREATE FUNCTION {postgres_place.schema}.cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$"
    )
    postgres_place.server.run_sql(
        cut,
        f"CREATE TRIGGER cut AFTER INSERT ON {postgres_place.schema}.harness_samples "
        f"FOR EACH ROW EXECUTE FUNCTION {postgres_place.schema}.cut()",
    )
    with pytest.raises(
        UnavailableError, match=r"terminating connection.*; see that the server runs"
    ):
        store.append([a_history_record("run-2", sample=a_sample())])
    assert len(store.history()) == 1
    postgres_place.server.run_sql(f"DROP TRIGGER cut ON {postgres_place.schema}.harness_samples")
    assert store.append([a_history_record(), a_history_record("run-2", sample=a_sample())]) == 1


def test_a_server_that_stops_between_two_calls_keeps_all_and_takes_the_rest_later() -> None:
    if reason := missing():
        pytest.skip(reason)
    server = PostgresServer.create()
    try:
        store = open_store(server.url())
        store.append([a_history_record()])
        server.stop()
        for use in (store.keys, lambda: store.append([a_history_record("run-2")])):
            with pytest.raises(UnavailableError, match=r"cannot be reached: .*see that the server"):
                use()
        server.start()
        assert store.append([a_history_record(), a_history_record("run-2")]) == 1
        assert [record.run_id for record in store.history()] == ["run-1", "run-2"]
    finally:
        server.remove()


class _RefusedError(Exception):
    """What a driver raises where a connection is refused; mostly without an SQLSTATE."""

    def __init__(self, text: str, sqlstate: str | None = None) -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("text", "code", "step"),
    [
        ('FATAL: password authentication failed for user "u"', None, "give the password"),
        ("fe_sendauth: no password supplied", None, "give the password"),
        ("falsches Passwort", "28P01", "give the password"),
        ('FATAL: database "d" does not exist', None, "create the database there"),
        ("Datenbank fehlt", "3D000", "create the database there"),
        ('FATAL: role "u" does not exist', None, "name a user whom that server knows"),
        ("FATAL: no pg_hba.conf entry for host", "28000", "name a user whom that server knows"),
        ("connection refused", None, "see that the server runs and the URL is right"),
        ("shutting down", "57P01", "see that the server runs and the URL is right"),
    ],
)
def test_what_a_server_refuses_is_answered_by_what_lets_it_in(
    text: str, code: str | None, step: str
) -> None:
    error = OperationalError("", {}, _RefusedError(text, code))
    told = explained(error, "postgresql://u@h/d", doing="was not written")
    assert isinstance(told, UnavailableError)
    assert step in str(told)
    assert ("server runs" in str(told)) == step.startswith("see that")
