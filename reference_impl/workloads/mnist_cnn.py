"""The ticket's mnist_cnn.py under test: its training steps, and what each of them may move.

Source: examples/autograd/mnist_cnn.py of Apache SINGA at commit 7baf2c40 (SINGA-502): batches of 64 images, one-hot
int32 labels, SGD with momentum and weight decay. Per step the program puts a batch on the device and reads the
logits and the loss; the fix of SINGA-502 takes away one more read, which nobody had asked for. The variant
``lazy_metrics`` shows that none is needed: its data and its metrics live on the device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.workloads.mnist_cnn_case import STEPS, MnistCnnCase
from reference_impl.workloads.mnist_cnn_images import ImageSource, at_hand
from reference_impl.workloads.mnist_cnn_lazy_case import LazyMetricsCase
from reference_impl.workloads.mnist_cnn_steps import OperationFactory

__all__ = ["CONTROL", "PRE_FIX", "WORKLOAD", "MnistCnnWorkload"]


@dataclass(frozen=True, kw_only=True)
class MnistCnnWorkload:
    """The program in float32 and float64, and with lazy metrics, with one op for its loss.

    ``op``: what makes the loss operation, called with the labels. ``names``: the cases it has. ``controls``,
    and the ``control_expects`` of a control: see the harness's ``Workload``.
    """

    op: OperationFactory = SoftMaxCrossEntropy
    source: ImageSource = field(default_factory=at_hand)
    names: tuple[str, ...] = ("float32", "float64", "float32-lazy_metrics")
    name: str = "mnist_cnn"
    summary: str = "the ticket's mnist_cnn.py: training steps that read logits and loss, or nothing (SINGA-502)"
    controls: Mapping[str, MnistCnnWorkload] = field(default_factory=dict)
    control_expects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def cases(self) -> tuple[MnistCnnCase, ...]:
        """Those named; float32 as the ticket ran it is timed."""
        cases = (
            MnistCnnCase(dtype="float32", op=self.op, source=self.source, timed=True),
            MnistCnnCase(dtype="float64", op=self.op, source=self.source),
            LazyMetricsCase(dtype="float32", op=self.op, source=self.source),
        )
        return tuple(case for case in cases if case.name in self.names)


CONTROL = "pre-fix op (SINGA-502)"
"""The label of the op that must be caught in every run."""

PRE_FIX = MnistCnnWorkload(
    op=HostRoundTripSoftMaxCrossEntropy,
    names=("float32", "float32-lazy_metrics"),
    control_expects={
        "forward": {"d2h": 0, "syncs": 0},
        "loss": {"d2h": STEPS, "d2h_bytes": 4 * STEPS, "h2d": 0, "syncs": STEPS},
        "backward": {"d2h": 0, "syncs": 0},
    },
)
"""The program before the fix: one more read in every step, of 4 bytes, within the loss."""

WORKLOAD = MnistCnnWorkload(controls={CONTROL: PRE_FIX})
