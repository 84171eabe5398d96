"""Convolutions that are inexact, unsteady, chatty or missing are found out, and all shapes of the networks are tried."""

from __future__ import annotations

import re
from itertools import count

import numpy as np
import pytest
from gpu.convolution import run_convolution
from gpu.convolution_cases import Case, arrays_of, cases, errors_of
from gpu.findings import Outcome
from gpu.runner import Ended, Ending
from gpu.table import table_lines

from harness.probes.simulated import launch
from reference_impl.nn import Convolution
from reference_impl.nn.by_columns import ByColumns
from reference_impl.nn.windows import Windows
from reference_impl.tensor import Tensor
from reference_impl.workloads import mnist_cnn_network, resnet50_network

FEW = (Case((2, 3, 9, 8), (4, 3, 3, 3), 2, 1), Case((2, 3, 8, 8), (4, 3, 1, 1)))


# --- the shapes, and what is held against them ----------------------------------------------------------


def test_the_cases_are_the_convolutions_the_networks_do(monkeypatch):
    met = []
    real = Convolution.forward

    def forward(self, x, w, b=None):
        windows = self._windows
        met.append(Case(x.shape, w.shape, windows.stride[0], windows.padding[0]))
        return real(self, x, w, b)

    monkeypatch.setattr(Convolution, "forward", forward)
    mnist = mnist_cnn_network.Network(mnist_cnn_network.first_parameters(0, "float32"))
    mnist(Tensor(np.zeros((64, 1, 28, 28), np.float32)))
    arrays = resnet50_network.first_arrays(np.random.RandomState(0), "float32")
    resnet50_network.Network(arrays, side=32)(Tensor(np.zeros((1, 3, 32, 32), np.float32)))
    assert len(met) == 2 + 53
    assert set(cases(batch=1, side=32)) == set(met)


def test_at_full_size_no_two_cases_are_the_same_and_none_is_lost():
    for batch, side in ((4, 64), (32, 224)):
        assert len(set(cases(batch=batch, side=side))) == 25


def by_columns(case, x, w, dy):
    windows = Windows.of(case.kernels[2:], stride=case.stride, padding=case.padding)
    product = ByColumns(windows, x, w)
    return product.output(), product.image_gradient(dy), product.kernel_gradient(dy)


def in_tf32(array):
    """Rounded to ten bits behind the point."""
    return (array.view(np.uint32) + 0x1000 & 0xFFFFE000).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("case", cases(batch=1, side=32), ids=lambda case: case.name)
def test_rounding_is_told_from_tf32_in_every_shape(case):
    arrays = arrays_of(case)
    assert max(errors_of(case, arrays, by_columns(case, *arrays))) < 8
    rounded = map(in_tf32, arrays)
    assert max(errors_of(case, arrays, by_columns(case, *rounded))) > 100


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_in_float64_columns_and_the_definition_are_one(case):
    """Columns were held against loops where they are tested themselves."""
    arrays = [array.astype(np.float64) for array in arrays_of(case)]
    y, dx, dw = by_columns(case, *arrays)
    assert max(errors_of(case, arrays, (y, dx, dw))) < 1e-6
    for spoilt in ((y + 1e-3, dx, dw), (y, dx + 1e-3, dw), (y, dx, dw + 1e-3)):
        assert max(errors_of(case, arrays, spoilt)) > 100


def test_a_pixel_that_no_window_reaches_must_be_zero():
    case = Case((1, 1, 2, 2), (1, 1, 1, 1), stride=2)
    arrays = arrays_of(case)
    y, dx, dw = by_columns(case, *arrays)
    assert errors_of(case, arrays, (y, dx, dw))[1] < 1
    spoilt = dx.copy()
    spoilt[0, 0, 1, 1] = 1e-12
    assert errors_of(case, arrays, (y, spoilt, dw))[1] > 1e9


# --- planted defects ------------------------------------------------------------------------------------


class Product(ByColumns):
    """What passes for cuDNN here: columns behind its signature."""

    def __init__(self, x, w, *, stride, padding):
        super().__init__(Windows(w.shape[2:], stride, padding), x, w)


class OfTenBits(Product):
    def kernel_gradient(self, dy):
        gradient = super().kernel_gradient(dy)
        launch(lambda values: np.copyto(values, in_tf32(values)), gradient, name="round")
        return gradient


class ShiftedImages(Product):
    def image_gradient(self, dy):
        return super().image_gradient(dy)[:, :, :, ::-1]


class OtherEachTime(Product):
    calls = count()

    def output(self):
        return super().output() * (1 + next(self.calls) * 1.2e-7)


class Reads(Product):
    def output(self):
        y = super().output()
        y[0, 0, 0, 0].get()
        return y


class NotANumber(Product):
    def output(self):
        return super().output() * np.nan


class NoPlan(Product):
    def kernel_gradient(self, dy):
        if self.weights.shape[1] == 3:
            raise RuntimeError("cuDNN made no plan for the kernel gradient")
        return super().kernel_gradient(dy)


class NoLibrary(Product):
    def __init__(self, x, w, **options):
        raise RuntimeError(
            "cuDNN does not start on device 0: pip install 'ondevice-harness[cudnn]'"
        )


@pytest.fixture
def run(bench, note, found, monkeypatch):
    """The section with ``product`` for cuDNN on a few small shapes; the findings."""

    def run(product):
        monkeypatch.setattr(bench, "by_cudnn", lambda: product)
        run_convolution(bench, note, FEW)
        return found()

    return run


def those(found, outcome):
    return {(one.item, one.about.partition(",")[0]) for one in found if one.outcome is outcome}


def test_convolutions_that_are_right_differ_nowhere(run):
    found = run(Product)
    assert those(found, Outcome.DIFFERS) == set()
    # A graph is what only a device can make.
    assert those(found, Outcome.NOT_TRIED) == {("cuDNN, bits and traffic", "capture")}
    times = [one for one in found if one.outcome is Outcome.MEASURED]
    assert [set(one.details["ns"]) for one in times] == [{"columns", "cuDNN"}] * 2


@pytest.mark.parametrize("product", [OfTenBits, ShiftedImages, NotANumber])
def test_values_that_are_not_those_of_the_definition_differ(run, product):
    found = run(product)
    assert {item for item, _ in those(found, Outcome.DIFFERS)} == {"cuDNN against the oracle"}


def test_another_result_each_time_differs(run):
    differing = those(run(OtherEachTime), Outcome.DIFFERS)
    assert ("cuDNN, bits and traffic", "values of 4 equal launches") in differing


def test_a_convolution_that_reads_back_differs(run):
    assert those(run(Reads), Outcome.DIFFERS) == {
        ("cuDNN, bits and traffic", "forward and backward")
    }


def test_a_shape_without_a_plan_does_not_keep_the_others_from_being_tried(run):
    found = run(NoPlan)
    assert not those(found, Outcome.DIFFERS)
    assert ("cuDNN against the oracle", FEW[1].name) in those(found, Outcome.NOT_TRIED)
    assert ("cuDNN against the oracle", "2x3x9x8 under 4x3x3x3") in those(found, Outcome.CONFIRMED)


def test_the_table_says_how_much_faster_cudnn_is(run):
    ended = Ended(name="convolution", ending=Ending.FINISHED, findings=run(Product))
    text = " ".join(" ".join(table_lines([ended], title="")).split())
    assert re.search(r"cuDNN [\d.]+x to [\d.]+x as fast as columns", text)
    alone = Ended(name="convolution", ending=Ending.FINISHED, findings=run(NoLibrary)[-5:])
    assert "as fast as" not in " ".join(table_lines([alone], title=""))


def test_what_keeps_cudnn_from_starting_is_told_once_and_columns_are_tried(run):
    found = run(NoLibrary)
    untried = [one for one in found if one.outcome is Outcome.NOT_TRIED]
    assert [(one.item, one.about) for one in untried] == [("cuDNN", "all of it")]
    assert "pip install 'ondevice-harness[cudnn]'" in untried[0].seen
    assert ("columns against the oracle", FEW[1].name) in those(found, Outcome.CONFIRMED)
