"""From readings to facts: which decide whether two runs may be compared, and which only explain."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.environment.readings import Readings
from harness.units import bytes_text

__all__ = [
    "PROTOCOL_VERSION",
    "SPEED_VARIABLES",
    "FactSource",
    "Facts",
    "git_state",
    "hard_facts",
    "soft_facts",
]

PROTOCOL_VERSION = 1
"""How timings are taken and traffic is counted; raised when samples taken before and after a change
of the harness itself may no longer be compared."""

SPEED_VARIABLES = (
    "BLIS_NUM_THREADS",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "OMP_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables that pick the thread count or the instruction set of array code."""

_CI_VARIABLES = {
    "APPVEYOR": "AppVeyor",
    "BUILDKITE": "Buildkite",
    "CIRCLECI": "CircleCI",
    "GITHUB_ACTIONS": "GitHub Actions",
    "GITLAB_CI": "GitLab CI",
    "JENKINS_URL": "Jenkins",
    "TEAMCITY_VERSION": "TeamCity",
    "TF_BUILD": "Azure Pipelines",
    "TRAVIS": "Travis CI",
}
_CPU = "/sys/devices/system/cpu"
_LONGEST = 200
"""Characters kept of one fact: a CPU's name has at most 48 by its own definition (CPUID brand string),
a variable or a list of features may be longer and is told apart by its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts as text by dotted name; ``hard`` ones decide comparability, ``soft`` ones explain."""

    hard: Mapping[str, str] = field(default_factory=dict)
    soft: Mapping[str, str] = field(default_factory=dict)


FactSource = Callable[[Sequence[str]], Facts]
"""Gives more facts about the named devices, as a GPU's driver does (``gpu.*``)."""


def hard_facts(readings: Readings, devices: Sequence[str]) -> dict[str, str]:
    """The facts that must all agree before two runs are compared; an unknown fact has no key."""
    config = readings.numpy_config
    blas = _section(config, "Build Dependencies", "blas")
    simd = config.get("SIMD Extensions")
    features = simd.get("found") if isinstance(simd, Mapping) else None
    facts = {
        "blas.name": str(blas.get("name", "")),
        "blas.version": str(blas.get("version", "")),
        "cpu.cores": "" if readings.cores is None else str(readings.cores),
        "cpu.model": _cpu_model(readings),
        "devices": " ".join(sorted(set(devices))),
        "harness.protocol": str(PROTOCOL_VERSION),
        "machine.architecture": readings.architecture,
        "numpy.simd": " ".join(map(str, features)) if isinstance(features, list) else "",
        "numpy.version": _major_minor(readings.numpy_version),
        "os.name": readings.system,
        "python.implementation": readings.python_implementation,
        "python.version": _major_minor(readings.python_version) + readings.python_abi,
    }
    facts |= {f"variable.{name}": readings.variables.get(name, "") for name in SPEED_VARIABLES}
    return _known(facts)


def soft_facts(readings: Readings) -> dict[str, str]:
    """The facts that explain a difference but forbid no comparison; an unknown fact has no key.

    The host's name is kept as the start of its SHA-256: enough to see that two runs shared a machine.
    """
    files = readings.files
    cpu = _fields(files.get("/proc/cpuinfo", ""))
    system = _fields(files.get("/etc/os-release", ""), separator="=")
    frequency = f"{_CPU}/cpu0/cpufreq/scaling_max_freq"
    facts = {
        "ci.provider": _ci_provider(readings.variables),
        "container.kind": _container(readings),
        "cpu.boost": _boost(files),
        "cpu.governor": files.get(f"{_CPU}/cpu0/cpufreq/scaling_governor", ""),
        "cpu.max_frequency": _frequency(files.get(frequency, "")),
        "cpu.microcode": cpu.get("microcode", ""),
        "cpu.quota": _quota(files.get("/sys/fs/cgroup/cpu.max", "")),
        "cpu.smt": {"0": "off", "1": "on"}.get(files.get(f"{_CPU}/smt/active", "").strip(), ""),
        "cpu.virtual": "yes" if "hypervisor" in cpu.get("flags", "").split() else "",
        "host.hash": hashlib.sha256(_text(readings.host)).hexdigest()[:12] if readings.host else "",
        "libc.version": readings.libc,
        "load.average": "" if readings.load is None else f"{readings.load:.2f}",
        "memory.hugepages": _chosen(files.get("/sys/kernel/mm/transparent_hugepage/enabled", "")),
        "memory.total": _memory(files.get("/proc/meminfo", "")),
        "numpy.exact": readings.numpy_version,
        "os.distribution": system.get("PRETTY_NAME", "").strip("\"'"),
        "os.release": readings.release,
        "python.exact": readings.python_version,
    }
    return _known(facts)


def git_state(status: str | None) -> tuple[str | None, bool | None]:
    """Commit, and whether tracked files had changes, from ``git status --porcelain=v2 --branch``.

    Both are ``None`` where git gave no answer or the branch has no commit yet.
    """
    lines = (status or "").splitlines()
    marks = [line.split()[-1] for line in lines if line.startswith("# branch.oid ")]
    if not marks or not re.fullmatch(r"[0-9a-f]{40,64}", marks[0]):
        return None, None
    return marks[0], any(line and not line.startswith("#") for line in lines)


def _known(facts: Mapping[str, str]) -> dict[str, str]:
    cleaned = {name: _clean(value) for name, value in sorted(facts.items())}
    return {name: value for name, value in cleaned.items() if value}


def _clean(value: str) -> str:
    """One printable line that any encoding of a file can hold."""
    line = " ".join(_text(value).decode("utf-8").split())
    shown = "".join(letter if letter.isprintable() else "?" for letter in line)
    return shown[:_LONGEST]


def _text(value: str) -> bytes:
    """Bytes of a text that may hold undecodable leftovers of the system's own encoding."""
    return value.encode("utf-8", "backslashreplace")


def _section(config: Mapping[str, object], *names: str) -> Mapping[str, object]:
    found: object = config
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _major_minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _fields(text: str, *, separator: str = ":") -> dict[str, str]:
    """The first value of every ``name: value`` line."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, found, value = line.partition(separator)
        if found:
            fields.setdefault(name.strip(), value.strip())
    return fields


def _cpu_model(readings: Readings) -> str:
    """Every kind of core with its numbers, since virtual machines shorten the name to ``AMD EPYC``."""
    kinds: dict[str, None] = {}
    for block in readings.files.get("/proc/cpuinfo", "").split("\n\n"):
        fields = _fields(block)
        if "model name" in fields:
            numbers = [f"{n} {fields[k]}" for n, k in _X86_NUMBERS if k in fields]
            kinds[" ".join([fields["model name"], *numbers])] = None
        elif "CPU part" in fields:  # 64-bit ARM prints numbers only
            numbers = [f"{n} {fields[k]}" for n, k in _ARM_NUMBERS if k in fields]
            kinds[" ".join(["ARM", *numbers])] = None
        elif "uarch" in fields or "cpu" in fields:  # RISC-V, POWER
            kinds[fields.get("uarch") or fields["cpu"]] = None
    return " + ".join(sorted(kinds)) or readings.processor


_X86_NUMBERS = (("family", "cpu family"), ("model", "model"))
_ARM_NUMBERS = (
    ("implementer", "CPU implementer"),
    ("part", "CPU part"),
    ("variant", "CPU variant"),
)


def _boost(files: Mapping[str, str]) -> str:
    boost = files.get(f"{_CPU}/cpufreq/boost", "").strip()
    no_turbo = files.get(f"{_CPU}/intel_pstate/no_turbo", "").strip()
    return {"1": "on", "0": "off"}.get(boost) or {"0": "on", "1": "off"}.get(no_turbo, "")


def _frequency(text: str) -> str:
    """``3400000`` (kHz) as ``3.40 GHz``."""
    return f"{int(text) / 1e6:.2f} GHz" if text.strip().isdecimal() else ""


def _quota(text: str) -> str:
    """``150000 100000`` (microseconds per period) as ``1.5 cores``; ``max`` is no quota."""
    parts = text.split()
    if len(parts) != 2 or not all(part.isdecimal() and int(part) for part in parts):
        return ""
    return f"{int(parts[0]) / int(parts[1]):.3g} cores"


def _chosen(text: str) -> str:
    """``always [madvise] never`` as ``madvise``."""
    found = re.search(r"\[(\w+)\]", text)
    return found[1] if found else ""


def _memory(text: str) -> str:
    found = re.search(r"^MemTotal:\s+(\d+) kB$", text, re.MULTILINE)
    return bytes_text(int(found[1]) * 1024) if found else ""


def _container(readings: Readings) -> str:
    if readings.variables.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if "/run/.containerenv" in readings.files:
        return "podman"
    return "docker" if "/.dockerenv" in readings.files else readings.variables.get("container", "")


def _ci_provider(variables: Mapping[str, str]) -> str:
    for name, provider in _CI_VARIABLES.items():
        if variables.get(name):
            return provider
    return "unnamed" if variables.get("CI") else ""
