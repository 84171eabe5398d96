"""The tables of a database of baselines and history, alike in SQLite and PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa

from harness.baseline.stores.record_codec import UPGRADE
from harness.errors import FileFormatError

__all__ = ["BASELINES", "HISTORY", "META", "SAMPLES", "VERSION", "check", "is_prepared", "prepare"]

VERSION = 1
"""Raised whenever a table or column changes meaning; a database with a newer one is refused."""

_LOCK = 0x6F6E646576696365
"""Key of the advisory lock under which PostgreSQL gets its tables: ``b"ondevice"`` as a number."""

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Compared byte by byte, as SQLite and Python do, whatever the language of the database."""

_TABLES = sa.MetaData()

META = sa.Table("harness_meta", _TABLES, sa.Column("schema_version", sa.Integer, nullable=False))

BASELINES = sa.Table(
    "harness_baselines",
    _TABLES,
    sa.Column("name", _TEXT, primary_key=True),
    sa.Column("folded", _TEXT, nullable=False, unique=True),  # the name without case
    sa.Column("content", _TEXT, nullable=False),  # the text of the file a folder would hold
)

HISTORY = sa.Table(
    "harness_history",
    _TABLES,
    sa.Column("run_id", _TEXT, primary_key=True),
    sa.Column("key", _TEXT, primary_key=True),
    sa.Column("comparable", _TEXT, nullable=False),
    sa.Column("created", _TEXT, nullable=False),
    sa.Column("created_us", sa.BigInteger, nullable=False),  # since 1970, what is ordered by
    sa.Column("commit", _TEXT),
    sa.Column("dirty", sa.Boolean),
    sa.Column("speed", _TEXT, nullable=False),  # JSON, which a dashboard can query
    sa.Index("harness_history_in_order", "key", "created_us"),
)

SAMPLES = sa.Table(
    "harness_samples",
    _TABLES,
    sa.Column("run_id", _TEXT, primary_key=True),
    sa.Column("key", _TEXT, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)


def is_prepared(connection: sa.Connection) -> bool:
    """Whether the tables are there."""
    return sa.inspect(connection).has_table(META.name)


def prepare(connection: sa.Connection, *, where: str) -> None:
    """Create the tables where there are none; the caller commits. Raises like ``check``."""
    if not is_prepared(connection):
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        elif others := sa.inspect(connection).get_table_names():
            raise FileFormatError(
                f"{where} is a database of something else (it has the table {others[0]!r}); "
                "name another file"
            )
        if not is_prepared(connection):  # another process may have been first
            _TABLES.create_all(connection)
            connection.execute(sa.insert(META).values(schema_version=VERSION))
    check(connection, where=where)


def check(connection: sa.Connection, *, where: str) -> None:
    """Refuse tables of another version; raises ``FileFormatError``."""
    versions = connection.execute(sa.select(META.c.schema_version)).scalars().all()
    if len(versions) != 1:
        raise FileFormatError(
            f"{where}: the table {META.name} has {len(versions)} rows and must have 1; "
            "restore the database from a backup"
        )
    if versions[0] > VERSION:
        raise FileFormatError(
            f"{where} has schema_version {versions[0]}, this harness reads up to {VERSION}; {UPGRADE}"
        )
    if versions[0] < VERSION:
        raise FileFormatError(
            f"{where} has schema_version {versions[0]}, this harness reads from {VERSION}; "
            "restore the database from a backup"
        )
