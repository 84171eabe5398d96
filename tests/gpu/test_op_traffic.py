"""``harness run`` on this GPU fails the op before its fix, by one read of 4 bytes, and passes the corrected op."""

from __future__ import annotations

import pytest
from gpu.op_traffic import run_op

pytestmark = pytest.mark.gpu


def test_the_pre_fix_op_fails_and_the_corrected_op_is_proven(bench, confirm, tmp_path):
    confirm(lambda note: run_op(bench, note, tmp_path / "op"))
