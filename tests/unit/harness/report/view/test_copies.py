"""The copy bandwidth in a sentence."""

from __future__ import annotations

import pytest
from builders import a_copy_bandwidth

from harness.report.view.copies import copy_text


def test_both_ends_of_the_run_are_told() -> None:
    assert copy_text(a_copy_bandwidth(before=20e9, after=19e9)) == (
        "20.0 GB/s before and 19.0 GB/s after, best of 7 copies of 67.1 MB on cpu, read and written "
        "(median 19.0 GB/s and 18.1 GB/s)"
    )


def test_a_run_cut_short_has_one_end() -> None:
    text = copy_text(a_copy_bandwidth(after=None))
    assert text.startswith("20.0 GB/s before, best of 7")
    assert text.endswith("; the run was cut short")


@pytest.mark.parametrize(("after", "told"), [(19e9, False), (15e9, True), (25e9, True)])
def test_a_machine_that_changed_its_pace_is_told(after: float, told: bool) -> None:
    assert ("changed its pace" in copy_text(a_copy_bandwidth(before=20e9, after=after))) is told


@pytest.mark.parametrize("best", [0.0, float("nan"), float("inf")])
def test_a_number_that_means_nothing_is_told_all_the_same(best: float) -> None:
    assert copy_text(a_copy_bandwidth(before=best))


def test_a_device_name_cannot_hide_anything() -> None:
    assert "\\u202e" in copy_text(a_copy_bandwidth(device="cpu\u202e"))
