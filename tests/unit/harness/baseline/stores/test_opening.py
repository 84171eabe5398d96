"""What a user writes as a store is one of three, or refused without repeating a password."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.baseline.stores.directory import DirectoryStore
from harness.baseline.stores.opening import open_store, without_password
from harness.errors import UsageError


@pytest.mark.parametrize("where", ["baselines", "/a/b", "./odd:name", "C:\\baselines", "a b", "~x"])
def test_a_path_is_a_folder(where: str) -> None:
    store = open_store(where)
    assert isinstance(store, DirectoryStore)
    assert store.folder == Path(where)


def test_a_sqlite_url_is_a_file_from_here_or_from_the_root(tmp_path: Path) -> None:
    assert open_store("sqlite:///a/b.db").where == "sqlite:///a/b.db"
    where = f"sqlite:///{tmp_path}/with space%20#?".rstrip("?")
    assert open_store(where).names() == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("", "a store cannot be ''"),
        ("a\0b", "a store cannot be"),
        ("mysql://u:s3cret@h/d", r"mysql:\.\.\. is no store; name a folder, sqlite:///FILE.db or"),
        ("postgres://u:s3cret@h/d", r"\(postgresql:// is its whole name\)"),
        ("postgresql:u:s3cret@h", r"postgresql:\.\.\. is no store"),
        ("POSTGRESQL://u:s3cret@h", r"POSTGRESQL:\.\.\. is no store"),
        ("file:///a", "a folder called so is ./file:"),
        ("odd:name", r"a folder called so is \./odd:"),
        ("sqlite://", "names no file; write sqlite:///FILE.db"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///a.db?mode=ro", "names no file"),
        ("sqlite:a.db", "names no file"),
        ("postgresql://u:s3cret@h:port/d", r"postgresql://u:\*\*\*@h:port/d is no URL; write"),
        ("postgresql://u:a@s3cret@h/d", r"postgresql://u:\*\*\*@h/d is no URL; .*%40 for @"),
    ],
)
def test_anything_else_is_refused_with_the_three_forms(where: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        open_store(where)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("postgresql://h/d", "postgresql://h/d"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p@q/r?s@h/d", "postgresql://u:***@h/d"),
        ("postgresql://h/d?user=u&password=p&x=1", "postgresql://h/d?user=u&password=***&x=1"),
        ("postgresql://u:p@h/d?sslpassword=p", "postgresql://u:***@h/d?sslpassword=***"),
        ("--history=postgresql://u:p@h/d", "--history=postgresql://u:***@h/d"),
        ("postgres://u:p@h", "postgres://u:***@h"),
        ("softmax/a:b@c", "softmax/a:b@c"),
    ],
)
def test_a_password_is_hidden_and_the_rest_can_be_read(given: str, shown: str) -> None:
    assert without_password(given) == shown


@given(
    password=st.text(min_size=1).map(lambda text: f"Zq{text}qZ"),
    user=st.from_regex("[a-z]{1,8}", fullmatch=True),
)
def test_no_password_survives_however_it_is_written(password: str, user: str) -> None:
    shown = without_password(f"postgresql://{user}:{password}@host:5432/db")
    assert shown == f"postgresql://{user}:***@host:5432/db"


def test_a_folder_needs_no_database_package_and_a_database_says_which_one_is_missing() -> None:
    code = """
import sys
sys.modules["sqlalchemy"] = None
from harness.baseline.stores.opening import open_store
from harness.errors import UnavailableError
open_store("baselines")
for where in ("sqlite:///a.db", "postgresql://u:s3cret@h/d"):
    try:
        open_store(where)
    except UnavailableError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    first, second = done.stdout.splitlines()
    assert first.startswith("sqlite:///a.db needs SQLAlchemy (")
    assert first.endswith("install it with: python -m pip install 'ondevice-harness[sql]'")
    assert second.endswith("python -m pip install 'ondevice-harness[postgres]'")
    assert "s3cret" not in done.stdout + done.stderr


def test_without_the_driver_postgresql_says_how_to_get_it() -> None:
    code = """
import sys
sys.modules["psycopg"] = None
from harness.baseline.stores.opening import open_store
try:
    open_store("postgresql://u:s3cret@h/d")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("UnavailableError postgresql://u:***@h/d needs psycopg")
    assert "'ondevice-harness[postgres]'" in done.stdout


def test_opening_a_folder_imports_no_database_package() -> None:
    code = (
        "import sys; from harness.baseline.stores.opening import open_store; open_store('x'); "
        "print(sorted({'sqlalchemy', 'psycopg', 'sqlite3'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
