"""A record of history is what it was given, and cannot be changed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from builders import a_speed

from harness.model.history import HistoryRecord


def test_a_record_keeps_its_speed_and_has_a_sample_only_where_one_was_given() -> None:
    record = HistoryRecord(
        key="op/small",
        comparable="0" * 16,
        run_id="20261130T120000000Z",
        created="2026-11-30T12:00:00+00:00",
        commit=None,
        dirty=None,
        speed=a_speed(),
    )
    assert record.speed == a_speed()
    assert record.sample is None
    with pytest.raises(FrozenInstanceError):
        record.key = "another"  # type: ignore[misc]
