"""The use case: is the code of the working tree slower than at a ref? From names to a record of the run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.environment import fingerprint
from harness.environment.pynvml import gpu_facts
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run, Verdict
from harness.session.against.ending import interrupted, record_of_run
from harness.session.against.judgement import judge
from harness.session.against.listing import Listing, listed
from harness.session.against.repository import SAME_CODE, Commit, Repository, find_repository
from harness.session.against.sides import sides
from harness.session.against.tour import Progress, Request, Tour
from harness.session.against.trial import Trial
from harness.session.against.worktree import checked_out
from harness.session.isolation import Hooks
from harness.units import count_text

__all__ = ["compare_with_ref"]


def compare_with_ref(request: Request, *, progress: Progress, hooks: Hooks | None = None) -> Run:
    """Compare every timed case with its namesake at the ref and return the record.

    ``progress`` is told each step of timing, ``hooks`` of the processes that import the workloads before. Ctrl-C
    keeps what was measured until then. No process and no worktree is left behind. Raises ``UsageError``
    for a ref, name, path or interpreter that will not do, ``UnavailableError`` without git or the device,
    ``OutputError`` where the ref cannot be checked out.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    repository = find_repository(Path.cwd())
    commit = repository.resolve(request.ref)
    listing = listed(request, hooks or Hooks())
    records, verdicts = listing.records(), list(listing.verdicts)
    for record in records:
        record.apart = request.python is not None
    tour = Tour(request, progress, records)
    notes, same_code = _walk(tour, repository, commit, listing, request)
    paired_with = f"{commit.label} (git worktree)"
    speeds = judge(
        records,
        request.criteria,
        paired_with=paired_with,
        named=commit.label,
        fewest=request.fewest_processes,
    )
    seen = [record for record in records if record.samples or record.ended or not tour.stopped]
    verdicts += [record.verdict(speeds.get(record.subject.key), tour.device) for record in seen]
    checks = _vacuous(verdicts, commit)
    if tour.stopped:
        what = f"with {len(seen)} of {count_text(len(records), 'case')} timed, not all of them to the end"
        checks = [interrupted(what, "decisions rest on the pairs taken until then")]
    environment = fingerprint(
        [tour.device] if tour.device else [], repository=repository.root, more=[gpu_facts]
    )
    here = repository.state(commit, same_code=same_code)
    compared = f"compared: {here}" if same_code else f"compared: {here}, with {commit.label}"
    return record_of_run(
        request,
        verdicts,
        checks,
        started=started,
        environment=environment,
        baseline=f"{paired_with}, {SAME_CODE}" if same_code else paired_with,
        paired_with=paired_with,
        notes=[compared, *notes, *listing.notes],
        duration_s=time.perf_counter() - clock,
    )


def _walk(
    tour: Tour, repository: Repository, commit: Commit, listing: Listing, request: Request
) -> tuple[list[str], bool]:
    """Time everything, with the ref checked out meanwhile.

    Returns what is to be noted, and whether both sides are known to have run the same code.
    """
    with checked_out(repository, commit) as worktree:
        both = sides(
            repository,
            commit,
            worktree,
            listing.code,
            device=request.device,
            python=request.python,
            folder=request.import_path,
            patience_s=request.patience_s,
        )
        trial = Trial(sides=both, scratch=worktree.scratch, seed=request.criteria.seed)
        submodules = (worktree.tree / ".gitmodules").exists()
        tour.walk(trial)
    lacking = [f"submodules of {commit.label} were not checked out"] if submodules else []
    return [*tour.notes, *trial.notes, *lacking], trial.same_code


def _vacuous(verdicts: Sequence[Verdict], commit: Commit) -> list[CheckResult]:
    """A comparison in which nothing was compared says nothing, however well every part of it ended."""
    if any(verdict.sample is not None for verdict in verdicts):
        return []
    return [
        CheckResult(
            check=THROUGHPUT_CHECK,
            outcome=Outcome.INCONCLUSIVE,
            summary=f"nothing was compared with {commit.label}",
            evidence=f"{count_text(len(verdicts), 'case')}, none of them timed on both sides",
            next_step="see what each case says, and compare with a ref that has them",
        )
    ]
