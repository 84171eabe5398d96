"""What CUPTI records on this GPU is what the probes take it to be."""

from __future__ import annotations

import pytest
from gpu.checklist import CHECKLIST, STRESS

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("item", [*CHECKLIST, *STRESS], ids=lambda item: item.label)
def test_the_device_does_what_the_probes_expect_of_it(bench, confirm, item):
    confirm(lambda note: item.look(bench, note))
