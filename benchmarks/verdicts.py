"""Whether verdicts on speed can be trusted on this machine: false alarms, slowdowns found, coverage, cost.

Every decision is taken as ``harness compare`` takes it: pairs of processes that take turns, ``harness.benchmark.runner``,
``harness.stats.change.compare_pairs``. Cells take turns, so that what the machine does falls on all alike. Each decision
is one line of the results file; a run that was stopped goes on where it was, and ``table`` prints what is there.

aa         Unchanged code, half of it beside a neighbour that copies memory in bursts; pytest-benchmark beside it.
slower     The op with extra work.
faster     The op without it, beside a baseline that has it.
simulated  Decisions on the simulated clock, where the truth is exact.
cost       Time to a decision by effect and noise; comparing a thousand ops; loading a long history.
table      The tables of everything in the results file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from neighbour import bursty_neighbour
from verdict_calibration import extra_rows
from verdict_decision import Extra, decide
from verdict_ops import LARGE, OPS, SLOWED
from verdict_table import Row, print_tables

AA_DECISIONS = 200
EFFECT_DECISIONS = 100
PEER_RUNS = 20
BLOCK = 10
EFFECTS = (0.02, 0.03, 0.05)
CAPS_S = {0.02: 10.0, 0.03: 4.0, 0.05: 4.0}
"""The decision of 4 s at 2 % is that of the first processes of the one of 10 s."""


@dataclass(frozen=True)
class Cell:
    """One kind of decision: the op, the extra work of each side, the time it has, and the company it keeps."""

    op: str
    candidate: float
    baseline: float
    seconds: float
    loud: bool

    @property
    def shares(self) -> tuple[float, float]:
        """Of extra work: the candidate's and the baseline's."""
        return self.candidate, self.baseline

    @property
    def label(self) -> str:
        """What rows of one kind are counted together by."""
        return (
            f"{self.candidate:g}/{self.baseline:g} {self.seconds:g} s{' loud' if self.loud else ''}"
        )


Seeded = tuple[Cell, int]
Rows = Mapping[float, int]
"""Of the large op, by share of extra work."""


def main() -> None:
    """Take the decisions that are missing, then print the tables."""
    options = _options()
    results = Path(options.results)
    done = _read(results)
    for question in options.questions:
        if question in ("aa", "slower", "faster"):
            _decide(list(_cells(question, options)), results, done, options)
        if question == "aa":
            _peers(results, done, options)
        if question == "simulated":
            _append(results, _simulated(options.seed), done)
        if question == "cost":
            _append(results, _cost(options.seed), done)
    print_tables(done, seed=options.seed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    questions = ["aa", "slower", "faster", "simulated", "cost", "table"]
    parser.add_argument("questions", nargs="+", choices=questions)
    parser.add_argument("--results", default="verdicts.jsonl", help="One line per decision.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="Decisions taken at the same time.")
    parser.add_argument("--decisions", type=float, default=1.0, help="Share of the full number.")
    parser.add_argument(
        "--effects", type=float, nargs="+", choices=EFFECTS, default=EFFECTS, metavar="SHARE"
    )
    return parser.parse_args()


def _cells(question: str, options: argparse.Namespace) -> Iterator[Cell]:
    """Every decision to take, one cell per decision."""
    share = options.decisions
    if question == "aa":
        for number in range(round(AA_DECISIONS * share)):
            op = OPS[number // 2 % len(OPS)]
            yield Cell(op, 0.0, 0.0, 4.0, loud=number % 2 == 1)
        return
    for effect in options.effects:
        for number in range(round(EFFECT_DECISIONS * share)):
            op = SLOWED[number % len(SLOWED)]
            sides = (effect, 0.0) if question == "slower" else (0.0, effect)
            yield Cell(op, *sides, CAPS_S[effect], loud=False)


def _decide(cells: list[Cell], results: Path, done: list[Row], options: argparse.Namespace) -> None:
    """Take the decisions that the results file lacks, in random order; quiet and loud ones by turns, in blocks."""
    chance = random.Random(options.seed)
    seeded = [(cell, chance.randrange(2**31)) for cell in cells]
    chance.shuffle(seeded)
    taken = {(row.get("label"), row.get("op"), row.get("seed")) for row in done}
    left = [(cell, seed) for cell, seed in seeded if (cell.label, cell.op, seed) not in taken]
    rows = _calibrated([cell for cell, _ in left if cell.op == LARGE], options.seed)
    began, number = time.perf_counter(), 0
    for block in _blocks(left):
        loud, seed = block[0][0].loud, block[0][1]
        with _company(loud=loud, seed=seed), ThreadPoolExecutor(options.workers) as pool:
            for row in pool.map(partial(_row, rows), block):
                number += 1
                _append(results, [row], done)
                left_s = (time.perf_counter() - began) * (len(left) - number) / number
                _say(
                    f"{number}/{len(left)}  {row['label']}  {row['decision']}  {left_s:.0f} s left"
                )


def _blocks(cells: list[Seeded]) -> Iterator[list[Seeded]]:
    """Some decisions at a time that share their company."""
    waiting = {loud: [each for each in cells if each[0].loud is loud] for loud in (False, True)}
    while any(waiting.values()):
        for loud, some in waiting.items():
            waiting[loud] = some[BLOCK:]
            if some:
                yield some[:BLOCK]


def _calibrated(cells: list[Cell], seed: int) -> Rows:
    """How many rows make the large op slower by each share that will be needed."""
    rows = extra_rows(sorted({share for cell in cells for share in cell.shares}), seed=seed)
    for share, count in rows.items():
        _say(f"{LARGE}: {share:+.0%} by {count} rows again")
    return rows


def _row(rows: Rows, seeded: Seeded) -> Row:
    cell, seed = seeded
    candidate, baseline = (
        Extra(share, rows.get(share, 0) if cell.op == LARGE else 0) for share in cell.shares
    )
    found = decide(
        cell.op,
        candidate=candidate,
        baseline=baseline,
        seconds=cell.seconds,
        seed=seed,
    )
    return {"kind": "decision", **asdict(cell), "label": cell.label, "seed": seed, **found}


def _peers(results: Path, done: list[Row], options: argparse.Namespace) -> None:
    """pytest-benchmark on the same code, as often quiet as beside the neighbour."""
    chance = random.Random(options.seed + 1)
    op = LARGE
    have = sum(row["kind"] == "peer" for row in done)
    for number in range(have, 2 * round(PEER_RUNS * options.decisions)):
        loud = number % 2 == 1
        with _company(loud=loud, seed=chance.randrange(2**31)):
            stats = _pytest_benchmark(op)
        _append(results, [{"kind": "peer", "op": op, "loud": loud, **stats}], done)
        _say(f"pytest-benchmark {number + 1}")


def _pytest_benchmark(op: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "out.json"
        subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "pytest",
                    "-q",
                    "-n",
                    "0",
                    "-c",
                    os.devnull,
                    "-p",
                    "no:cacheprovider",
                ),
                *(
                    "-p",
                    "no:harness",
                    "--rootdir",
                    folder,
                    "--benchmark-max-time=3",
                    "--benchmark-disable-gc",
                ),
                *("--benchmark-warmup=on", f"--benchmark-json={written}"),
                str(Path(__file__).with_name("peer_pytest_benchmark.py")),
            ],
            env={**os.environ, "VERDICT_OP": op, "PYTHONPATH": str(Path(__file__).parent)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        stats = json.loads(written.read_text())["benchmarks"][0]["stats"]
    return {name: stats[name] for name in ("mean", "median", "min")}


def _simulated(seed: int) -> list[Row]:
    from verdict_simulation import simulated_rows

    return list(simulated_rows(seed, say=_say))


def _cost(seed: int) -> list[Row]:
    from verdict_cost import cost_rows

    return list(cost_rows(seed, say=_say))


def _company(*, loud: bool, seed: int) -> AbstractContextManager[None]:
    return bursty_neighbour(seed=seed) if loud else nullcontext()


def _read(results: Path) -> list[Row]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def _append(results: Path, rows: list[Row], done: list[Row]) -> None:
    with results.open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    done.extend(rows)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


if __name__ == "__main__":
    main()
