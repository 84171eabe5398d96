"""Compiles a CUDA C++ source into a program that runs its kernels on the host."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path

__all__ = ["CompilerMissingError", "Sanitizer", "build"]

_HEADERS = ("cuda_on_host.h", "serve.h")


class CompilerMissingError(RuntimeError):
    """There is no g++ on this machine."""


class Sanitizer(Enum):
    """What the compiler builds in. With a sanitizer the first error ends the program, and names file and line.

    Nothing is optimised: of a kernel that runs over a few rows the compiling takes longer than the running.
    """

    NONE = ("-O0",)
    ADDRESS_AND_UNDEFINED = (
        "-O0",
        "-g1",
        "-fno-omit-frame-pointer",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    )


def build(
    source: str,
    kernels: Sequence[str],
    *,
    folder: Path,
    facts: Mapping[str, str] | None = None,
    sanitizer: Sanitizer = Sanitizer.NONE,
) -> Path:
    """The program that serves ``kernels`` of ``source``, made in ``folder`` unless it is there already.

    ``kernels``: as C++ names them, template arguments included; each takes one parameter by value. ``facts``: names and
    integer constant expressions that ``HostDevice.facts`` will answer. Raises ``CompilerMissingError`` where there is no
    g++, and ``ValueError`` with the compiler's words for a source it refuses. Cost: 1 to 20 s for a new program.
    """
    compiler = _compiler()
    main = _main(source, kernels, facts or {})
    flags = ("-std=c++17", "-fno-strict-aliasing", "-ffp-contract=off", *sanitizer.value)
    program = folder / f"cuda_on_host-{_digest(compiler, flags, main)}"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        for name in _HEADERS:
            (Path(scratch) / name).write_text(_header(name), "utf-8")
        (Path(scratch) / "main.cpp").write_text(main, "utf-8")
        command = [compiler, *flags, "main.cpp", "-o", "program"]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"g++ refuses the source:\n{done.stderr[:4000]}")
        os.replace(Path(scratch) / "program", program)
    return program


@cache
def _compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        raise CompilerMissingError(
            "no g++ on this machine: install it (Debian: apt-get install g++)"
        )
    return found


@cache
def _version(compiler: str) -> str:
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    return done.stdout


@cache
def _header(name: str) -> str:
    return (files("reference_impl.kernels.cuda_on_host") / name).read_text("utf-8")


def _digest(compiler: str, flags: Sequence[str], main: str) -> str:
    texts = [_version(compiler), *flags, *map(_header, _HEADERS), main]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]


def _main(source: str, kernels: Sequence[str], facts: Mapping[str, str]) -> str:
    served = "".join(f'    {{"{name}", cuda_on_host::launcher({name})}},\n' for name in kernels)
    stated = "".join(
        f'    std::printf("{name} %lld\\n", static_cast<long long>({expression}));\n'
        for name, expression in facts.items()
    )
    return f"""#include "serve.h"
{source}
#line 1 "main.cpp"
int main(int argument_count, char**) {{
  if (argument_count > 1) {{
{stated}    return 0;
  }}
  return cuda_on_host::serve({{
{served}  }});
}}
"""
