"""The ticket's resnet.py under test: an iteration that reads nothing, and the same with the ticket's 325 waits.

Source: examples/autograd/resnet.py of Apache SINGA at commit 7baf2c40 (SINGA-502): ResNet-50 on one batch of drawn
images, SGD with momentum and weight decay. It never reads its loss, so before the fix the one read of an iteration was
the op's own; and it waits so often that nobody could have told from its timings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference_impl.ops import HostRoundTripSoftMaxCrossEntropy, SoftMaxCrossEntropy
from reference_impl.workloads.resnet50_case import OperationFactory, Resnet50Case

__all__ = ["CONTROL", "PRE_FIX", "WORKLOAD", "Resnet50Workload"]


@dataclass(frozen=True, kw_only=True)
class Resnet50Workload:
    """Both loops with one op for the loss.

    ``op``: what makes the loss operation, called with the labels. ``names``: the cases it has. ``controls``, and the
    ``control_expects`` of a control: see the harness's ``Workload``.
    """

    op: OperationFactory = SoftMaxCrossEntropy
    names: tuple[str, ...] = ("float32", "float32-ticket_loop", "float64")
    name: str = "resnet50"
    summary: str = "the ticket's resnet.py: a ResNet-50 iteration that reads nothing (SINGA-502)"
    controls: Mapping[str, Resnet50Workload] = field(default_factory=dict)
    control_expects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def cases(self) -> tuple[Resnet50Case, ...]:
        """Those named; the loop that does not wait is timed."""
        cases = (
            Resnet50Case(op=self.op, timed=True),
            Resnet50Case(op=self.op, waits=True),
            Resnet50Case(op=self.op, dtype="float64"),
        )
        return tuple(case for case in cases if case.name in self.names)


CONTROL = "pre-fix op (SINGA-502)"
"""The label of the op that must be caught in every run."""

PRE_FIX = Resnet50Workload(
    op=HostRoundTripSoftMaxCrossEntropy,
    names=("float32", "float32-ticket_loop"),
    control_expects={
        "forward": {"d2h": 0},
        "loss": {"d2h": 1, "d2h_bytes": 4, "h2d": 0},
        "backward": {"d2h": 0},
        "run": {"d2h": 1, "d2h_bytes": 4},
    },
)
"""The program before the fix: one read of 4 bytes in every iteration, within the loss, however often a loop waits."""

WORKLOAD = Resnet50Workload(controls={CONTROL: PRE_FIX})
