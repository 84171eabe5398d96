"""What a database complains of, as one line that says what to do and never shows a password."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from harness.errors import FileFormatError, HarnessError, OutputError, UnavailableError

__all__ = ["explained"]

_LONGEST_REASON = 300

_UNREACHABLE = ("08", "28", "3D000", "53300", "57P01", "57P02", "57P03", "57P05")
"""SQLSTATE classes and codes: connection, authorisation, no such database, too many clients, shutdown."""

_REFUSED = (
    (
        ("28P01", "password authentication failed", "no password supplied"),
        "give the password of this user, in PGPASSWORD or ~/.pgpass or the URL",
    ),
    (
        ("3D000", "database .* does not exist"),
        "create the database there, or name one that `psql -l` lists",
    ),
    (
        ("28000", "role .* does not exist", "no pg_hba.conf entry"),
        "name a user whom that server knows and lets in from here (pg_hba.conf)",
    ),
)
"""SQLSTATE, or the words where a connection is refused before the driver has one, and what to do."""

_POSTGRESQL_STEPS = {
    "25006": "the server takes no writes (a standby, or default_transaction_read_only)",
    "42501": "grant this user INSERT, UPDATE, DELETE and SELECT on the harness_ tables, and CREATE once",
    "53100": "free space on the disk of the server and add it again",
    "55P03": "another transaction holds a lock; see pg_stat_activity, and add it again",
    "57014": "the statement took too long or was cancelled; add it again",
    "40001": "two writers got into each other's way; add it again",
    "40P01": "two writers got into each other's way; add it again",
    "23505": "another process saved the same at the same moment; look what is there and try again",
}

_SQLITE_STEPS = {
    "SQLITE_BUSY": "another process keeps it locked; see who has it (lsof) and try again",
    "SQLITE_LOCKED": "another process keeps it locked; see who has it (lsof) and try again",
    "SQLITE_FULL": "free space on the disk and add it again",
    "SQLITE_IOERR": "free space on the disk, see that it works, and add it again",
    "SQLITE_READONLY": "make the file and its folder writable, or name another file",
    "SQLITE_CANTOPEN": "see that the folder is there and writable; SQLite needs files beside its own",
    "SQLITE_PERM": "make the file and its folder writable, or name another file",
}

_SQLITE_DAMAGE = ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")


def explained(
    error: SQLAlchemyError, where: str, *, doing: str, secrets: Sequence[str] = ()
) -> HarnessError:
    """The error to raise instead: ``WHERE was not written: REASON; STEP``.

    ``doing`` is ``"was not written"`` or ``"cannot be read"``. ``secrets`` are taken out of the reason.
    """
    origin = error.orig if isinstance(error, DBAPIError) else None
    reason = _reason(origin or error, secrets)
    if isinstance(origin, sqlite3.Error):
        return _sqlite(origin, f"{where} {doing}: {reason}")
    code = getattr(origin, "sqlstate", None) or ""
    lost = isinstance(error, DBAPIError) and (error.connection_invalidated or not code)
    if lost or code.startswith(_UNREACHABLE):
        for signs, step in _REFUSED:
            if code == signs[0] or any(re.search(words, reason) for words in signs[1:]):
                return UnavailableError(f"{where} cannot be opened: {reason}; {step}")
        return UnavailableError(
            f"{where} cannot be reached: {reason}; see that the server runs and the URL is right"
        )
    if code in _POSTGRESQL_STEPS:
        return OutputError(f"{where} {doing}: {reason}; {_POSTGRESQL_STEPS[code]}")
    return FileFormatError(
        f"{where} {doing}: {reason}; the harness_ tables are not as it made them"
    )


def _sqlite(origin: sqlite3.Error, problem: str) -> HarnessError:
    name = getattr(origin, "sqlite_errorname", "")
    if name.startswith(_SQLITE_DAMAGE):
        return FileFormatError(f"{problem}; name a database of the harness, or restore this one")
    for start, step in _SQLITE_STEPS.items():
        if name.startswith(start):
            return OutputError(f"{problem}; {step}")
    return FileFormatError(f"{problem}; the harness_ tables are not as it made them")


def _reason(error: BaseException, secrets: Sequence[str]) -> str:
    """The first words of the driver, on one line and without what must not be seen."""
    diagnosis = getattr(getattr(error, "diag", None), "message_primary", None)
    text = " ".join((diagnosis or str(error) or type(error).__name__).split())
    for secret in secrets:
        text = text.replace(secret, "***")
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
