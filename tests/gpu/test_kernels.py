"""The fused kernels agree with the oracle on this GPU."""

from __future__ import annotations

import pytest
from gpu.kernels import run_kernels

pytestmark = pytest.mark.gpu


def test_every_kernel_agrees_with_the_oracle(bench, confirm):
    confirm(lambda note: run_kernels(bench, note))
