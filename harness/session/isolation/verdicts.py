"""What to say of a case whose process never told the end of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from enum import Enum

from harness.errors import ExitCode, HarnessError
from harness.model.event import Site
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Verdict
from harness.session.deaths import outcome_of_death
from harness.session.isolation.errand import Limits
from harness.session.isolation.messages import Broke, Message, Refused
from harness.session.isolation.process import ending_text
from harness.session.record import Plan

__all__ = [
    "NO_CASE",
    "Ending",
    "How",
    "end_of_case",
    "lost_case",
    "lost_workload",
    "next_step",
    "not_run",
    "outcome_of",
    "refusal",
    "story",
    "unrun",
]

NO_CASE = "-"
"""The case of a workload that could not be listed."""

_KILLED = -9


class How(Enum):
    """How a worker ended."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"
    BROKE = "broke"
    SPOILT = "spoilt"
    DIED = "died"
    TIME_LIMIT = "time limit"
    GARBLED = "garbled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a worker, and what it was about then: a case, the import of a workload, or something else.

    ``status`` is its return code, ``held`` its process number if it did not die of SIGKILL, ``site`` where its code
    under test was, ``told`` the message it ended with.
    """

    how: How
    case: str = ""
    doing: str = ""
    workload: str = ""
    status: int | None = None
    held: int | None = None
    site: Site | None = None
    told: Message | None = None


def outcome_of(ending: Ending) -> Outcome:
    """Failed where the code under test ended its process, inconclusive where it hung or something else did."""
    if ending.how is How.DIED and (ending.case or ending.workload):
        return outcome_of_death(ending.status)
    return Outcome.INCONCLUSIVE


def story(ending: Ending, limits: Limits) -> str:
    """What happened, in one sentence without a full stop."""
    subject = ending.case.partition("/")[2] or ending.doing
    if ending.workload:
        subject = f"workload {ending.workload!r}: {ending.doing}"
    at = f" at {ending.site}" if ending.site is not None else ""
    match ending.how:
        case How.TIME_LIMIT:
            where = at or "; where it was cannot be told"
            limit = f"{limits.limit_s(ending.case):g} s"
            return f"{subject} did not come back within {limit} and was stopped{where}"
        case How.DIED:
            return f"{subject} took its process along, which {ending_text(ending.status or 0)}{at}"
        case How.GARBLED:
            return f"{subject} wrote into the pipe that its verdict was to come through"
        case _ if isinstance(ending.told, Broke):
            return f"{subject} made the harness itself fail ({ending.told.text})"
        case _ if isinstance(ending.told, Refused):
            return ending.told.text
    return f"{subject} was {ending.how.value}"


def lost_case(
    ending: Ending, partial: Verdict | None, plan: Plan | None, limits: Limits
) -> Verdict:
    """The verdict of the case a worker did not survive: what was found before, and the end."""
    verdict = partial
    if verdict is None or verdict.key != ending.case:
        verdict = _bare(ending.case, plan)
    on_gpu = plan is not None and "cuda" in plan.traffic_device
    given = plan.given(ending.case) if plan is not None else ending.case
    check = end_of_case(ending, limits, given=given, on_gpu=on_gpu)
    return replace(verdict, checks=(*verdict.checks, check))


def lost_workload(ending: Ending, limits: Limits) -> Verdict:
    """The verdict of a workload whose import a worker did not survive."""
    return Verdict(
        workload=ending.workload.partition("/")[0],
        case=NO_CASE,
        parameters={},
        checks=(end_of_case(ending, limits, given=ending.workload),),
    )


def not_run(key: str, reason: str, plan: Plan | None) -> Verdict:
    """The verdict of a case that nothing could be found out about."""
    return replace(_bare(key, plan), checks=(unrun(key, reason),))


def unrun(key: str, reason: str) -> CheckResult:
    """The result of a case (``workload/case``) that nothing could be found out about."""
    return CheckResult(
        check="run",
        outcome=Outcome.INCONCLUSIVE,
        summary=f"{key.partition('/')[2]} was not run: {reason}",
        evidence="no process to run it in",
        next_step="repair that, then run again for the rest",
    )


def refusal(told: Refused) -> HarnessError:
    """The error that a worker met before it had anything to tell, as if it had been met here."""
    error = HarnessError(told.text)
    error.exit_code = ExitCode(told.exit_code)
    return error


def _bare(key: str, plan: Plan | None) -> Verdict:
    workload, _, case = key.partition("/")
    return Verdict(
        workload=workload,
        case=case,
        parameters={},
        checks=(),
        traffic_device=plan.traffic_device if plan else "",
        timing_device=plan.timing_device if plan else "",
    )


def end_of_case(ending: Ending, limits: Limits, *, given: str, on_gpu: bool = False) -> CheckResult:
    """The result of a case, or of the import of a workload, whose process did not come to its end.

    ``given`` is how the command line calls it.
    """
    details: tuple[str, ...] = ()
    if ending.held is not None:
        details = (
            f"process {ending.held} did not die of SIGKILL, so a driver holds it; see `dmesg`, and "
            "`nvidia-smi` for what it holds of the GPU",
        )
    return CheckResult(
        check="run",
        outcome=outcome_of(ending),
        summary=story(ending, limits),
        evidence=_evidence(ending, limits),
        details=details,
        next_step=next_step(ending, given=given, on_gpu=on_gpu),
    )


def _evidence(ending: Ending, limits: Limits) -> str:
    if ending.how is not How.TIME_LIMIT:
        return "the end of its process"
    if not ending.case:
        return f"a time limit of {limits.limit_s(''):g} s before the first case"
    more = limits.benchmark_s
    benchmark = f", and {more:g} s for its benchmark" if more else ""
    return f"a time limit of {limits.time_limit_s:g} s{benchmark}"


def next_step(ending: Ending, *, given: str, on_gpu: bool = False) -> str:
    """What to do about it, with the command to paste."""
    alone = f"python -m harness run --time-limit 0 {shlex.quote(given)}"
    match ending.how:
        case How.TIME_LIMIT if on_gpu:
            return (
                "see whether that line waits for a kernel that never ends: "
                f"cuda-gdb --args {alone}, and Ctrl-C there; if it only needs longer: --time-limit SECONDS"
            )
        case How.TIME_LIMIT:
            return "see what that line waits for; if it only needs longer: --time-limit SECONDS"
        case How.DIED if ending.status == _KILLED:
            return (
                "see with `dmesg` whether memory ran out; run a smaller case, or with more memory"
            )
        case How.DIED if (ending.status or 0) < 0:
            return f"see where it crashes: gdb --args {alone}"
        case How.DIED:
            return "take out what ends the process: os._exit() in Python, exit() in C"
        case How.GARBLED:
            return "let it write only to descriptors that it has opened itself"
    return "run it again with --debug, and report the traceback as a defect of the harness"
