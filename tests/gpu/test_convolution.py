"""Convolutions by columns, and by cuDNN where it is, agree with the oracle on this GPU."""

from __future__ import annotations

import pytest
from gpu.convolution import run_convolution

pytestmark = pytest.mark.gpu


def test_every_convolution_agrees_with_the_oracle(bench, confirm):
    confirm(lambda note: run_convolution(bench, note))
