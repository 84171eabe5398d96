"""What the user chose about speed: options of the command line, which win, and of the ini file."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.pytest_plugin.policy import DEFAULTS, Action, Situation, read_policy
from harness.pytest_plugin.settings import check_writable, chosen, refuse_foreign

__all__ = [
    "SPEED_CHECKS",
    "SPEED_MARK",
    "SPEED_SETTINGS",
    "UNJUDGED",
    "SpeedSettings",
    "add_speed_options",
    "fraction",
    "read_speed_settings",
]

SPEED_MARK = "limit_slowdown"

SPEED_CHECKS = ("slowdown", "throughput")
"""The checks a result on speed can be of: against a peer, and against a baseline."""


UNJUDGED = "speed not judged"
"""What is said of a timed test on whose speed no judgement was passed, in the terminal and in JUnit files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSettings:
    """The options of one session.

    ``margin`` is ``None`` where each comparison has its own default. ``confidence`` is that of all comparisons of the
    session together. ``seconds`` is how long the pairs of one test are timed at most. Paths are absolute.
    ``makes_baseline`` says that a test with nothing to hold it against passes since this session writes the file that
    the next one will be held against.
    """

    baseline: Path | None
    json: Path | None
    margin: float | None
    confidence: float
    seconds: float
    trust_raw: bool
    policy: dict[Situation, Action]
    makes_baseline: bool


SPEED_SETTINGS = pytest.StashKey[SpeedSettings]()
"""Where the session's config keeps them."""

_BASELINE = "Hold every test that uses `benchmark` against this file: pytest-benchmark's JSON, or a baseline of the harness"
_JSON = "Write every timed test to this file, in pytest-benchmark's format"
_POLICY = (
    "What becomes of a test whose speed cannot simply be judged: new, missing, renamed, skipped, no-baseline, "
    "inconclusive, unjudged; may be repeated, all of them apply"
)
_MARGIN = "How much slower is too much where the test does not say: default 1 percent against a peer, 5 percent against a baseline"
_CONFIDENCE = "How sure all comparisons of a session are together: default 99 percent"
_SECONDS = "Seconds to time the pairs of one test, at most: default 4"
_TRUST_RAW = (
    "Let stored raw timings fail a test that has no peer, as from a quiet machine of your own"
)


def add_speed_options(parser: pytest.Parser) -> None:
    """Declare the options, each with an ini option of the same name."""
    group = parser.getgroup("harness-speed", "harness: speed of tests that use `benchmark`")
    group.addoption("--harness-benchmark-baseline", metavar="FILE", help=f"{_BASELINE}.")
    group.addoption("--harness-benchmark-json", metavar="FILE", help=f"{_JSON}.")
    group.addoption("--harness-policy", metavar="NAME=ACTION", action="append", help=f"{_POLICY}.")
    group.addoption("--harness-margin", metavar="PERCENT", help=f"{_MARGIN}.")
    group.addoption("--harness-confidence", metavar="PERCENT", help=f"{_CONFIDENCE}.")
    group.addoption("--harness-benchmark-seconds", metavar="SECONDS", help=f"{_SECONDS}.")
    group.addoption("--harness-trust-raw", action="store_const", const="yes", help=f"{_TRUST_RAW}.")
    parser.addini(
        "harness_benchmark_baseline", f"{_BASELINE}, relative to the root folder.", default=""
    )
    parser.addini("harness_benchmark_json", f"{_JSON}, relative to the root folder.", default="")
    parser.addini("harness_policy", f"{_POLICY}.", default="")
    parser.addini("harness_margin", f"{_MARGIN}.", default="")
    parser.addini("harness_confidence", f"{_CONFIDENCE}.", default="99%")
    parser.addini("harness_benchmark_seconds", f"{_SECONDS}.", default="4")
    parser.addini("harness_trust_raw", f"{_TRUST_RAW}: yes or no (default).", default="no")


def read_speed_settings(config: pytest.Config) -> SpeedSettings:
    """The options of this session, checked; ``pytest.UsageError`` in one line for one that makes no sense."""
    policy = _policy(config)
    makes_baseline = Situation.NO_BASELINE not in policy and _makes_baseline(config)
    if makes_baseline:
        policy[Situation.NO_BASELINE] = Action.PASS
    policy = {**DEFAULTS, **policy}
    return SpeedSettings(
        baseline=_baseline(config, policy),
        json=_json(config),
        margin=_margin(config),
        confidence=_confidence(config),
        seconds=_seconds(config),
        trust_raw=_trust_raw(config),
        policy=policy,
        makes_baseline=makes_baseline,
    )


def fraction(value: object) -> float:
    """``"1%"``, ``"0.01"`` or ``0.01`` as a fraction; ``ValueError`` with the reason for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is neither a percentage nor a fraction; write '1%' or 0.01")
    try:
        if isinstance(value, str) and value.strip().endswith("%"):
            found = float(value.strip()[:-1]) / 100
        else:
            found = float(value)
    except ValueError:
        raise ValueError(
            f"{value!r} is neither a percentage nor a fraction; write '1%' or 0.01"
        ) from None
    if not 0 <= found < 10 or math.isnan(found):
        raise ValueError(f"{value!r} is not from 0 to 1000%; write '1%' or 0.01")
    return found


def _policy(config: pytest.Config) -> dict[Situation, Action]:
    """The choices that were made."""
    ini = read_policy([str(config.getini("harness_policy"))], source="ini option harness_policy")
    given = read_policy(config.getoption("harness_policy") or [], source="--harness-policy")
    shared: dict[Situation, Action] = {}
    said, _ = chosen(config, "inconclusive")
    if said:  # of all limits, those of speed included
        shared[Situation.INCONCLUSIVE] = Action(said)
    return {**shared, **ini, **given}


def _makes_baseline(config: pytest.Config) -> bool:
    """Whether this session was asked to write a file and given none to be held against.

    Asked on the command line: an ini file asks every time, and would leave a gate open for ever.
    """
    baseline, _ = chosen(config, "benchmark_baseline")
    return bool(config.getoption("harness_benchmark_json")) and not baseline


def _baseline(config: pytest.Config, policy: dict[Situation, Action]) -> Path | None:
    name, source = chosen(config, "benchmark_baseline")
    if not name:
        return None
    path = _path(config, name, source)
    if path.is_file():
        return path
    if policy[Situation.NO_BASELINE] is Action.PASS and not os.path.lexists(path):
        return None
    if path.is_dir():
        raise pytest.UsageError(
            f"{source}: {path} is a folder; name a file in it, such as {path / 'speed.json'}"
        )
    what = "is no file" if os.path.lexists(path) else "does not exist"
    raise pytest.UsageError(
        f"{source}: {path} {what}; make one with --harness-benchmark-json, or allow a first run without it: "
        "--harness-policy no-baseline=pass"
    )


def _json(config: pytest.Config) -> Path | None:
    name, source = chosen(config, "benchmark_json")
    if not name:
        return None
    if not name.lower().endswith(".json"):
        # above all `--harness-benchmark-json tests/test_op.py`, which must not overwrite that test
        raise pytest.UsageError(f"{source}: {name!r} does not end in .json; name the file to write")
    path = _path(config, name, source)
    if not hasattr(config, "workerinput"):
        check_writable(path, source)
        refuse_foreign(path, source, form="BENCHMARKS")
    return path


def _path(config: pytest.Config, name: str, source: str) -> Path:
    folder = config.invocation_params.dir if source.startswith("--") else config.rootpath
    return Path(os.path.abspath(folder / name))


def _margin(config: pytest.Config) -> float | None:
    text, source = chosen(config, "margin")
    return _fraction(text, source) if text else None


def _confidence(config: pytest.Config) -> float:
    text, source = chosen(config, "confidence")
    found = _fraction(text, source)
    if not 0.5 <= found < 1:
        raise pytest.UsageError(f"{source}: {text!r} is not from 50% to below 100%")
    return found


def _fraction(text: str, source: str) -> float:
    try:
        return fraction(text)
    except ValueError as error:
        raise pytest.UsageError(f"{source}: {error}") from None


def _seconds(config: pytest.Config) -> float:
    text, source = chosen(config, "benchmark_seconds")
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0.01 <= found <= 3600:
        raise pytest.UsageError(f"{source}: {text!r} is no number of seconds from 0.01 to 3600")
    return found


def _trust_raw(config: pytest.Config) -> bool:
    text, source = chosen(config, "trust_raw")
    words = {"yes": True, "true": True, "no": False, "false": False}
    if text.lower() not in words:
        raise pytest.UsageError(f"{source}: {text!r} is neither yes nor no")
    return words[text.lower()]
