"""The three kinds of store, and the PostgreSQL server that all workers of a test run share."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from postgres_server import PostgresServer, missing

from harness.baseline.stores.base import Store
from harness.baseline.stores.opening import open_store


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere a store can be, still empty."""

    kind: str
    where: str
    folder: Path
    server: PostgresServer | None = None
    schema: str = ""

    @property
    def store(self) -> Store:
        return open_store(self.where)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A running server: the first worker that needs one starts it, the last one done ends it."""
    if reason := missing():
        pytest.skip(reason)
    mine = os.environ.get("PYTEST_XDIST_WORKER", "")
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if mine else base) / "postgres.json"
    state = _counted(shared, mine, joins=True)
    yield PostgresServer(Path(state["folder"]))
    _counted(shared, mine, joins=False)


def _counted(shared: Path, worker: str, *, joins: bool) -> dict[str, str]:
    """Note that a worker uses the server or no longer does; starts and ends it."""
    with shared.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        state = json.loads(file.read() or "{}")
        users = set(state.get("users", []))
        if joins and not users:
            state = {"folder": str(PostgresServer.create().folder)}
        users ^= {worker}
        if not users:
            PostgresServer(Path(state["folder"])).remove()
        file.truncate(0)
        file.write(json.dumps({**state, "users": sorted(users)}))
    return state


@pytest.fixture
def postgres_place(postgres: PostgresServer, tmp_path: Path) -> Place:
    schema = f"t{secrets.token_hex(6)}"
    postgres.run_sql(f"CREATE SCHEMA {schema}")
    return Place("postgresql", postgres.url(schema=schema), tmp_path, postgres, schema)


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    return Place("sqlite", f"sqlite:///{tmp_path}/store/history.db", tmp_path / "store")


@pytest.fixture
def folder_place(tmp_path: Path) -> Place:
    return Place("folder", str(tmp_path / "store"), tmp_path / "store")


@pytest.fixture(params=["folder", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Place:
    """One of each kind."""
    fixture = {"postgresql": "postgres_place"}.get(request.param, f"{request.param}_place")
    found: Place = request.getfixturevalue(fixture)
    return found
