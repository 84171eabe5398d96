"""Training steps of the ticket's three programs beside PyTorch's, with the same threads: prints three tables.

Every peer trains the same network from the same weights on the same batch; that the losses of the first steps agree is
checked first. A round times one step of each peer, in an order that is drawn anew. The floor is the matrix products of
the step alone. The second table has the memory of a step by batch, the third where the time of a step goes.
"""

from __future__ import annotations

import argparse
import os
import sys

from rounds import Peer, machine, measure, ratio, say, spread, versions
from training_memory import memory_of
from training_profile import products_of, shares
from training_steps import Device, Program, Step, programs

OURS, TORCH, COMPILED = "this package", "torch eager", "torch.compile"
FLOOR = "matrix products alone (floor)"

_LOSS_STEPS = 2
_CLOSENESS = 1e-4
"""Of the first losses, relative: float32 sums of up to 4608 terms, in another order, through 53 normalisations."""

_PROFILED_SHARE = 0.01


def main() -> None:
    """Prints the tables and what they were measured with."""
    options = _options()
    _with_threads(options.threads)
    if not options.without_torch:
        import torch

        torch.set_num_threads(options.threads)
    device, chosen = Device(options.device), [programs()[name] for name in options.program]
    say(_conditions(options))
    say()
    ours = _print_times(chosen, device, options)
    if device.name == "cpu":
        say()
        _print_memory(chosen, options)
        say()
        _print_profiles(ours)
    say(f"\nload average at the end: {os.getloadavg()[0]:.2f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "program",
        nargs="*",
        metavar="PROGRAM",
        help="mlp, mnist_cnn, resnet50 (default: all)",
    )
    parser.add_argument("--threads", type=int, default=1, help="of every peer (default: 1)")
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="for each program (default: 30)"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--compiled", action="store_true", help="torch.compile takes part")
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--seed", type=int, default=0, help="of weights, batches and orders")
    options = parser.parse_args()
    options.program = options.program or list(programs())
    if unknown := set(options.program) - set(programs()):
        parser.error(f"no program {', '.join(sorted(unknown))}: there are {', '.join(programs())}")
    return options


def _with_threads(threads: int) -> None:
    """Starts anew where the libraries have not been told their threads, which they look at when they are loaded."""
    wanted = {
        **dict.fromkeys(
            ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)
        ),
        # Large pages for torch's allocations, as NumPy asks for them for its own.
        "THP_MEM_ALLOC_ENABLE": "1",
    }
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def _conditions(options: argparse.Namespace) -> str:
    return (
        f"{machine()}, {options.threads} threads for every peer, on {options.device}\n"
        f"{versions('numpy', 'torch')}, seed {options.seed}, load average at the start {os.getloadavg()[0]:.2f}\n"
        "float32. Spread: the 10th and 90th percentile around the median (steps). Ratios: the median over rounds [of the fastest steps]."
    )


def _print_times(
    chosen: list[Program], device: Device, options: argparse.Namespace
) -> dict[str, tuple[Step, Peer, Peer]]:
    say(
        "| program | peer | a step, ms: median [min] | spread | it / floor | it / torch eager | goal |"
    )
    say("|---|---|---|---|---|---|---|")
    found = {}
    for program in chosen:
        peers = _peers(program, device, options)
        rounds = max(10, int(options.seconds / _round_s(peers)))
        measure(peers, rounds=rounds, seed=options.seed)
        by_name = {peer.name: peer for peer in peers}
        for peer in peers:
            say("| " + " | ".join(_cells(program, peer, by_name)) + " |")
        if FLOOR in by_name:
            found[program.name] = (by_name[OURS].call, by_name[OURS], by_name[FLOOR])
    return found


def _peers(program: Program, device: Device, options: argparse.Namespace) -> list[Peer]:
    step = program.ours(program.batch, options.seed, device)
    peers, losses = [Peer(OURS, step)], [float(step().data) for _ in range(_LOSS_STEPS)]
    if not options.without_torch:
        for name in (TORCH, COMPILED) if options.compiled else (TORCH,):
            theirs = program.torch(program.batch, options.seed, device, compiled=name == COMPILED)
            _check_agreement(program, losses, [float(theirs()) for _ in range(_LOSS_STEPS)])
            peers.append(Peer(name, theirs))
    if device.name == "cpu":
        peers.append(Peer(FLOOR, products_of(step())))
    return peers


def _check_agreement(program: Program, ours: list[float], theirs: list[float]) -> None:
    # Of ResNet-50 the first loss alone: its second depends on rectifiers that rounding decides.
    count = 1 if program.name == "resnet50" else _LOSS_STEPS
    for mine, other in list(zip(ours, theirs, strict=True))[:count]:
        if not abs(mine - other) <= _CLOSENESS * abs(other):
            sys.exit(f"{program.name}: losses {ours} here and {theirs} of torch: not the same work")


def _round_s(peers: list[Peer]) -> float:
    tried = [Peer(peer.name, peer.call) for peer in peers]
    measure(tried, rounds=2, seed=0)
    return sum(peer.median_s for peer in tried)


def _cells(program: Program, peer: Peer, by_name: dict[str, Peer]) -> list[str]:
    beside_torch = TORCH in by_name and peer.name != TORCH
    return [
        f"{program.name}, batch {program.batch}",
        peer.name,
        f"{peer.median_s * 1e3:.2f} [{min(peer.times_s) * 1e3:.2f}]",
        spread(peer),
        ratio(peer, by_name[FLOOR]) if FLOOR in by_name else "",
        ratio(peer, by_name[TORCH]) if beside_torch else "",
        f"{program.goal:.2f}" if peer.name == OURS else "",
    ]


def _print_memory(chosen: list[Program], options: argparse.Namespace) -> None:
    say(
        "A step's peak of resident memory over what was resident before it, in a process of its own, MB; of it what"
        " tracemalloc saw; its page faults."
    )
    say(
        "| program | peer | "
        + " | ".join(f"{size} batch" for size in ("small", "timed", "large"))
        + " | more per image or point, kB | page faults per step, timed batch |"
    )
    say("|---|---|---|---|---|---|---|")
    for program in chosen:
        sizes = program.batches
        for peer, name in (("ours", OURS), ("torch", TORCH)):
            if peer == "torch" and options.without_torch:
                continue
            found = [
                memory_of(program, peer, size, threads=options.threads, seed=options.seed)
                for size in sizes
            ]
            cells = [
                f"{size}: {memory.resident_bytes / 1e6:.1f}"
                + ("" if memory.traced_bytes is None else f" ({memory.traced_bytes / 1e6:.1f})")
                for size, memory in zip(sizes, found, strict=True)
            ]
            growth = (found[-1].resident_bytes - found[0].resident_bytes) / (sizes[-1] - sizes[0])
            faults = found[sizes.index(program.batch)].page_faults
            say(
                f"| {program.name} | {name} | {' | '.join(cells)} | {growth / 1e3:.2f} | {faults:.0f} |"
            )


def _print_profiles(ours: dict[str, tuple[Step, Peer, Peer]]) -> None:
    say(
        "Where the time of a step of this package goes, by cProfile, which makes many small calls look dearer."
    )
    say("| program | what | share of the step | calls per step |")
    say("|---|---|---|---|")
    for name, (step, peer, floor) in ours.items():
        say(f"| {name} | matrix products, by themselves | {floor.median_s / peer.median_s:.0%} | |")
        for what, share, calls in shares(step, steps=max(3, int(1 / peer.median_s))):
            if share >= _PROFILED_SHARE:
                say(f"| {name} | {what} | {share:.0%} | {calls:.0f} |")


if __name__ == "__main__":
    main()
