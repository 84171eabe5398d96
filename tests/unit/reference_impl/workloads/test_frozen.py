"""The yardsticks must not change: a ratio to one of them is comparable only while its text is this one."""

from __future__ import annotations

import hashlib
import inspect
from types import ModuleType

import pytest

from reference_impl.workloads import frozen_mlp, frozen_mnist_cnn, frozen_softmax_cross_entropy


@pytest.mark.parametrize(
    ("yardstick", "digest"),
    [
        (frozen_softmax_cross_entropy, "3bdc1562f5f8a64a"),
        (frozen_mlp, "3604b342009d7788"),
        (frozen_mnist_cnn, "66f0e25a85281485"),
    ],
    ids=["softmax_cross_entropy", "mlp", "mnist_cnn"],
)
def test_the_text_of_a_yardstick_is_the_one_its_ratios_were_measured_with(
    yardstick: ModuleType, digest: str
) -> None:
    code = inspect.getsource(yardstick).partition("__all__")[2]  # the docstring may be reworded
    assert hashlib.sha256(code.encode()).hexdigest()[:16] == digest
