"""What every functional test may use: whole pytest runs over small suites."""

from __future__ import annotations

import base64
import gzip
import importlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

# pytester unloads what its test was the first to import, and NumPy can be loaded only once per process
for _module in (
    "harness.devices.simulated",
    "harness.pytest_plugin.entries",
    "harness.pytest_plugin.reading",
    "harness.report.html",
    "harness.session.observe",
):
    importlib.import_module(_module)

OPS = """
import numpy as np

LOGITS = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]], dtype=np.float32)


def losses_of(logits):
    xp = logits.__array_namespace__()
    return xp.log(xp.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1))


def host_roundtrip(logits):
    xp = logits.__array_namespace__()
    losses = losses_of(logits)
    n = len(losses)
    return xp.full((), float(losses.sum()) / n)


def on_device(logits):
    losses = losses_of(logits)
    return losses.sum() / len(losses)
"""

HEADER = """
import pytest
from ops import LOGITS, host_roundtrip, on_device

BECAUSE = "the loss stays on the device: SINGA-502"
"""


Suite = Callable[..., pytest.RunResult]


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Write a suite and run it with this plugin and xdist alone, whatever else is installed."""
    for name in ("PYTEST_ADDOPTS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "200")
    pytester.makepyfile(ops=OPS)
    pytester.syspathinsert()

    def run(source: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_op=HEADER + source)
        # the outer pytest has loaded the plugin's modules already
        quiet = "-Wignore::pytest.PytestAssertRewriteWarning"
        plugins = ("-pharness.pytest_plugin", "-pxdist")
        return pytester.runpytest(quiet, *plugins, "--harness-device=simulated", *options)

    return run


@pytest.fixture
def reported(pytester: pytest.Pytester) -> Callable[..., dict[str, dict[str, Any]]]:
    """The cases of the run that a report of a suite holds, by name."""

    def read(name: str = "report.html") -> dict[str, dict[str, Any]]:
        page = (pytester.path / name).read_text(encoding="utf-8")
        data = re.search(r'<script type="application/gzip" id="run-data">([^<]*)</script>', page)
        assert data is not None
        run = json.loads(gzip.decompress(base64.b64decode(data[1])))
        return {verdict["case"]: verdict for verdict in run["verdicts"]}

    return read
