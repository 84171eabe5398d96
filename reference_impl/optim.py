"""Stochastic gradient descent."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

from reference_impl.autograd import backward
from reference_impl.backend import Array, namespace
from reference_impl.tensor import Tensor

__all__ = ["SGD"]


class SGD:
    """SINGA's ``opt.SGD``: decay, then momentum, then the step, in place and on the parameter's device.

    For each parameter p with gradient g, where v starts as the first g:
    ``g += weight_decay * p``; ``v = momentum * v + (1 - dampening) * g``; with ``nesterov``
    ``g += momentum * v``, else ``g = v``; ``p -= lr * g``. The gradient itself is only read, since it may
    share memory with others. ``velocities`` holds v by parameter, for as long as the parameter lives; it is empty
    without momentum, and a checkpoint keeps it.
    """

    def __init__(
        self,
        lr: float,
        *,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        options = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        for name, value in options.items():
            if not 0.0 <= value < math.inf:
                raise ValueError(f"{name} must be finite and not below 0, got {value!r}")
        if not math.isfinite(dampening):
            raise ValueError(f"dampening must be finite, got {dampening!r}")
        if nesterov and (momentum == 0.0 or dampening != 0.0):
            raise ValueError("nesterov needs a momentum above 0 and no dampening")
        self.lr = lr
        self.momentum = momentum
        self.dampening = dampening
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        self.velocities: WeakKeyDictionary[Tensor, Array] = WeakKeyDictionary()

    def update(self, parameter: Tensor, gradient: Tensor) -> None:
        """Move one parameter; nothing is copied between host and device."""
        p, g = parameter.data, gradient.data
        xp, decayed = namespace(p, g), None
        if g.shape != p.shape:
            raise ValueError(f"gradient of shape {g.shape} for {parameter!r}")
        if self.weight_decay:
            g = decayed = self.weight_decay * p
            decayed += gradient.data
        if self.momentum:
            g = self._with_momentum(parameter, g)
        # A large array costs more when it is fresh than to write: the one for the decay serves twice.
        p -= xp.multiply(g, self.lr, out=decayed)

    def step(self, loss: Tensor) -> None:
        """Update every parameter ``loss`` depends on, each as soon as its gradient is known."""
        for parameter, gradient in backward(loss):
            self.update(parameter, gradient)

    def _with_momentum(self, parameter: Tensor, g: Array) -> Array:
        v = self.velocities.get(parameter)
        if v is None:
            self.velocities[parameter] = v = g.copy()
        else:
            v *= self.momentum
            v += (1.0 - self.dampening) * g if self.dampening else g
        return g + self.momentum * v if self.nesterov else v
