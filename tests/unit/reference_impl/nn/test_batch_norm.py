import numpy as np
import pytest

from reference_impl.autograd import backward, training
from reference_impl.nn import BatchNorm2d
from reference_impl.tensor import Tensor


def a_layer(channels=3, dtype="float64", **options):
    ones, zeros = np.ones(channels, dtype), np.zeros(channels, dtype)
    return BatchNorm2d(
        ones.copy(), zeros.copy(), mean=zeros.copy(), variance=ones.copy(), **options
    )


def images(*, offset=0.0, dtype="float64"):
    return (np.random.default_rng(5).normal(size=(4, 3, 5, 6)) * 2 + offset).astype(dtype)


def test_training_makes_each_channel_mean_0_and_variance_1():
    with training():
        y = a_layer()(Tensor(images(offset=7.0))).data
    np.testing.assert_allclose(y.mean(axis=(0, 2, 3)), 0, atol=1e-12)
    # The epsilon takes its part of a variance of about 4.
    np.testing.assert_allclose(y.var(axis=(0, 2, 3)), 1, rtol=1e-5)


def test_scale_and_bias_are_applied_to_their_channel():
    layer = a_layer()
    layer.scale.data[:], layer.bias.data[:] = [1, 2, 3], [4, 5, 6]
    with training():
        y = layer(Tensor(images())).data
    np.testing.assert_allclose(y.mean(axis=(0, 2, 3)), [4, 5, 6])
    np.testing.assert_allclose(y.std(axis=(0, 2, 3)), [1, 2, 3], rtol=1e-5)


def test_running_statistics_keep_a_momentum_of_what_they_were():
    layer, x = a_layer(momentum=0.75), images(offset=3.0)
    mean, variance = np.zeros(3), np.ones(3)
    for _ in range(2):
        with training():
            layer(Tensor(x))
        mean = 0.75 * mean + 0.25 * x.mean(axis=(0, 2, 3))
        variance = 0.75 * variance + 0.25 * x.var(axis=(0, 2, 3))
    np.testing.assert_allclose(layer.mean.data, mean)
    np.testing.assert_allclose(layer.variance.data, variance)


def test_running_statistics_keep_their_memory():
    layer = a_layer()
    mean, variance = layer.mean.data, layer.variance.data
    with training():
        layer(Tensor(images()))
    assert layer.mean.data is mean
    assert layer.variance.data is variance


def test_outside_training_the_running_statistics_are_used_and_stay():
    layer, x = a_layer(), images()
    layer.mean.data[:], layer.variance.data[:] = [1, 2, 3], [4, 5, 6]
    y = layer(Tensor(x)).data
    column = (1, 3, 1, 1)
    expected = x - np.reshape([1, 2, 3], column)
    expected /= np.sqrt(np.reshape([4, 5, 6], column) + 1e-5)
    np.testing.assert_allclose(y, expected)
    assert layer.mean.data.tolist() == [1, 2, 3]
    assert layer.variance.data.tolist() == [4, 5, 6]


def test_a_large_offset_costs_no_digits():
    # The difference of the mean square and the squared mean would be noise: 1e8 has a last place of 8 in float32.
    x = images(offset=1e4, dtype="float32")
    with training():
        y = a_layer(dtype="float32")(Tensor(x)).data
        truth = a_layer()(Tensor(x.astype(np.float64))).data
    np.testing.assert_allclose(y, truth, atol=2e-3)


def test_a_constant_channel_is_0_and_its_gradient_finite():
    x = Tensor(np.full((2, 3, 2, 2), 5.0), stores_grad=True)
    with training():
        y = a_layer()(x)
    assert not y.data.any()
    for _, gradient in backward(y, dy=np.random.default_rng(6).normal(size=y.shape)):
        assert np.isfinite(gradient.data).all()


def test_scale_is_yielded_before_bias():
    layer = a_layer(name="bn1")
    with training():
        y = layer(Tensor(images(), requires_grad=False))
    yielded = [parameter.name for parameter, _ in backward(y, dy=np.ones(y.shape))]
    assert yielded == ["bn1.scale", "bn1.bias"]
    assert list(layer.parameters) == ["bn1.scale", "bn1.bias"]
    assert list(layer.state) == ["bn1.mean", "bn1.variance"]


def test_statistics_of_sixteen_bits_are_taken_in_thirty_two():
    x = images(offset=200.0).astype(np.float16)  # their squares would overflow: 60,000 is the end
    layer = a_layer(dtype="float32")
    with training():
        y = layer(Tensor(x)).data
    assert y.dtype == np.float16
    np.testing.assert_allclose(
        layer.mean.data, 0.1 * x.astype(float).mean(axis=(0, 2, 3)), rtol=1e-5
    )
    assert abs(float(y.astype(np.float32).std()) - 1) < 1e-2


def test_outside_training_it_moves_nothing_to_the_host(watch):
    host = {"one": np.ones(3, np.float32), "zero": np.zeros(3, np.float32)}
    there = watch.put({**host, "x": images(dtype="float32")})
    layer = BatchNorm2d(
        there["one"], there["zero"], mean=there["zero"].copy(), variance=there["one"].copy()
    )
    _, trace = watch.over(lambda: layer(Tensor(there["x"])))
    counts = trace.counts()
    assert (counts.d2h, counts.h2d, counts.syncs) == (0, 0, 0)


@pytest.mark.parametrize("momentum", [-0.1, 1.1, float("nan")])
def test_a_momentum_beyond_its_range_is_refused(momentum):
    with pytest.raises(ValueError, match="momentum must lie between 0 and 1"):
        a_layer(momentum=momentum)


def test_arrays_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match="must share one shape"):
        BatchNorm2d(np.ones(3), np.zeros(2), mean=np.zeros(3), variance=np.ones(3))


def test_images_of_other_channels_are_refused():
    with pytest.raises(ValueError, match=r"a scale of shape \(2,\) for images of shape"):
        a_layer(channels=2)(Tensor(images()))


def test_no_images_have_no_statistics_to_train_with():
    with training(), pytest.raises(ValueError, match="no statistics to train with"):
        a_layer()(Tensor(np.zeros((0, 3, 2, 2))))
