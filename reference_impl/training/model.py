"""What is trained: a network, its optimizer and its generator, as one thing that can be kept and brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_impl.autograd import training
from reference_impl.nn import Module, Sequential
from reference_impl.optim import SGD
from reference_impl.tensor import Tensor
from reference_impl.training.checkpoint import Checkpoint, Identity, Row
from reference_impl.training.device import Device, on_host
from reference_impl.training.errors import InputError

__all__ = ["Layer", "Model", "first_non_finite", "layers_of"]


@dataclass(frozen=True, slots=True)
class Model:
    """Parameters, running statistics and velocities on ``device``, and what draws order and augmentation."""

    network: Module
    sgd: SGD
    random: np.random.RandomState
    device: Device

    def checkpoint(self, identity: Identity, history: Sequence[Row]) -> Checkpoint:
        """Everything as it is now, on the host; on a device each array is read."""
        arrays = {f"tensor/{name}": on_host(tensor.data) for name, tensor in self._tensors.items()}
        for name, tensor in self.network.parameters.items():
            velocity = self.sgd.velocities.get(tensor)
            if velocity is not None:
                arrays[f"velocity/{name}"] = on_host(velocity)
        kind, keys, position, has_gauss, gauss = self.random.get_state(legacy=True)
        arrays["random/keys"] = np.asarray(keys)
        random = {"kind": kind, "position": position, "has_gauss": has_gauss, "gauss": gauss}
        return Checkpoint(
            identity=identity, history=tuple(map(dict, history)), arrays=arrays, random=random
        )

    def restore(self, checkpoint: Checkpoint, *, source: Path | str) -> None:
        """Make everything as it was; ``InputError`` where arrays are missing or have another shape or dtype."""
        arrays, taken = checkpoint.arrays, {"random/keys"}
        for name, tensor in self._tensors.items():
            tensor.data[...] = self.device.put(_fitting(arrays, f"tensor/{name}", tensor, source))
            taken.add(f"tensor/{name}")
        self.sgd.velocities.clear()
        for name, tensor in self.network.parameters.items():
            key = f"velocity/{name}"
            if key in arrays:
                self.sgd.velocities[tensor] = self.device.put(_fitting(arrays, key, tensor, source))
                taken.add(key)
        unknown = sorted(set(arrays) - taken)
        if unknown:
            raise InputError(f"{source}: holds {unknown[0]!r}, which this network does not have")
        state = checkpoint.random
        try:
            keys = arrays["random/keys"]
            rest = state["position"], state["has_gauss"], state["gauss"]
            self.random.set_state((state["kind"], keys, *rest))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{source}: the state of its generator is damaged ({error!r})"
            ) from error

    @property
    def _tensors(self) -> dict[str, Tensor]:
        return {**self.network.parameters, **self.network.state}


@dataclass(frozen=True, slots=True)
class Layer:
    """One stop on the way forward, to be looked behind when a number is lost; ``ways`` all start at its input."""

    name: str
    apply: Callable[[Tensor], Tensor]
    parameters: tuple[Tensor, ...] = ()
    ways: tuple[Sequence[Layer], ...] = ()


def layers_of(*chains: Sequential) -> list[Layer]:
    """The modules of ``chains`` one after the other; one without parameters is named by the one before it."""
    found: list[Layer] = []
    before = "the input"
    for module in (module for chain in chains for module in chain.parts()):
        parameters = tuple(module.parameters.values())
        kind = type(module).__name__
        if parameters:
            before = (parameters[0].name or "").rpartition(".")[0]
        name = f"{before!r} ({kind})" if parameters else f"{kind} behind {before!r}"
        found.append(Layer(name, module, parameters))
    return found


def first_non_finite(layers: Iterable[Layer], x: Tensor) -> str:
    """Where on the way of ``x`` through ``layers`` the first infinity or NaN is, in words."""
    if not _finite(x):
        return "the first non-finite value is in the input itself"
    with training():  # as in the step that lost it: normalisation by the batch
        found = _first_behind(layers, x)
    return found or "all layers are finite, and the loss of their logits is not"


def _first_behind(layers: Iterable[Layer], x: Tensor) -> str:
    for layer in layers:
        for parameter in layer.parameters:
            if not _finite(parameter):
                return (
                    f"the first non-finite value is in parameter {parameter.name!r}, "
                    "put there by the update of the step before"
                )
        y = layer.apply(x)
        if not _finite(y):
            within = (found for way in layer.ways if (found := _first_behind(way, x)))
            return next(within, f"the first non-finite value appeared after layer {layer.name}")
        x = y
    return ""


def _finite(tensor: Tensor) -> bool:
    return bool(np.isfinite(on_host(tensor.data)).all())


def _fitting(
    arrays: Mapping[str, NDArray[Any]], key: str, tensor: Tensor, source: Path | str
) -> NDArray[Any]:
    array = arrays.get(key)
    if array is None:
        raise InputError(f"{source}: holds no {key!r}")
    if array.shape != tensor.shape or array.dtype != tensor.dtype:
        raise InputError(
            f"{source}: {key!r} is {array.dtype} of shape {array.shape}, "
            f"not {tensor.dtype} of {tensor.shape}"
        )
    return array
