"""Runs beside each other are called by what differs among them, and no two alike."""

from __future__ import annotations

from dataclasses import replace

from builders import a_run, a_verdict, an_environment, an_estimate
from hypothesis import given
from hypothesis import strategies as st

from harness.model.environment import Environment
from harness.model.verdict import Run
from harness.report.view.labels import commit_text, run_labels


def on(*, gpu: str = "", commit: str | None = "0123456789abcdef", **more: str) -> Run:
    hard = {"cpu.model": "EPYC 7B13", "python.version": "3.11", **more}
    if gpu:
        hard["gpu.name"] = gpu
    return a_run(a_verdict(), environment=Environment(hard=hard, commit=commit, dirty=False))


def test_machines_are_called_by_their_gpu() -> None:
    assert run_labels([on(gpu="H100"), on(gpu="A100"), on()]) == ("H100", "A100", "no GPU")


def test_every_fact_that_differs_is_told_even_where_one_would_do() -> None:
    runs = [on(gpu="H100", commit="a" * 40), on(gpu="A100", commit="b" * 40)]
    assert run_labels(runs) == ("H100 · aaaaaaaaaaaa", "A100 · bbbbbbbbbbbb")


def test_devices_are_those_that_were_timed() -> None:
    runs = [
        a_run(a_verdict(timing_device=device, call_time=an_estimate()))
        for device in ("cpu", "cuda:0")
    ]
    assert run_labels(runs) == ("cpu", "cuda:0")


def test_runs_of_the_same_machine_and_commit_are_called_by_their_time() -> None:
    later = replace(a_run(a_verdict()), created="2025-12-01T08:00:00+00:00")
    assert run_labels([a_run(a_verdict()), later]) == ("2025-11-30 16:50:00", "2025-12-01 08:00:00")


def test_runs_alike_in_everything_have_numbers() -> None:
    run = a_run(a_verdict())
    first, second = run_labels([run, run])
    assert (first[-3:], second[-3:]) == (" #1", " #2")


def test_a_commit_is_abbreviated_and_says_that_the_code_differed_from_it() -> None:
    dirty = an_environment(commit="0123456789abcdef", dirty=True)
    assert commit_text(a_run(environment=dirty)) == "0123456789ab with changes"
    assert commit_text(a_run(environment=an_environment(commit=None))) == "no commit"


texts = st.sampled_from(["", "a", "b #1", "x" * 99, "\u202e", "a · b"])


@given(st.lists(st.builds(on, gpu=texts, commit=st.none() | texts), min_size=1, max_size=6))
def test_no_two_labels_are_alike_and_each_is_one_visible_line(runs: list[Run]) -> None:
    labels = run_labels(runs)
    assert len(set(labels)) == len(runs)
    assert all(label.strip() and label.isprintable() for label in labels)


def test_runs_of_one_machine_that_ran_different_workloads_are_called_by_them() -> None:
    runs = [a_run(a_verdict(), command=f"harness run {name} --device cpu") for name in "ab"]
    assert run_labels(runs) == ("a", "b")


def test_a_run_that_broke_before_its_first_case_has_the_device_it_was_given() -> None:
    ran = a_run(a_verdict(timing_device="cpu", call_time=an_estimate()), command="harness run a")
    for option in ("--device cpu", "--device=cpu"):
        assert run_labels([ran, a_run(command=f"harness run b {option}")]) == ("a", "b")
    assert run_labels([ran, a_run(command="harness run 'b")]) == ("cpu", "no device")
