"""The figures carried over from SINGA's published runs are those in the golden files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference_impl.data import published

GOLDEN = Path(__file__).parents[3] / "golden"
RUNS = json.loads((GOLDEN / "singa_published_runs.json").read_text())
ON_ONE_GPU = RUNS["mnist_cnn_single_gpu"].values()


@pytest.mark.parametrize(
    ("column", "band"),
    [
        (0, published.CNN_TRAIN_LOSS),
        (1, published.CNN_TRAIN_ACCURACY),
        (2, published.CNN_TEST_ACCURACY),
    ],
)
def test_each_epoch_spans_all_runs_that_reached_it(
    column: int, band: tuple[published.Interval, ...]
) -> None:
    assert len(band) == 10
    for epoch, interval in enumerate(band):
        rows = [run[epoch][column] for run in ON_ONE_GPU if epoch < len(run)]
        values = [value for value in rows if value is not None]
        assert interval == (min(values), max(values))


def test_the_ticket_s_mlp_lies_in_its_band() -> None:
    for loss, (low, high) in zip(RUNS["mlp"]["PR577_ticket"], published.MLP_BAND, strict=True):
        assert low <= loss <= high


def test_resnet50_has_the_ticket_s_times() -> None:
    ticket = dict(RUNS["resnet50"]["ticket_T4_b32"])
    assert ticket.pop("throughput") == published.RESNET50_THROUGHPUT
    assert ticket == published.RESNET50_SECONDS
