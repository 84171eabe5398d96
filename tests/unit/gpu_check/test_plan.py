"""The sections as a whole: their time, their names, and a dry run of each."""

from __future__ import annotations

import json
import time

import pytest
from gpu import check
from gpu.checklist import CHECKLIST, STRESS
from gpu.findings import Notebook, Outcome, read_findings
from gpu.plan import SECTIONS, TOTAL_S, WHOLE
from gpu.runner import Ending

CAPTURES = {"10 capture", "10 graphs"}
"""What only a device can do."""


def test_all_limits_together_are_under_eight_minutes():
    limits = sum(section.limit_s for section in SECTIONS)
    assert limits + check._PREFLIGHT_S <= TOTAL_S < 8 * 60


def test_names_are_unique_and_those_that_must_be_whole_exist():
    names = [section.name for section in SECTIONS]
    assert len(set(names)) == len(names)
    assert set(names) >= WHOLE


def test_the_checklist_asks_all_eleven_questions():
    """The eleventh, the cost of tracing, is a section."""
    assert {item.number for item in (*CHECKLIST, *STRESS)} == set(range(1, 11))


def test_without_time_left_a_section_is_not_begun(tmp_path):
    over = check.Check(folder=tmp_path, dry_run=True, deadline=time.monotonic() + 1)
    ended = over.run("op", 90)
    assert (ended.ending, ended.findings) == (Ending.NO_TIME, ())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_dry_run_tries_everything_but_the_device(bench, tmp_path, section):
    file = tmp_path / "findings.jsonl"
    section.run(bench, Notebook(file, section.name), tmp_path)
    found = read_findings(file)
    assert [finding.text for finding in found if finding.outcome is Outcome.DIFFERS] == []
    assert any(f.outcome in (Outcome.CONFIRMED, Outcome.MEASURED) for f in found)
    untried = {finding.item for finding in found if finding.outcome is Outcome.NOT_TRIED}
    allowed = {
        "checklist": CAPTURES,
        "idioms": {
            "first call of any kernel (cold)",
            "cupyx.scipy.sparse csr indexing / sum_duplicates / C = A @ B",
        },
        "sensors": {"monitor"},
        "bandwidth": {"peers"},
        "convolution": {"cuDNN"},
    }
    assert untried <= allowed.get(section.name, set()), [f.text for f in found if f.item in untried]


def test_findings_are_plain_json(bench, tmp_path):
    file = tmp_path / "findings.jsonl"
    SECTIONS[0].run(bench, Notebook(file), tmp_path)
    for line in file.read_text().splitlines():
        assert json.loads(line)["outcome"] in {outcome.value for outcome in Outcome}
