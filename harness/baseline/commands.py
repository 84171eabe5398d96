"""The ends of commands that messages print: which store they are for, without the password nobody may see."""

from __future__ import annotations

import shlex

__all__ = ["DEFAULT_STORE", "at_store", "password_note"]

DEFAULT_STORE = "baselines"
"""The folder that commands use where no store is named."""

_HIDDEN = "***"
"""What a store's ``where`` has in the place of a password."""


def at_store(where: str) -> str:
    """The option that leads a command to the store called ``where``; empty for the one it uses anyway.

    A hidden password is left out, since three stars would be sent as one: see ``password_note``.
    """
    return "" if where == DEFAULT_STORE else f" --store {shlex.quote(_bare(where))}"


def password_note(where: str) -> str:
    """How a command with ``at_store`` gets the password that was left out; empty where there was none."""
    return "" if _bare(where) == where else ", with its password in PGPASSWORD or ~/.pgpass"


def _bare(where: str) -> str:
    """The URL without its hidden passwords: in front of the host and among the settings at the end."""
    address, _, settings = where.partition("?")
    kept = [one for one in settings.split("&") if one and not one.endswith(f"={_HIDDEN}")]
    return "?".join([address.replace(f":{_HIDDEN}@", "@"), *(["&".join(kept)] if kept else [])])
