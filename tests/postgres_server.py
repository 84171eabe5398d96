"""A PostgreSQL server of the tests' own: in a folder that goes away, on a socket nobody else sees."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

__all__ = ["PostgresServer", "missing", "program"]

_VERSIONED = Path("/usr/lib/postgresql")
"""Where Debian puts the programs, which are not on the PATH there: ``15/bin/postgres``."""


def program(name: str) -> str | None:
    """The path of one of PostgreSQL's programs, of the newest version that is installed."""
    versions = sorted(_VERSIONED.glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    return str(versions[-1]) if versions else shutil.which(name)


def missing() -> str | None:
    """What to do before a server can be started here, ``None`` when nothing."""
    if program("pg_ctl") is None or program("initdb") is None:
        return "needs PostgreSQL's server: apt-get install postgresql"
    if os.geteuid() == 0 and "postgres" not in {user.pw_name for user in pwd.getpwall()}:
        return "needs the user postgres to run the server, which root may not: useradd postgres"
    return None


class PostgresServer:
    """A server in a folder. ``create`` makes and starts one, ``PostgresServer(folder)`` speaks to one that runs.

    The user ``postgres`` may do everything, the user ``guarded`` has the password ``geheim``. The server refuses to
    run as root, so root starts it as the user that Debian's package made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls) -> PostgresServer:
        """A new server that runs; ``remove`` it."""
        folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # sockets want short paths
        if identity := _identity():
            os.chown(folder, identity["user"], identity["group"])
        folder.chmod(0o755)  # whoever the tests run as may come to the socket
        server = cls(folder)
        server._call("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        rules = (folder / "data" / "pg_hba.conf").read_text()
        (folder / "data" / "pg_hba.conf").write_text(f"local all guarded scram-sha-256\n{rules}")
        with (folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(
                f"listen_addresses = ''\nunix_socket_directories = '{folder}'\n"
                "shared_buffers = 16MB\nmax_connections = 60\n"
                "fsync = off\n"  # nothing here outlives a power cut, and a restart would flush every file
            )
        server.start()
        server.run_sql("CREATE ROLE guarded LOGIN PASSWORD 'geheim'")
        return server

    def url(self, *, schema: str | None = None, user: str = "postgres", password: str = "") -> str:
        """How the harness is told of this server, with the tables in a schema of their own."""
        options = f"&options={quote(f'-csearch_path={schema}')}" if schema else ""
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@/postgres?host={self.folder}{options}"

    def run_sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last of the statements, each of which is committed by itself."""
        import psycopg

        with psycopg.connect(
            host=str(self.folder), user="postgres", dbname="postgres", autocommit=True
        ) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._call("pg_ctl", "start", "-w", "-l", str(self.folder / "log"))

    def stop(self) -> None:
        """End the server at once, cutting every connection, as a power cut would."""
        self._call("pg_ctl", "stop", "-m", "immediate")

    def remove(self) -> None:
        """End the server and remove its folder."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)

    def _call(self, name: str, *arguments: str) -> None:
        subprocess.run(
            [str(program(name)), "-D", str(self.folder / "data"), *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # a pipe would be kept open by the server
            cwd=self.folder,
            timeout=300,
            **_identity(),
        )


def _identity() -> dict[str, Any]:
    """As whom to run the server, as arguments of ``subprocess``: nothing where one is not root."""
    if os.geteuid() != 0:
        return {}
    owner = pwd.getpwnam("postgres")
    return {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
