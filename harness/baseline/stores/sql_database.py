"""Connections to a SQLite file or a PostgreSQL server, each for one transaction.

No connection is kept: a run takes minutes between two calls, in which a server may restart, and connecting takes
milliseconds.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from harness.baseline.stores.base import WAIT_S
from harness.baseline.stores.sql_errors import explained
from harness.baseline.stores.sql_schema import META, check, is_prepared, prepare
from harness.errors import OutputError, UnavailableError

__all__ = ["Database", "postgresql_database", "sqlite_database"]

_CONNECT_S = 10
"""A server that does not answer by then is down or behind a firewall that says nothing."""

_POLL_S = 0.01
"""Between two tries to switch a new file to write-ahead logging, which SQLite does not wait for itself."""

_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")

Opened = Callable[[bool], sa.Engine | None]
"""Gives the engine for writing or, when false, for reading; ``None`` where there is nothing to read."""


class Database:
    """Transactions on one database. ``where`` names it without password, ``secrets`` must not be shown."""

    def __init__(
        self, where: str, opened: Opened, *, secrets: Sequence[str] = (), wait_s: float = WAIT_S
    ) -> None:
        self.where = where
        self._opened = opened
        self._secrets = tuple(filter(None, secrets))
        self._wait_s = wait_s

    @contextmanager
    def written(self) -> Iterator[sa.Connection]:
        """A transaction that writes, with the tables there; committed at the end, undone by any exception."""
        with self._explained("was not written"):
            engine = self._opened(True)
            assert engine is not None
            with engine.connect() as connection, connection.begin():
                self._begin(connection, writing=True)
                prepare(connection, where=self.where)
                yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection | None]:
        """A transaction that only reads; ``None`` where nothing was ever written."""
        with self._explained("cannot be read"):
            engine = self._opened(False)
            if engine is None:
                yield None
                return
            with engine.connect() as connection, connection.begin():
                self._begin(connection, writing=False)
                if not is_prepared(connection):
                    yield None
                    return
                check(connection, where=self.where)
                yield connection

    def _begin(self, connection: sa.Connection, *, writing: bool) -> None:
        if connection.dialect.name == "sqlite":
            # a transaction that reads first and writes later cannot wait for another one's write
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
            return
        milliseconds = round(self._wait_s * 1000)
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {4 * milliseconds}")

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise explained(error, self.where, doing=doing, secrets=self._secrets) from None


def sqlite_database(path: Path, *, where: str, wait_s: float = WAIT_S) -> Database:
    """A SQLite file with write-ahead logging, so that readers and a writer do not wait for each other."""

    def opened(writing: bool) -> sa.Engine | None:
        if writing:
            _make_folder(path)
        elif not path.exists():
            return None
        connect = _connect_to_write if writing else _connect_to_read
        return sa.create_engine(
            "sqlite://", creator=lambda: connect(path, wait_s), poolclass=NullPool
        )

    return Database(where, opened, wait_s=wait_s)


def postgresql_database(
    url: sa.URL, *, where: str, secrets: Sequence[str] = (), wait_s: float = WAIT_S
) -> Database:
    """A PostgreSQL database through psycopg; raises ``UnavailableError`` where that is not installed."""
    arguments: dict[str, object] = {
        "prepare_threshold": None
    }  # a pooler in between may not keep them
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = _CONNECT_S
    try:
        engine = sa.create_engine(
            url.set(drivername="postgresql+psycopg"), poolclass=NullPool, connect_args=arguments
        )
    except ImportError as error:
        raise UnavailableError(
            f"{where} needs psycopg ({error}); "
            "install it with: python -m pip install 'ondevice-harness[postgres]'"
        ) from None
    return Database(where, lambda writing: engine, secrets=secrets, wait_s=wait_s)


def _make_folder(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path.parent} was not created: {error.strerror}") from None


def _connect_to_write(path: Path, wait_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=wait_s, isolation_level=None)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            _log_ahead(connection)
        except sqlite3.Error as error:
            if not error.sqlite_errorname.startswith(_BUSY) or time.monotonic() > deadline:
                connection.close()
                raise
            time.sleep(_POLL_S)
        else:
            return connection


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, which the file remembers, unless it is the database of something else."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables or META.name in tables:
        connection.execute("PRAGMA journal_mode = WAL")


def _connect_to_read(path: Path, wait_s: float) -> sqlite3.Connection:
    """Without creating the file, and where SQLite cannot write beside it (no right, no space), without that.

    What other writers left in a write-ahead log would then be passed over, so with a log the error stands.
    """
    try:
        return _opened_to_read(path, "mode=rw", wait_s)
    except sqlite3.OperationalError as error:
        log = path.with_name(f"{path.name}-wal")
        busy = error.sqlite_errorname.startswith(_BUSY)
        if busy or (log.exists() and log.stat().st_size):
            raise
        return _opened_to_read(path, "mode=ro&immutable=1", wait_s)


def _opened_to_read(path: Path, mode: str, wait_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=wait_s, isolation_level=None
    )
    try:
        connection.execute("PRAGMA schema_version")  # the first look into the file
    except sqlite3.Error:
        connection.close()
        raise
    return connection
