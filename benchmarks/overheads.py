"""What the harness itself costs, beside what its users already pay: imports, comparisons, searches.

Every round takes each once, in an order drawn anew; imports are those of a fresh interpreter. The ratio is to the peer
named, of the same round.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from rounds import Peer, machine, measure, ratio, say, spread, versions

from harness.environment.machine import fingerprint
from harness.model.measurement import Sample
from harness.numerics.compare import compare
from harness.numerics.tolerance import Tolerance
from harness.stats.changepoints import change_points
from harness.stats.speed import compare_speeds, speed_of

_SHAPE = (1024, 3200)
_COMPARISONS = 1000
_POINTS = 10_000


def main() -> None:
    """Print the table, each row with its peer's below."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    say(f"{machine()}; {versions('numpy', 'scipy', 'pytest')}; seed {options.seed}")
    say(f"{'what':58}{'ms':>9}  {'ratio':>13}  spread (calls)")
    for peers in (_imports(), _plugins(), _arrays(), _timings(seed=options.seed)):
        _print(peers, options)
    _print(
        [Peer("fingerprint of this machine", lambda: fingerprint(["cpu", "simulated"]))], options
    )
    _print([Peer(f"change points of {_POINTS:,} runs", _search(options.seed))], options)


def _print(peers: list[Peer], options: argparse.Namespace) -> None:
    for peer in peers:
        peer.call()
    measure(peers, rounds=options.rounds, seed=options.seed)
    for peer in peers:
        compared = ratio(peer, peers[-1]) if peer is not peers[-1] else "1"
        say(f"{peer.name:58}{peer.median_s * 1e3:9.2f}  {compared:>13}  {spread(peer)}")
    say()


def _imports() -> list[Peer]:
    return [
        Peer("python -c 'import harness'", _process("-c", "import harness")),
        Peer("python -m harness --help", _process("-m", "harness", "--help")),
        Peer("python -c 'import numpy'", _process("-c", "import numpy")),
        Peer("python -c pass", _process("-c", "pass")),
    ]


def _plugins() -> list[Peer]:
    names = [
        "harness.pytest_plugin",
        *(name for name in ("pytest_benchmark.plugin",) if _has(name)),
    ]
    found = [
        Peer(f"python -c 'import pytest, {name}'", _process("-c", f"import pytest, {name}"))
        for name in names
    ]
    return [*found, Peer("python -c 'import pytest'", _process("-c", "import pytest"))]


def _arrays() -> list[Peer]:
    expected = np.random.default_rng(0).standard_normal(_SHAPE)
    observed = expected.astype(np.float32)
    tolerance = Tolerance(absolute=1e-6, relative=1e-6, because="this benchmark")
    shape = "x".join(map(str, _SHAPE))
    return [
        Peer(
            f"compare float32 {shape} with its oracle",
            lambda: compare(observed, expected, tolerance),
        ),
        Peer(
            "numpy.testing.assert_allclose",
            lambda: np.testing.assert_allclose(observed, expected, rtol=1e-6, atol=1e-6),
        ),
    ]


def _timings(*, seed: int) -> list[Peer]:
    from scipy.stats import mannwhitneyu

    chance = np.random.default_rng(seed)
    values = [chance.lognormal(14, 0.02, 100) for _ in range(20)]
    speeds = [speed_of(_a_sample(some)) for some in values]
    pairs = [(n % 20, (n + 1) % 20) for n in range(_COMPARISONS)]
    return [
        Peer(
            f"{_COMPARISONS:,} comparisons of stored speeds",
            lambda: [compare_speeds(speeds[a], speeds[b], margin=0.01) for a, b in pairs],
        ),
        Peer(
            "as many of SciPy's mannwhitneyu on the values",
            lambda: [mannwhitneyu(values[a], values[b]) for a, b in pairs],
        ),
    ]


def _a_sample(values: np.ndarray) -> Sample:
    return Sample(
        call_ns=tuple(values),
        peer_ns=tuple(values[::-1]),
        calls_per_value=1,
        warmup_calls=0,
        timer="perf_counter_ns",
        seed=0,
    )


def _search(seed: int) -> Callable[[], object]:
    """Runs whose speed changes every fifty, which is what takes longest."""
    values = np.random.default_rng(seed).normal(1, 0.005, _POINTS)
    changing = values * (1 + 0.02 * (np.arange(_POINTS) // 50 % 7))
    return lambda: change_points(changing)


def _process(*arguments: str) -> Callable[[], object]:
    command = [sys.executable, *arguments]
    return lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def _has(module: str) -> bool:
    return find_spec(module.partition(".")[0]) is not None


if __name__ == "__main__":
    main()
