"""A result on the speed of one test in words: what a report tells of it, and what a failed test shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.baseline.throughput import THROUGHPUT_CHECK
from harness.model.measurement import Estimate
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.pytest_plugin.policy import Situation
from harness.pytest_plugin.speed_settings import UNJUDGED
from harness.report.wording import visible
from harness.stats.change import Change, remedy
from harness.units import percent_text, ratio_text

__all__ = ["Finding", "Told", "not_judged", "refused", "told_finding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result with the text that a test's failure shows; ``situation`` is ``None`` where it was judged.

    ``unjudged`` says that it rests on raw times nobody vouches for, so whatever it shows is no judgement.
    """

    result: CheckResult
    text: str
    situation: Situation | None = None
    unjudged: bool = False

    @property
    def is_judgement(self) -> bool:
        """Whether something was compared that could have failed, and it was told which of the two it is."""
        waived = self.result.waiver is not None
        certain = waived or self.result.outcome in (Outcome.PASSED, Outcome.FAILED)
        return certain and self.situation is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is said beside the ratio: ``than`` what a test is slower, ``paired`` with what, what would ``mend`` it.

    ``unjudged`` says that these are raw times nobody vouches for.
    """

    than: str
    because: Sequence[str]
    paired: str
    medians: str
    evidence: str
    mend: str
    unjudged: bool = False


def not_judged(
    check: str, why: str, next_step: str, situation: Situation, *, details: Sequence[str] = ()
) -> Finding:
    """A test of which nothing can be said: why, and what to do."""
    result = CheckResult(
        check=check,
        outcome=Outcome.INCONCLUSIVE,
        summary=why,
        evidence="",
        details=tuple(details),
        next_step=next_step,
    )
    lines = [f"INCONCLUSIVE: {why}", *(f"  also      {detail}" for detail in details)]
    return Finding(
        result=result,
        text="\n".join(map(visible, [*lines, f"next      {next_step}"])),
        situation=situation,
    )


def refused(
    name: str, why: str, details: Iterable[str] = (), *, quiet: bool, unjudged: bool
) -> Finding:
    """A comparison with a baseline that makes no sense; ``quiet`` where it would have decided nothing."""
    finding = not_judged(
        THROUGHPUT_CHECK,
        f"not comparable with baseline {name!r}: {why}",
        "write a baseline on this machine: --harness-benchmark-json FILE",
        Situation.INCONCLUSIVE,
        details=tuple(details),
    )
    if not quiet:
        return finding
    shown = replace(finding.result, outcome=Outcome.SKIPPED)
    text = finding.text.replace("INCONCLUSIVE: ", "", 1)
    return Finding(result=shown, text=text, unjudged=unjudged)


def told_finding(check: str, change: Change, outcome: Outcome, lines: Told) -> Finding:
    """The finding of a comparison that was made. Raises ``ValueError`` for one that was not."""
    if change.ratio is None:
        raise ValueError(f"nothing was compared: {change.reason}")
    figures = f"{_interval(change.ratio)} the time of {lines.than}"
    allowed = f"{ratio_text(1 + change.margin)} (margin {percent_text(change.margin)})"
    next_step = _next_step(change, outcome, lines)
    slower = percent_text(1 / change.ratio.value - 1, signed=True)
    result = CheckResult(
        check=check,
        outcome=outcome,
        summary=_summary(outcome, figures, allowed, slower, lines),
        evidence=lines.evidence,
        details=(f"paired with {lines.paired}", f"median time: {lines.medians}"),
        next_step=next_step,
    )
    reasons = f"   ({'; '.join(lines.because)})" if lines.because else ""
    heads = {
        Outcome.FAILED: "slowdown limit exceeded",
        Outcome.PASSED: "slowdown limit kept",
        Outcome.SKIPPED: "slowdown shown, which decides nothing",
        Outcome.INCONCLUSIVE: f"INCONCLUSIVE: cannot tell whether it is slower than {lines.than} allows",
    }
    head = heads[outcome]
    if lines.unjudged and outcome is Outcome.INCONCLUSIVE:
        head = f"INCONCLUSIVE: {result.summary}"
    text = [
        head,
        f"  allowed   {allowed} the time of {lines.than}{reasons}",
        f"  observed  {_interval(change.ratio)}, throughput {slower}",
        f"  paired    with {lines.paired}",
        f"  median    {lines.medians}",
        f"evidence  {lines.evidence}",
        *([f"next      {next_step}"] if next_step else []),
    ]
    situation = Situation.INCONCLUSIVE if outcome is Outcome.INCONCLUSIVE else None
    return Finding(
        result=result,
        text="\n".join(map(visible, text)),
        situation=situation,
        unjudged=lines.unjudged,
    )


def _summary(outcome: Outcome, figures: str, allowed: str, slower: str, lines: Told) -> str:
    match outcome:
        case Outcome.FAILED:
            return f"{figures}, at most {allowed} is allowed; throughput {slower}"
        case Outcome.PASSED:
            return f"{figures}, at most {allowed} is allowed"
        case Outcome.SKIPPED if lines.unjudged:
            return f"{UNJUDGED}: no frozen peer; {figures}"
        case Outcome.SKIPPED:
            return f"judged by its peer; {figures}"
        case Outcome.INCONCLUSIVE if lines.unjudged:
            return (
                f"{UNJUDGED}: {figures}, at most {allowed} is allowed, but raw times cannot tell slow code "
                "from a slow machine"
            )
        case _:
            return f"cannot tell: {figures}, at most {allowed} is allowed"


def _next_step(change: Change, outcome: Outcome, lines: Told) -> str:
    match outcome:
        case Outcome.PASSED:
            return ""
        case Outcome.FAILED:
            return lines.mend
        case _ if lines.unjudged:
            return "give the mark peer=, a frozen copy of the op, or vouch for the machine: --harness-trust-raw"
        case Outcome.SKIPPED:
            return ""
        case _:
            return remedy(change, 1 + change.margin, option="--harness-benchmark-seconds")


def _interval(ratio: Estimate) -> str:
    return f"{ratio_text(ratio.value)} ({ratio_text(ratio.low)} to {ratio_text(ratio.high)})"
