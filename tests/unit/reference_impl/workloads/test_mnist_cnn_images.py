import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from reference_impl.workloads.mnist_cnn_images import DIGITS, SYNTHETIC, at_hand

HAS_DIGITS = importlib.util.find_spec("sklearn") is not None


def test_drawn_images_are_those_of_the_recorded_run():
    found = SYNTHETIC.load(320)
    random = np.random.RandomState(0)
    noise = random.rand(320, 1, 28, 28).astype(np.float32)
    labels = random.randint(0, 10, 320)
    np.testing.assert_array_equal(found.labels, labels)
    square = (found.images - noise)[5, 0]
    place = slice(2 * labels[5], 2 * labels[5] + 4)
    np.testing.assert_allclose(square[place, place], 1.0, rtol=1e-6)
    assert np.count_nonzero(square) == 16


def test_drawn_images_do_not_depend_on_how_many_were_drawn_before():
    before = SYNTHETIC.load(64).images.copy()
    SYNTHETIC.load(128)
    np.testing.assert_array_equal(SYNTHETIC.load(64).images, before)


def test_digits_are_taken_where_they_are_installed():
    assert at_hand() is (DIGITS if HAS_DIGITS else SYNTHETIC)


@pytest.mark.skipif(not HAS_DIGITS, reason="pip install scikit-learn")
def test_digits_lie_in_the_middle_of_an_empty_image():
    found = DIGITS.load(192)
    assert found.images.shape == (192, 1, 28, 28)
    assert found.images.dtype == np.float32
    assert found.labels[:10].tolist() == list(range(10))
    middle = found.images[:, :, 10:18, 10:18]
    assert found.images.sum() == middle.sum() > 0
    assert (found.images.min(), found.images.max()) == (0, 1)


def stand_in(monkeypatch):
    """scikit-learn as far as it is used: two digits of 8x8, which count black pixels of 16."""
    digits = SimpleNamespace(
        images=np.stack([np.full((8, 8), 16.0), np.zeros((8, 8))]), target=np.array([7, 3])
    )
    datasets = ModuleType("sklearn.datasets")
    datasets.load_digits = lambda: digits
    monkeypatch.setitem(sys.modules, "sklearn", ModuleType("sklearn"))
    monkeypatch.setitem(sys.modules, "sklearn.datasets", datasets)


@pytest.mark.skipif(HAS_DIGITS, reason="the digits themselves are here")
def test_the_padding_needs_no_scikit_learn_to_be_tested(monkeypatch):
    stand_in(monkeypatch)
    found = DIGITS.load(2)
    assert found.labels.tolist() == [7, 3]
    assert found.images[0].sum() == 64
    assert found.images[0, 0, 10:18, 10:18].min() == 1
    with pytest.raises(ValueError, match="there are 2 digits, not 3"):
        DIGITS.load(3)
