"""What a record offers for comparison, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.workloads.training_record import (
    cnn_record,
    mlp_record,
    resnet50_record,
    stage_times,
)

SECONDS = {"total": 1.0, "forward": 0.25, "softmax": 0.25, "backward": 0.5, "sgd": 0.1}
ROW = {"loss": 1.0, "accuracy": 0.5, "test_accuracy": 0.25}


def timing(*, published: bool) -> dict[str, Any]:
    return stage_times("loop", SECONDS, per_second=8.0, syncs=1, reads=0, published=published)


@pytest.mark.parametrize("usual", [True, False])
def test_of_other_settings_no_band_is_drawn_and_a_note_says_why(usual: bool) -> None:
    records = [
        mlp_record([0.7, 0.6], every=100, data="points", usual=usual),
        cnn_record([ROW, ROW], data="MNIST", is_mnist=True, usual=usual),
    ]
    for record in records:
        assert {curve["band"] is not None for curve in record["curves"]} == {usual}
        assert [
            note.startswith("no band is drawn: these settings") for note in record["notes"]
        ] == ([] if usual else [True])


def test_of_other_images_the_reason_is_the_images() -> None:
    record = cnn_record([ROW], data="digits", is_mnist=False, usual=False)
    assert record["notes"] == ["no band is drawn: the published runs are of MNIST"]
    assert all(curve["band"] is None for curve in record["curves"])


def test_sgd_is_told_as_a_part_of_backward_and_keeps_its_published_time() -> None:
    *_, backward, sgd = timing(published=True)["stages"]
    assert (backward["name"], sgd["name"]) == ("backward", "of which sgd")
    assert 0 < sgd["published_s"] < backward["published_s"]


@pytest.mark.parametrize("published", [True, False])
def test_the_source_is_named_where_a_figure_is_and_nowhere_else(published: bool) -> None:
    record = resnet50_record(
        [timing(published=False), timing(published=published)], data="noise", notes=["a note"]
    )
    assert bool(record["published"]) == published
    assert record["notes"] == ["a note"]
