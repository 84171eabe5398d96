"""One iteration of the ticket's resnet.py, as it is timed there and as it need not be.

Source: examples/autograd/resnet.py of Apache SINGA at commit 7baf2c40 (SINGA-502). The ticket's loop waits for the
device around each stage and each of the 161 updates, 3 + 2 * 161 = 325 times, which hides what one more wait costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar

from reference_impl.autograd import Operation, backward, training
from reference_impl.backend import Array
from reference_impl.optim import SGD
from reference_impl.tensor import Tensor
from reference_impl.workloads.resnet50_network import Network

__all__ = [
    "CONTAINS",
    "LEARNING_RATE",
    "MOMENTUM",
    "WEIGHT_DECAY",
    "Clock",
    "NoClock",
    "WaitingClock",
    "iteration",
    "optimizer",
    "stages",
    "timed",
]

LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.1, 0.9, 1e-5

Region = Callable[[str], AbstractContextManager[None]]
_Made = TypeVar("_Made")


class Clock(Protocol):
    """What times the stages of an iteration, and adds them up in ``seconds``."""

    seconds: dict[str, float]

    def stage(self, name: str, *, settled: bool = False) -> AbstractContextManager[None]:
        """Time one stage; ``settled`` where the device is known to have nothing left to do."""
        ...


class WaitingClock:
    """The ticket's: ``wait`` for the device before and after each stage, and add up the time between; ``waits`` counts."""

    def __init__(self, wait: Callable[[], object]) -> None:
        self._wait_for_device = wait
        self.waits = 0
        self.seconds = {"forward": 0.0, "softmax": 0.0, "sgd": 0.0}

    @contextmanager
    def stage(self, name: str, *, settled: bool = False) -> Iterator[None]:
        """Time one stage."""
        if not settled:
            self._wait()
        start = time.perf_counter()
        yield
        self._wait()
        self.seconds[name] += time.perf_counter() - start

    def _wait(self) -> None:
        self._wait_for_device()
        self.waits += 1


class NoClock:
    """Nobody waits, and so nothing is known but the time of the whole loop."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def stage(self, name: str, *, settled: bool = False) -> AbstractContextManager[None]:
        """Let the stage go by."""
        return nullcontext()


CONTAINS = "backward is total - forward - softmax, as the ticket has it: it contains sgd, and the time between stages"


def stages(row: Mapping[str, float]) -> dict[str, float]:
    """Seconds of one iteration in the ticket's order and by its arithmetic; of a loop without waits, the total."""
    if "forward" not in row:
        return {"total": row["total"]}
    backward = row["total"] - row["forward"] - row["softmax"]
    of_row = {name: row[name] for name in ("total", "forward", "softmax")}
    return {**of_row, "backward": backward, "sgd": row["sgd"]}


def optimizer(learning_rate: float = LEARNING_RATE) -> SGD:
    """The ticket's: SGD with momentum and weight decay."""
    return SGD(learning_rate, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)


def iteration(
    network: Network,
    op: Callable[..., Operation],
    sgd: SGD,
    batch: tuple[Array, Array],
    *,
    clock: Clock,
    region: Region,
    look: Callable[[Tensor], object] = lambda loss: None,
) -> tuple[Tensor, Tensor, dict[str, Array]]:
    """Forward, loss, and backward with every update; the logits, the loss and the gradients by name.

    ``look`` is shown the loss before any parameter is updated by it.
    """
    x, t = batch
    gradients: dict[str, Array] = {}
    with training():
        with region("forward"), clock.stage("forward"):
            logits = network(Tensor(x, requires_grad=False))
        with region("loss"), clock.stage("softmax", settled=True):
            (loss,) = op(t)(logits)
    look(loss)
    with region("backward"):
        for parameter, gradient in backward(loss):
            with region("update"), clock.stage("sgd"):
                sgd.update(parameter, gradient)
            gradients[parameter.name or ""] = gradient.data
    return logits, loss, gradients


def timed(
    step: Callable[[int], _Made], iterations: int, *, clock: Clock, wait: Callable[[], object]
) -> tuple[_Made, dict[str, float]]:
    """What the last ``step`` made, and the seconds of all together: ``total``, and of what stages ``clock`` was told.

    Each step gets its number, from 0; there is one at least. Waits for the device before the first and after the
    last, so that the work of each is its own.
    """
    wait()
    start = time.perf_counter()
    for number in range(iterations):
        made = step(number)
    wait()
    return made, {"total": time.perf_counter() - start, **clock.seconds}
