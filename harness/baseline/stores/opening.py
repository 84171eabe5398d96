"""From what a user writes to a store: a folder, a SQLite file, or a PostgreSQL database."""

from __future__ import annotations

import re
from pathlib import Path

from harness.baseline.stores.base import Say, Store, say_on_stderr
from harness.baseline.stores.directory import DirectoryStore
from harness.errors import UnavailableError, UsageError

__all__ = ["FORMS", "open_store", "without_password"]

FORMS = "a folder, sqlite:///FILE.db or postgresql://USER@HOST/DATABASE"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
"""Two characters at least: a single one is a drive of Windows."""

_URL = re.compile(r"postgres[a-z+0-9]*:/.*", re.IGNORECASE | re.DOTALL)
_SECRET = re.compile(r"([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def open_store(where: str, *, say: Say = say_on_stderr) -> Store:
    """The store at ``where``: a folder's path, ``sqlite:///FILE.db`` or ``postgresql://...``.

    Nothing is read, created or connected to yet. ``say`` hears what a folder repairs. Raises ``UsageError``, with
    the three forms, for anything else, and ``UnavailableError`` when SQLAlchemy or psycopg is not installed.
    """
    scheme = _SCHEME.match(where)
    if scheme is None:
        if not where or "\0" in where:
            raise UsageError(f"a store cannot be {where!r}; name {FORMS}")
        return DirectoryStore(Path(where), say=say)
    if where.startswith("sqlite:"):
        return _sqlite(where)
    if where.startswith("postgresql://"):
        return _postgresql(where)
    hint = " (postgresql:// is its whole name)" if scheme[1].startswith("postgres") else ""
    raise UsageError(
        f"{scheme[1]}:... is no store{hint}; name {FORMS}; a folder called so is ./{scheme[1]}:..."
    )


def without_password(text: str) -> str:
    """The text with every password of a PostgreSQL URL in it hidden, however the URL is malformed."""
    return _URL.sub(lambda url: _hidden(url[0]), text)


def _hidden(url: str) -> str:
    start, _, rest = url.partition(":/")
    user, at, server = rest.lstrip("/").rpartition("@")
    slashes = rest[: len(rest) - len(rest.lstrip("/"))]
    name, colon, _ = user.partition(":")
    shown = f"{name}{':***' if colon else ''}{at}"
    return f"{start}:/{slashes}{shown}" + _SECRET.sub(r"\1***", server)


def _sqlite(where: str) -> Store:
    path = where.removeprefix("sqlite:///")
    if path == where or not path or path.startswith((":memory:", "file:")) or "?" in path:
        raise UsageError(
            f"{where} names no file; write sqlite:///FILE.db, or sqlite:////FOLDER/FILE.db from the root"
        )
    try:
        from harness.baseline.stores.sql import SqlStore
        from harness.baseline.stores.sql_database import sqlite_database
    except ImportError as error:
        raise _missing(where, error, "sql") from None
    return SqlStore(sqlite_database(Path(path), where=where))


def _postgresql(where: str) -> Store:
    shown = without_password(where)
    try:
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError

        from harness.baseline.stores.sql import SqlStore
        from harness.baseline.stores.sql_database import postgresql_database
    except ImportError as error:
        raise _missing(shown, error, "postgres") from None
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):  # whose text may hold the password
        raise _malformed(shown) from None
    if (
        "@" in f"{url.host}{url.database}"
    ):  # a part of the password, which messages of the driver would show
        raise _malformed(shown)
    secrets = [str(value) for name, value in url.query.items() if "pass" in name.lower()]
    secrets += [str(url.password)] if url.password else []
    return SqlStore(postgresql_database(url, where=shown, secrets=secrets))


def _malformed(shown: str) -> UsageError:
    return UsageError(
        f"{shown} is no URL; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for @, "
        "%3A for : and %2F for / within the password"
    )


def _missing(where: str, error: ImportError, extra: str) -> UnavailableError:
    return UnavailableError(
        f"{where} needs SQLAlchemy ({error}); "
        f"install it with: python -m pip install 'ondevice-harness[{extra}]'"
    )
