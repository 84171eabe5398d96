"""The machine a check ran on: what explains its figures, and nothing that names a person."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts

from .bench import Bench
from .findings import Notebook

__all__ = ["describe", "packages", "variables"]

_PACKAGES = (
    "cuda",
    "cupti",
    "cupy",
    "ml_dtypes",
    "numba",
    "numpy",
    "nvidia",
    "ondevice",
    "torch",
    "triton",
)
_VARIABLES = (
    "CUDA_",
    "CUDNN_",
    "CUPY_",
    "LD_LIBRARY_PATH",
    "NVIDIA_",
    "PYTORCH_",
    "TEARDOWN_CUPTI",
    "TORCH",
    "TRITON_",
)

_SMI_S = 15.0
"""``nvidia-smi -q`` takes a second or two; on a GPU in trouble it can hang."""


def describe(bench: Bench, note: Notebook, folder: Path) -> None:
    """Write ``environment.json`` and what ``nvidia-smi`` says."""
    more = [] if bench.is_dry else [gpu_facts]
    environment = fingerprint([bench.name], more=more)
    plain = {
        **asdict(environment),
        "gpu": asdict(bench.identity),
        "packages": packages(),
        "variables": variables(os.environ),
    }
    (folder / "environment.json").write_text(json.dumps(plain, indent=1, default=dict), "utf-8")
    (folder / "nvidia-smi.txt").write_text(_smi(), "utf-8")
    identity = bench.identity
    driver = environment.soft.get("gpu.driver", "of unknown version")
    note.measured(
        "GPU",
        f"{identity.name}, compute capability {identity.compute_capability}, driver {driver}, "
        f"CUDA {identity.cuda_runtime}",
    )


def packages() -> Mapping[str, str]:
    """Versions of the installed packages that have a part in it."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = str(distribution.metadata["Name"] or "")
        if name.lower().replace("-", "_").startswith(_PACKAGES):
            found[name] = distribution.version
    return dict(sorted(found.items()))


def variables(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Those of the environment that change how CUDA behaves."""
    return {name: value for name, value in sorted(environ.items()) if name.startswith(_VARIABLES)}


def _smi() -> str:
    try:
        done = subprocess.run(
            ["nvidia-smi", "-q"], capture_output=True, text=True, timeout=_SMI_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nvidia-smi said nothing: {error}\n"
    return done.stdout + done.stderr
