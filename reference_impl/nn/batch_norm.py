"""Batch normalisation of images, channel by channel."""

from __future__ import annotations

from reference_impl.autograd import Operation, is_training
from reference_impl.backend import Array, accumulation_dtype, namespace
from reference_impl.nn.layout import batch_first, batch_last, checked_images
from reference_impl.nn.module import Module, parameter, state
from reference_impl.tensor import Tensor

__all__ = ["BatchNorm2d", "BatchNormalization"]

EPSILON = 1e-5
"""Added to every variance, so that a constant channel divides by no zero: SINGA's value, and PyTorch's."""


class BatchNormalization(Operation):
    """``(x - mean) / sqrt(variance + 1e-5) * scale + bias`` for x (N, C, H, W) and scale, bias (C,).

    In training mean and variance are those of the batch, over N, H and W, the variance being the mean square
    deviation; ``mean`` and ``variance``, the running statistics, become ``momentum * running + (1 - momentum) *
    batch``, in place, as on SINGA's CPU (PyTorch calls 1 - momentum its momentum, and divides the variance it keeps
    by one less than the number of values). Otherwise the running statistics are used, and stay.

    Statistics are kept and sums taken in float32 or wider. Saved for ``backward``: the deviations of x.
    """

    def __init__(self, mean: Array, variance: Array, *, momentum: float) -> None:
        self._running = (mean, variance)
        self._momentum = momentum

    def forward(self, x: Array, scale: Array, bias: Array) -> Array:
        """The (N, C, H, W) output, batch last in memory."""
        running_mean, running_variance = self._running
        xp = namespace(x, scale, bias, running_mean, running_variance)
        count, channels, height, width = checked_images(x, "BatchNormalization")
        if scale.shape != (channels,):
            raise ValueError(f"a scale of shape {scale.shape} for images of shape {x.shape}")
        self._training = is_training()
        if self._training and not x.size:
            raise ValueError(f"images of shape {x.shape} have no statistics to train with")
        wide = accumulation_dtype(x.dtype)
        values = batch_last(x).reshape((channels, height * width * count)).astype(wide, copy=False)
        if self._training:
            mean = values.mean(axis=1)
            deviations = values - _column(mean)
            variance = (deviations * deviations).mean(axis=1)
            self._keep(mean, variance)
        else:
            deviations, variance = values - _column(running_mean), running_variance
        inverse = 1.0 / xp.sqrt(variance + EPSILON)
        y = deviations * _column(scale * inverse)
        y += _column(bias)
        if self.recording:
            self._saved = (deviations, inverse, scale)
        shape = (channels, height, width, count)
        return batch_first(y.astype(x.dtype, copy=False).reshape(shape))

    def backward(self, dy: Array) -> tuple[Array, Array, Array]:
        """The gradients of x, scale and bias."""
        deviations, inverse, scale = self._saved
        d = batch_last(dy)
        shape, d = d.shape, d.reshape(deviations.shape).astype(deviations.dtype, copy=False)
        d_bias = d.sum(axis=1)
        along = (d * deviations).sum(axis=1) * inverse
        factor = scale * inverse
        if self._training:
            # The batch's own mean and variance depend on x: what they take up does not get through.
            share = 1.0 / deviations.shape[1]
            dx = deviations * _column(along * inverse * -share)
            dx += d
            dx -= _column(d_bias * share)
            dx *= _column(factor)
        else:
            dx = d * _column(factor)
        dx = batch_first(dx.astype(dy.dtype, copy=False).reshape(shape))
        return dx, along.astype(scale.dtype, copy=False), d_bias.astype(scale.dtype, copy=False)

    def _keep(self, mean: Array, variance: Array) -> None:
        for running, batch in zip(self._running, (mean, variance), strict=True):
            running *= self._momentum
            running += (1.0 - self._momentum) * batch


class BatchNorm2d(Module):
    """Normalises each channel, then applies the trained ``scale`` and ``bias`` (C,).

    ``mean`` and ``variance`` (C,): the running statistics, state of the layer, of which each training step keeps
    ``momentum``. ``backward`` yields scale before bias.
    """

    def __init__(
        self,
        scale: Array,
        bias: Array,
        *,
        mean: Array,
        variance: Array,
        momentum: float = 0.9,
        name: str = "",
    ) -> None:
        if not 0.0 <= momentum <= 1.0:
            raise ValueError(f"momentum must lie between 0 and 1, got {momentum!r}")
        shapes = {array.shape for array in (scale, bias, mean, variance)}
        if len(shapes) != 1 or scale.ndim != 1:
            raise ValueError(
                f"scale, bias, mean and variance must share one shape (C,), got {shapes}"
            )
        self.scale = parameter(scale, name, "scale")
        self.bias = parameter(bias, name, "bias")
        self.mean = state(mean, name, "mean")
        self.variance = state(variance, name, "variance")
        self.momentum = momentum

    def __call__(self, x: Tensor) -> Tensor:
        """The (N, C, H, W) output; in training it also moves the running statistics."""
        operation = BatchNormalization(self.mean.data, self.variance.data, momentum=self.momentum)
        return operation(x, self.scale, self.bias)[0]


def _column(of_channels: Array) -> Array:
    return of_channels.reshape((of_channels.shape[0], 1))
