"""What a training program did, as plain data: curves beside published bands, and where an iteration's time went.

The names are those of the harness's model, which checks them when it reads a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reference_impl.data.published import (
    CNN_SOURCE,
    CNN_TEST_ACCURACY,
    CNN_TRAIN_ACCURACY,
    CNN_TRAIN_LOSS,
    MLP_BAND,
    MLP_SOURCE,
    RESNET50_SECONDS,
    RESNET50_SOURCE,
    Interval,
)

__all__ = ["Record", "cnn_record", "mlp_record", "resnet50_record", "stage_times"]

Record = dict[str, Any]

_OTHER_SETTINGS = "no band is drawn: these settings are not those of the runs it is of"


def mlp_record(losses: Sequence[float], *, every: int, data: str, usual: bool = True) -> Record:
    """The losses of every ``every``-th step, in the ``usual`` settings over those of 300 seeds."""
    steps = [float(every * i) for i in range(len(losses))]
    band = _band(MLP_BAND, MLP_SOURCE, step=every) if usual else None
    return {
        "program": "mlp",
        "data": data,
        "curves": [_curve("training loss", "step", steps, losses, band=band)],
        "notes": [] if usual else [_OTHER_SETTINGS],
    }


def cnn_record(
    rows: Sequence[Mapping[str, float]], *, data: str, is_mnist: bool, usual: bool = True
) -> Record:
    """Loss and accuracies by epoch; over SINGA's published runs where data and settings are what those had."""
    epochs = [float(i) for i in range(len(rows))]
    of_row = (
        ("training loss", "loss", "sum over batches", CNN_TRAIN_LOSS),
        ("training accuracy", "accuracy", "", CNN_TRAIN_ACCURACY),
        ("test accuracy", "test_accuracy", "", CNN_TEST_ACCURACY),
    )
    curves = [
        _curve(
            name,
            "epoch",
            epochs,
            [row[key] for row in rows],
            unit=unit,
            band=_band(band, CNN_SOURCE) if is_mnist and usual else None,
        )
        for name, key, unit, band in of_row
    ]
    notes = [] if is_mnist else ["no band is drawn: the published runs are of MNIST"]
    notes += [_OTHER_SETTINGS] if is_mnist and not usual else []
    return {"program": "mnist_cnn", "data": data, "curves": curves, "notes": notes}


def resnet50_record(
    timings: Sequence[Record],
    *,
    data: str,
    notes: Sequence[str] = (),
) -> Record:
    """Ways of timing an iteration; where one has the ticket's figures beside its own, with their source."""
    stages = (stage for timing in timings for stage in timing["stages"])
    beside = any(stage["published_s"] is not None for stage in stages)
    return {
        "program": "resnet50",
        "data": data,
        "timings": list(timings),
        "published": RESNET50_SOURCE if beside else "",
        "notes": list(notes),
    }


def stage_times(
    label: str,
    seconds: Mapping[str, float],
    *,
    per_second: float,
    syncs: int | None,
    reads: int | None,
    published: bool,
) -> Record:
    """One way of timing an iteration; ``published`` puts the ticket's figures beside its stages."""
    return {
        "label": label,
        "stages": [
            {
                "name": _PARTS.get(name, name),
                "seconds": value,
                "published_s": RESNET50_SECONDS.get(name) if published else None,
            }
            for name, value in seconds.items()
        ],
        "per_second": per_second,
        "unit": "images",
        "syncs": syncs,
        "reads": reads,
    }


_PARTS = {"sgd": "of which sgd"}
"""Stages that lie within the one named before them: shares would else add up to more than the whole."""


def _curve(
    name: str,
    x_unit: str,
    xs: Sequence[float],
    values: Sequence[float],
    *,
    unit: str = "",
    band: Record | None,
) -> Record:
    points = [[x, float(value)] for x, value in zip(xs, values, strict=True)]
    return {"name": name, "x_unit": x_unit, "points": points, "unit": unit, "band": band}


def _band(intervals: Sequence[Interval], source: str, *, step: int = 1) -> Record:
    points = [[float(step * i), low, high] for i, (low, high) in enumerate(intervals)]
    return {"points": points, "source": source}
