"""The store that is a database, through SQLAlchemy: a SQLite file, or PostgreSQL for many writers at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace as replaced
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from harness.baseline.codec import decode, encode
from harness.baseline.stores.base import (
    Tail,
    changed_meanwhile,
    check_name,
    differs_by_case,
    taken,
    unknown,
)
from harness.baseline.stores.record_codec import (
    checked,
    collection_paused,
    created_us,
    decode_speeds,
    encode_speed,
)
from harness.baseline.stores.sample_codec import decode_sample, encode_sample
from harness.baseline.stores.sql_database import Database
from harness.baseline.stores.sql_schema import BASELINES, HISTORY, SAMPLES
from harness.model.baseline import Baseline
from harness.model.history import HistoryRecord
from harness.model.measurement import Sample

__all__ = ["SqlStore"]

_ORDER = (HISTORY.c.created_us, HISTORY.c.run_id, HISTORY.c.key)
_COLUMNS = (
    *_ORDER,
    *(HISTORY.c[name] for name in ("comparable", "created", "commit", "dirty", "speed")),
)
_IN_PARTS = {"yield_per": 5000}
"""Rows fetched and decoded at a time: 5 MB of text, instead of all of it beside what it becomes."""


class SqlStore:
    """Baselines and history in a database; every call is one connection and one transaction.

    The tables appear with the first write. Unique keys and ``ON CONFLICT`` keep writers apart, so no call waits for
    more than the transactions of others, and a lost connection costs the call that had it and nothing else.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def where(self) -> str:
        """See ``Store.where``: the URL without its password."""
        return self._database.where

    def save(
        self, baseline: Baseline, *, replace: bool = False, instead_of: Baseline | None = None
    ) -> str:
        """See ``Store.save``."""
        check_name(baseline.name)
        row = {
            "name": baseline.name,
            "folded": baseline.name.casefold(),
            "content": encode(baseline).decode(),
        }
        with self._database.written() as connection:
            found = sa.select(BASELINES.c.name).where(BASELINES.c.folded == row["folded"])
            known = connection.execute(found).scalar()
            if known not in (None, baseline.name):
                raise differs_by_case(baseline.name, known, self.where)
            if instead_of is not None and self._locked(connection, baseline.name) != instead_of:
                raise changed_meanwhile(baseline.name, self.where)
            insert = _insert(connection)(BASELINES).values(row)
            if replace or instead_of is not None:
                insert = insert.on_conflict_do_update(
                    index_elements=["name"], set_={"content": row["content"]}
                )
            else:
                insert = insert.on_conflict_do_nothing(index_elements=["name"])
            if not connection.execute(insert.returning(BASELINES.c.name)).all():
                raise taken(baseline.name, self.where)
        return self._source(baseline.name)

    def load(self, name: str) -> Baseline:
        """See ``Store.load``."""
        check_name(name)
        content = None
        with self._database.read() as connection:
            if connection is not None:
                content = connection.execute(_content_of(name)).scalar()
        if content is None:
            raise unknown(name, self.names(), self.where)
        return self._decoded(name, content)

    def _locked(self, connection: sa.Connection, name: str) -> Baseline | None:
        """What is kept under the name, which nobody else can replace before this transaction ends."""
        content = connection.execute(_content_of(name).with_for_update()).scalar()
        return None if content is None else self._decoded(name, content)

    def _decoded(self, name: str, content: str) -> Baseline:
        return replaced(decode(content.encode(), source=self._source(name)), name=name)

    def names(self) -> tuple[str, ...]:
        """See ``Store.names``."""
        return self._texts(sa.select(BASELINES.c.name).order_by(BASELINES.c.name))

    def remove(self, name: str) -> str:
        """See ``Store.remove``."""
        check_name(name)
        if name not in self.names():
            raise unknown(name, self.names(), self.where)
        with self._database.written() as connection:
            connection.execute(sa.delete(BASELINES).where(BASELINES.c.name == name))
        return self._source(name)

    def append(self, records: Sequence[HistoryRecord]) -> int:
        """See ``Store.append``: one transaction, all of it or nothing."""
        wanted = sorted(checked(records), key=lambda record: (record.run_id, record.key))
        if not wanted:
            return 0  # in order, so that two writers of the same records never wait for each other in turn
        rows = [_row(record) for record in wanted]
        with self._database.written() as connection:
            insert = _insert(connection)(HISTORY).on_conflict_do_nothing()
            added = connection.execute(insert.returning(HISTORY.c.run_id, HISTORY.c.key), rows)
            new = {(run_id, key) for run_id, key in added}
            samples = [
                {"run_id": record.run_id, "key": record.key, "data": encode_sample(record.sample)}
                for record in wanted
                if record.sample is not None and (record.run_id, record.key) in new
            ]
            if samples:
                connection.execute(_insert(connection)(SAMPLES).on_conflict_do_nothing(), samples)
        return len(new)

    def history(
        self, *, key: str | None = None, comparable: str | None = None, limit: int | None = None
    ) -> tuple[HistoryRecord, ...]:
        """See ``Store.history``. Costs 10 us per record it gives back."""
        found = sa.select(*_COLUMNS)
        if key is not None:
            found = found.where(HISTORY.c.key == key)
        if comparable is not None:
            found = found.where(HISTORY.c.comparable == comparable)
        newest = [column.desc() for column in _ORDER]
        found = found.order_by(*_ORDER if limit is None else newest)
        if limit is not None:
            found = found.limit(max(0, limit))
        with self._database.read() as connection, collection_paused():
            if connection is None:
                return ()
            read = [
                record
                for rows in connection.execute(found, execution_options=_IN_PARTS).partitions()
                for record in _records(rows, source=self.where)
            ]
        return tuple(read if limit is None else reversed(read))

    def tails(
        self, wanted: Mapping[str, Collection[str]], *, run_id: str, created: str, limit: int
    ) -> Mapping[str, Tail]:
        """See ``Store.tails``: one query, which numbers the records of each key from the newest on."""
        pairs = [(key, comparable) for key, several in wanted.items() for comparable in several]
        with self._database.read() as connection, collection_paused():
            if connection is None or not pairs:
                return {}
            rows = connection.execute(_newest(pairs, run_id, created_us(created), limit)).all()
            found: dict[str, list[HistoryRecord]] = {}
            for record in _records([row[:-1] for row in rows], source=self.where):
                found.setdefault(record.key, []).append(record)
        total = {row.key: row.total for row in rows}
        return {
            key: Tail(records=tuple(several), earlier=total[key] - len(several))
            for key, several in found.items()
        }

    def sample(self, run_id: str, key: str) -> Sample | None:
        """See ``Store.sample``."""
        named = (SAMPLES.c.run_id == run_id) & (SAMPLES.c.key == key)
        with self._database.read() as connection:
            if connection is None:
                return None
            data = connection.execute(sa.select(SAMPLES.c.data).where(named)).scalar()
        source = f"{self.where}, sample of {key} in {run_id}"
        return None if data is None else decode_sample(data, source=source)

    def keys(self) -> tuple[str, ...]:
        """See ``Store.keys``."""
        return self._texts(sa.select(HISTORY.c.key).distinct().order_by(HISTORY.c.key))

    def _texts(self, statement: sa.Select[tuple[Any]]) -> tuple[str, ...]:
        with self._database.read() as connection:
            return () if connection is None else tuple(connection.execute(statement).scalars())

    def _source(self, name: str) -> str:
        return f"{self.where}, baseline {name!r}"


def _content_of(name: str) -> sa.Select[str]:
    return sa.select(BASELINES.c.content).where(BASELINES.c.name == name)


def _insert(connection: sa.Connection) -> Any:
    """The dialect's own insert, which knows ``ON CONFLICT``."""
    return postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert


def _newest(
    pairs: Sequence[tuple[str, str]], run_id: str, until_us: int, limit: int
) -> sa.Select[Any]:
    """The newest records of each key, oldest first, each with the ``total`` of its key."""
    newest_first = [column.desc() for column in _ORDER]
    ranked = (
        sa.select(
            HISTORY.c.run_id,
            HISTORY.c.key,
            sa.func.row_number()
            .over(partition_by=HISTORY.c.key, order_by=newest_first)
            .label("age"),
            sa.func.count().over(partition_by=HISTORY.c.key).label("total"),
        )
        .where(sa.tuple_(HISTORY.c.key, HISTORY.c.comparable).in_(pairs))
        .where(HISTORY.c.created_us <= until_us, HISTORY.c.run_id != run_id)
        .subquery()
    )
    named = (ranked.c.run_id == HISTORY.c.run_id) & (ranked.c.key == HISTORY.c.key)
    return (
        sa.select(*_COLUMNS, ranked.c.total)
        .join(ranked, named)
        .where(ranked.c.age <= limit)
        .order_by(*_ORDER)
    )


def _row(record: HistoryRecord) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "key": record.key,
        "comparable": record.comparable,
        "created": record.created,
        "created_us": created_us(record.created),
        "commit": record.commit,
        "dirty": record.dirty,
        "speed": encode_speed(record.speed),
    }


def _records(rows: Sequence[Sequence[Any]], *, source: str) -> Iterator[HistoryRecord]:
    speeds = decode_speeds([row[-1] for row in rows], source=source)
    for row, speed in zip(rows, speeds, strict=True):
        _, run_id, key, comparable, created, commit, dirty, _ = row
        yield HistoryRecord(
            run_id=run_id,
            key=key,
            comparable=comparable,
            created=created,
            commit=commit,
            dirty=dirty,
            speed=speed,
        )
