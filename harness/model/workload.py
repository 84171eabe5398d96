"""What can be put under test: protocols that any package's op can satisfy without importing the harness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

__all__ = ["Case", "Region", "Workload"]

Region = Callable[[str], AbstractContextManager[None]]
"""Opens a named region: ``with region("forward"): ...``."""


@runtime_checkable
class Case(Protocol):
    """One shape and dtype of a workload, with everything needed to run and judge it.

    Arrays named by ``inputs`` go to the device before the run; ``run`` gets device arrays and must return
    device arrays. All mappings are plain data, so that a workload never imports the harness.
    """

    @property
    def name(self) -> str:
        """Unique within the workload, usable in a file name: ``"4096x1000-float32"``."""
        ...

    @property
    def parameters(self) -> Mapping[str, str]:
        """What the case is, for people and for the baseline's key: shape, dtype, labels, ..."""
        ...

    @property
    def timed(self) -> bool:
        """Whether it is worth benchmarking; cases made for hard values are not."""
        ...

    @property
    def throughput(self) -> tuple[str, float, int]:
        """``(unit, units per call, least bytes per call that must move)``."""
        ...

    @property
    def budget(self) -> Mapping[str, Mapping[str, object]]:
        """Limits per region, see ``Budget.from_plain``; the region ``"run"`` is the whole run."""
        ...

    @property
    def tolerances(self) -> Mapping[str, Mapping[str, object]]:
        """How each output is compared, see ``harness.numerics.tolerance.Tolerance.from_plain``."""
        ...

    @property
    def gradients(self) -> Mapping[str, str]:
        """Input name to the output that holds d loss / d input; empty when there is none to check."""
        ...

    @property
    def loss(self) -> str | None:
        """The output that holds the scalar the gradients belong to."""
        ...

    def inputs(self, seed: int) -> Mapping[str, Any]:
        """Host arrays by name, the same for the same seed on every machine."""
        ...

    def run(self, inputs: Mapping[str, Any], region: Region) -> Mapping[str, Any]:
        """Do the work once on the device the inputs live on; return its outputs, left on that device."""
        ...

    def expected(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """The float64 truth for every output, from host arrays, by code independent of ``run``.

        Floating-point inputs may be float64 perturbations of ``inputs(seed)`` (the gradient check does so)
        and must then not be rounded back.
        """
        ...


@runtime_checkable
class Workload(Protocol):
    """A thing under test: a name, a sentence, and its cases.

    Optional attributes, looked up by name:

    ``controls``: mapping of a label to a workload with some of the same cases and a known defect. A control
    has ``control_expects`` = ``{region: {"d2h": 1, "syncs": 1}}``, exactly what it must be seen to do. A run
    whose control is not caught is inconclusive.

    A case may have ``peer(inputs, region)``: a frozen implementation timed in the same rounds, so that a
    slow machine is told from slow code. It may have ``training(inputs)``, called once on host arrays after the
    checks: a mapping with the fields of ``harness.model.training.Training``, shown in the report and never judged. It may
    have ``margin``, a fraction between 0 and 1: the slowdown against a
    stored baseline that is too much for it. It may have ``flops``, the floating-point operations of one call, finite
    and above 0: what its place under the roofline is computed from. Count what the work needs, however it is done:
    a multiply-add is two, every other operation on one number is one, an exponential, a maximum and a comparison too.
    """

    @property
    def name(self) -> str:
        """Unique, usable in a file name: ``"softmax_cross_entropy"``."""
        ...

    @property
    def summary(self) -> str:
        """One sentence for lists and reports."""
        ...

    def cases(self) -> Sequence[Case]:
        """The cases in the order they are run."""
        ...
