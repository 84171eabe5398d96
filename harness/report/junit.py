"""Runs as JUnit XML, which every CI service reads: a suite per workload, a test case per case and check.

A CI service knows three ways not to pass. FAILED is a ``failure``; an exception or a death of the code under test is an
``error`` of type ``crash``; INCONCLUSIVE is an ``error`` of type ``inconclusive``, since the command ends with 4 there and a
job that reads nothing but this file must not turn green either. SKIPPED and waived checks are ``skipped``. Within the
elements and attributes of Jenkins' junit-10.xsd: properties stand with the suite, and no time is told, since how long
a check took is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree

from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult, Run, Verdict
from harness.report.failure import failure_text
from harness.report.view.labels import run_labels
from harness.report.wording import visible

__all__ = ["junit_xml"]

_OF_THE_RUN = "run"
"""The suite of the checks that belong to no case, such as a case that only the baseline has."""

_CRASH = "run"
"""The check that holds what the code under test raised, or the signal it died of."""

_DEVICE = re.compile(r"\bdevice (\S+)$")
"""How the evidence of a check ends that was made on one of the devices of a case."""

_NONCHARACTERS = re.compile("[\ufffe\uffff]")
"""What XML forbids beside control characters and surrogates."""

_KINDS = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
"""Attributes that count elements; the schema has the last one for a suite alone."""

_NO_CHECK = CheckResult(
    check="checks",
    outcome=Outcome.INCONCLUSIVE,
    summary="no check ran",
    evidence="",
    next_step="run it again; what was not checked can never pass",
)


def junit_xml(runs: Sequence[Run]) -> bytes:
    """The checks of ``runs`` as one UTF-8 document; of several runs, suites and classes carry the label of theirs.

    What XML cannot hold comes out as its escape (``\\x1b``). The same runs always give the same bytes.
    """
    labels = run_labels(runs) if len(runs) > 1 else ("",) * len(runs)
    suites = [
        suite for run, label in zip(runs, labels, strict=True) for suite in _suites(run, label)
    ]
    root = ElementTree.Element("testsuites", name="harness")
    root.extend(suites)
    _count(root, ("tests", "failures", "errors"))
    ElementTree.indent(root, " ")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root) + b"\n"


def _suites(run: Run, label: str) -> Iterator[ElementTree.Element]:
    by_workload: dict[str, list[Verdict]] = {}
    for verdict in run.verdicts:
        by_workload.setdefault(verdict.workload, []).append(verdict)
    if run.checks or not run.verdicts:
        name = _labelled(_OF_THE_RUN, label)
        yield _suite(run, name, _cases(run.checks, name))
    for workload, verdicts in by_workload.items():
        cases = [
            case
            for verdict in verdicts
            for case in _cases(
                verdict.checks,
                _labelled(f"{workload}.{verdict.case}", label),
                devices=(verdict.traffic_device, verdict.timing_device),
            )
        ]
        yield _suite(run, _labelled(workload, label), cases)


def _labelled(name: str, label: str) -> str:
    return f"{name} ({label})" if label else name


def _suite(run: Run, name: str, cases: Iterable[ElementTree.Element]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_text(name), timestamp=_text(run.created))
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _facts(run):
        ElementTree.SubElement(properties, "property", name=_text(key), value=_text(value))
    suite.extend(cases)
    _count(suite, tuple(_KINDS))
    return suite


def _count(element: ElementTree.Element, kinds: Sequence[str]) -> None:
    """Say how many test cases there are below an element, and how many of each kind."""
    for kind in kinds:
        element.set(kind, str(sum(1 for _ in element.iter(_KINDS[kind]))))


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    yield "run", run.run_id
    yield "command", run.command
    yield "harness", run.harness_version
    yield "seed", str(run.seed)
    levels = {verdict.traffic.evidence.value for verdict in run.verdicts if verdict.traffic}
    yield "evidence", ", ".join(sorted(levels)) or "none"
    environment = run.environment
    yield "commit", environment.commit or "unknown"
    if environment.dirty is not None:
        yield "uncommitted changes", "yes" if environment.dirty else "no"
    if run.baseline is not None:
        yield "baseline", run.baseline
    for name, value in sorted({**environment.soft, **environment.hard}.items()):
        yield f"environment.{name}", value


def _cases(
    results: Sequence[CheckResult], classname: str, *, devices: Sequence[str] = ()
) -> Iterator[ElementTree.Element]:
    """One test case per check; only what has neither another name nor another device has a number from the second on.

    So that a CI service follows ``values [cpu]`` from run to run, whatever other checks there are.
    """
    seen: dict[str, int] = {}
    for result in results or (_NO_CHECK,):
        device = _DEVICE.search(result.evidence)
        known = device is not None and device[1] in devices
        name = f"{result.check} [{device[1]}]" if device and known else result.check
        seen[name] = seen.get(name, 0) + 1
        name += f" ({seen[name]})" if seen[name] > 1 else ""
        case = ElementTree.Element("testcase", classname=_text(classname), name=_text(name))
        _add_outcome(case, result)
        evidence = f"evidence: {result.evidence}" if result.evidence else ""
        told = [part for part in (result.summary, evidence) if part]
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(_text, told))
        yield case


def _add_outcome(case: ElementTree.Element, result: CheckResult) -> None:
    match result.outcome:
        case Outcome.PASSED:
            return
        case Outcome.SKIPPED:
            ElementTree.SubElement(case, "skipped", message=_text(_skipped(result)))
            return
        case Outcome.INCONCLUSIVE:
            tag, kind = "error", "inconclusive"
        case Outcome.FAILED:
            crashed = result.check == _CRASH
            tag, kind = ("error", "crash") if crashed else ("failure", result.check)
    problem = ElementTree.SubElement(case, tag, type=_text(kind), message=_text(result.summary))
    lines = [failure_text(result)]
    if result.violations and result.next_step:
        lines.append(f"next      {_text(result.next_step)}")
    problem.text = _NONCHARACTERS.sub(_escape, "\n".join(lines))


def _skipped(result: CheckResult) -> str:
    waiver = result.waiver
    if waiver is None:
        return result.summary
    until = f" until {waiver.until}" if waiver.until else ""
    return f"waived since {waiver.since}{until}: {waiver.reason} (found: {result.summary})"


def _text(text: str) -> str:
    return _NONCHARACTERS.sub(_escape, visible(text))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
