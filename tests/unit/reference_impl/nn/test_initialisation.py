import math

import numpy as np
import pytest

from reference_impl.nn import convolution_weight, he_deviation, linear_weight, xavier_deviation


def test_a_linear_weight_is_drawn_as_singa_draws_it():
    expected = np.random.RandomState(3).normal(0.0, math.sqrt(2.0 / (800 + 500)), (800, 500))
    np.testing.assert_array_equal(linear_weight(np.random.RandomState(3), 800, 500), expected)


def test_a_kernel_is_drawn_as_singa_draws_it():
    deviation = math.sqrt(2.0 / (20 * 5 * 5 + 50))
    expected = np.random.RandomState(3).normal(0.0, deviation, (50, 20, 5, 5))
    drawn = convolution_weight(np.random.RandomState(3), 50, 20, (5, 5))
    np.testing.assert_array_equal(drawn, expected)


def test_a_generator_of_either_kind_will_do():
    assert linear_weight(np.random.default_rng(0), 2, 3).shape == (2, 3)


@pytest.mark.parametrize(
    ("deviation", "expected"),
    [(xavier_deviation(3, 5), 0.5), (he_deviation(32), 0.25), (xavier_deviation(1, 1), 1.0)],
)
def test_deviations_are_those_of_the_papers(deviation, expected):
    assert deviation == expected
