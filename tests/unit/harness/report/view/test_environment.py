"""Where a run happened, beside where its baseline was taken: what differs first, in words."""

from __future__ import annotations

from dataclasses import replace

from builders import a_run, a_verdict

from harness.model.environment import Environment
from harness.model.verdict import Run
from harness.report.view.environment import environment_facts, fact_tables

NOW = Environment(
    hard={"cpu.cores": "4", "cpu.model": "EPYC", "os.name": "Linux"},
    soft={"kernel": "6.1", "load": "0.1"},
    commit="abc1234",
    dirty=False,
)


def a_run_here(baseline: Environment | None) -> Run:
    return replace(a_run(a_verdict(), environment=NOW), baseline_environment=baseline)


def test_without_a_baseline_facts_are_listed_and_nothing_is_said_to_differ() -> None:
    hard, soft = fact_tables(a_run_here(None))
    assert (hard.compared, hard.summary, hard.differing) == (False, "", ())
    assert [(row.name, row.now) for row in hard.others] == sorted(NOW.hard.items())
    assert [row.name for row in soft.others] == ["kernel", "load"]
    assert [fact.name for fact in environment_facts(a_run_here(None))] == ["commit"]


def test_what_differs_stands_apart_from_what_agrees_and_says_how() -> None:
    then = replace(
        NOW,
        hard={"cpu.cores": "2", "cpu.model": "EPYC", "gpu.name": "H100"},
        commit="fed9876",
        dirty=True,
    )
    hard, soft = fact_tables(a_run_here(then))
    assert [(row.name, row.baseline, row.now, row.word) for row in hard.differing] == [
        ("cpu.cores", "2", "4", "differs"),
        ("gpu.name", "H100", "not known", "only in the baseline"),
        ("os.name", "not known", "Linux", "only now"),
    ]
    assert [row.name for row in hard.others] == ["cpu.model"]
    assert hard.summary == "3 of 4 facts differ from the baseline"
    assert (soft.differing, soft.summary) == ((), "all 2 facts agree with the baseline")
    assert environment_facts(a_run_here(then))[1].text == (
        "taken at fed9876 with uncommitted changes"
    )


def test_a_kind_of_fact_that_neither_side_has_is_no_table() -> None:
    bare = replace(NOW, soft={})
    run = replace(a_run(a_verdict(), environment=bare), baseline_environment=bare)
    (only,) = fact_tables(run)
    assert only.summary == "all 3 facts agree with the baseline"


def test_facts_of_a_foreign_file_are_shown_and_never_obeyed() -> None:
    then = replace(NOW, hard={"a\u202eb\n": "<script>\x1b"})
    row = next(row for row in fact_tables(a_run_here(then))[0].differing if "u202e" in row.name)
    assert (row.name, row.baseline) == ("a\\u202eb\\n", "<script>\\x1b")
