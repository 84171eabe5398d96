"""The ends of printed commands lead to the store they were printed for, and send no stars as a password."""

from __future__ import annotations

import pytest

from harness.baseline.commands import at_store, password_note
from harness.baseline.diff import no_baseline
from harness.baseline.stores.base import unknown
from harness.baseline.stores.opening import without_password
from harness.model.outcome import Outcome


@pytest.mark.parametrize(
    ("where", "option"),
    [
        ("baselines", ""),
        ("my perf", " --store 'my perf'"),
        ("sqlite:////srv/h.db", " --store sqlite:////srv/h.db"),
        ("postgresql://ci@h/d", " --store postgresql://ci@h/d"),
        ("postgresql://ci:s3@h/d", " --store postgresql://ci@h/d"),
        (
            "postgresql://ci:s3@h/d?sslmode=require",
            " --store 'postgresql://ci@h/d?sslmode=require'",
        ),
        ("postgresql://ci@h/d?password=s3&a=b", " --store 'postgresql://ci@h/d?a=b'"),
        ("postgresql://ci@h/d?password=s3", " --store postgresql://ci@h/d"),
    ],
)
def test_a_command_names_its_store_without_the_password(where: str, option: str) -> None:
    shown = without_password(where)
    assert at_store(shown) == option
    assert ("PGPASSWORD" in password_note(shown)) == ("s3" in where)


def test_the_first_baseline_of_a_store_is_saved_there() -> None:
    command = "harness baseline save main --store sqlite:///h.db"
    assert no_baseline("main", "sqlite:///h.db", outcome=Outcome.SKIPPED).next_step.endswith(
        command
    )
    assert str(unknown("main", (), "sqlite:///h.db")).endswith(f"save one: {command}")
