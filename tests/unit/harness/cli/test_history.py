"""``harness history``: runs are added once, and the commit that made a case slower is named."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from builders import a_run, a_sample, a_verdict, an_environment

from harness.baseline.stores.opening import open_store
from harness.cli import main
from harness.cli.history import add_run
from harness.cli.history_text import sparkline
from harness.model.outcome import Outcome
from harness.model.verdict import CheckResult
from harness.report.json import encode_run, read_run


def _runs(folder: Path, medians: list[float]) -> list[str]:
    """Files of runs of one case, a commit each; the peer takes a millisecond, more or less."""
    rng, files = random.Random(5), []
    for number, median in enumerate(medians):
        rounds = [(rng.gauss(median, 2e3), rng.gauss(1e6, 2e3)) for _ in range(30)]
        call, peer = zip(*rounds, strict=True)
        environment = replace(
            an_environment(), commit=f"{number:02}".ljust(40, "a"), dirty=number == 1
        )
        run = a_run(
            a_verdict(sample=a_sample(call_ns=call, peer_ns=peer)),
            run_id=f"run-{number:02}",
            environment=environment,
        )
        run = replace(run, created=f"2026-01-{1 + number:02}T12:00:00+00:00")
        path = folder / f"{run.run_id}.json"
        path.write_bytes(encode_run(run))
        files.append(str(path))
    return files


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "baselines")


def test_runs_are_added_once_in_any_order(tmp_path: Path, store: str, capsys) -> None:
    files = _runs(tmp_path, [1e6] * 3)
    assert main(["history", "add", files[2], "--store", store]) == 0
    assert capsys.readouterr().out == f"history 1 record of {files[2]} added to {store}\n"
    assert main(["history", "push", *files, "--baselines", store]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[2] == f"history 0 records of {files[2]} added to {store}, 1 were there"
    history = open_store(store).history()
    assert [record.run_id for record in history] == ["run-00", "run-01", "run-02"]


def test_the_commit_that_made_a_case_slower_is_named(tmp_path: Path, store: str, capsys) -> None:
    main(["history", "add", *_runs(tmp_path, [1e6] * 8 + [1.1e6] * 8), "--store", store])
    capsys.readouterr()
    assert (
        main(["history", "show", "softmax_cross_entropy/4096x1000-float32", "--store", store]) == 0
    )
    out = capsys.readouterr().out
    title, trend, header, *rows = out.splitlines()
    assert "16 runs, perf_counter_ns, compared by ratio to its frozen peer" in title
    assert trend == "  trend  ▁▁▁▁▁▁▁▁████████"
    assert header.split() == ["created", "commit", "time", "ratio", "to", "previous", "to", "first"]
    assert rows[1].split()[1] == "01aaaaaaaaaa+"  # uncommitted changes
    (named,) = [row for row in rows if "<-" in row]
    assert named.startswith("  2026-01-09T12:00:00+00:00  08aaaaaaaaaa")
    assert named.endswith("<- slower from here on: +10.0 % (p < 0.0001)")
    assert "1.10 ms  1.100x" in named
    assert "-0.0" not in out
    assert main(["history", "list", "--last", "10", "--store", store]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["key", "runs", "time"]
    assert row.split()[:3] == ["softmax_cross_entropy/4096x1000-float32", "10", "1.10"]


def _comparison(file: str) -> str:
    """Turns the run in a file into a comparison."""
    path = Path(file)
    path.write_bytes(encode_run(replace(read_run(path), paired_with="main @ 1a2b3c4")))
    return file


def test_a_damaged_file_is_named_and_the_others_are_added(
    tmp_path: Path, store: str, capsys
) -> None:
    first, last = _runs(tmp_path, [1e6] * 2)
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    assert main(["history", "push", first, str(bad), last, "--store", store]) == 2
    err = capsys.readouterr().err
    assert f"{bad}: is cut off" in err
    assert err.endswith("; of 3 files the other 2 were dealt with\n")
    assert len(open_store(store).history()) == 2


def test_comparisons_are_passed_over_one_by_one_and_the_rest_is_pushed(
    tmp_path: Path, store: str, capsys
) -> None:
    files = _runs(tmp_path, [1e6] * 4)
    _comparison(files[0])
    _comparison(files[2])
    assert main(["history", "push", *files, "--store", store]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == (
        f"history {files[0]} is a comparison with main @ 1a2b3c4, so it was passed over"
    )
    assert sum("passed over" in line for line in out) == 2
    assert [record.run_id for record in open_store(store).history()] == ["run-01", "run-03"]
    assert main(["history", "add", files[0], "--store", store]) == 2
    assert "only comparisons were named" in capsys.readouterr().err


def test_the_latest_run_is_the_latest_that_is_no_comparison(
    tmp_path: Path, store: str, capsys
) -> None:
    reports = tmp_path / "reports"
    for number, file in enumerate(_runs(tmp_path, [1e6] * 3)):
        folder = reports / str(number)
        folder.mkdir(parents=True)
        Path(file).rename(folder / "run.json")
    comparison = _comparison(str(reports / "2" / "run.json"))
    for command in (
        ["history", "add"],
        ["baseline", "save", "main"],
        ["baseline", "diff", "main"],
    ):
        main([*command, "--store", store, "--output", str(reports)])
        assert (
            f"harness: passed over {comparison}, which is a comparison" in capsys.readouterr().err
        )
    assert open_store(store).history()[0].run_id == "run-01"
    for number in (0, 1):
        _comparison(str(reports / str(number) / "run.json"))
    assert main(["history", "add", "--store", store, "--output", str(reports)]) == 2
    assert "no run but 3 comparisons in" in capsys.readouterr().err


def test_a_comparison_is_refused_as_such_though_it_failed(
    tmp_path: Path, store: str, capsys
) -> None:
    slow = CheckResult(check="throughput", outcome=Outcome.FAILED, summary="slow", evidence="")
    path = tmp_path / "run.json"
    path.write_bytes(encode_run(a_run(a_verdict(slow))))
    assert main(["baseline", "save", "main", _comparison(str(path)), "--store", store]) == 2
    err = capsys.readouterr().err
    assert "compared with main @ 1a2b3c4, so its timings cannot go into a baseline" in err
    assert "--baseline" not in err


def test_what_is_not_there_is_told_with_the_next_step(tmp_path: Path, store: str, capsys) -> None:
    for verb in ("list", "show"):
        assert main(["history", verb, "--store", store]) == 0
        told = f"add the latest run: harness history add --store {store}\n"
        assert capsys.readouterr().err.endswith(told)
    main(["history", "add", *_runs(tmp_path, [1e6]), "--store", store])
    assert (
        main(["history", "show", "softmax_cross_entropy/4096x1000-float64", "--store", store]) == 2
    )
    assert "did you mean 'softmax_cross_entropy/4096x1000-float32'?" in capsys.readouterr().err
    assert main(["history", "list", "--store", "mysql://u:s3cret@h/d"]) == 2
    err = capsys.readouterr().err
    assert "mysql:... is no store; name a folder, sqlite:///FILE.db or postgresql://" in err
    assert "s3cret" not in err


def test_a_run_without_timings_and_unusable_timings_are_said(
    tmp_path: Path, store: str, capsys
) -> None:
    path = tmp_path / "run.json"
    run = a_run(a_verdict(), a_verdict(case="bad", sample=a_sample(call_ns=(0.0, 1.0))))
    path.write_bytes(encode_run(run))
    assert main(["history", "add", str(path), "--store", store]) == 0
    told = capsys.readouterr()
    assert "has no timings, so nothing was added" in told.out
    assert "left out: softmax_cross_entropy/bad" in told.err


def test_the_store_may_come_from_the_environment(
    tmp_path: Path, store: str, capsys, monkeypatch
) -> None:
    monkeypatch.setenv("HARNESS_STORE", store)
    assert main(["history", "add", *_runs(tmp_path, [1e6])]) == 0
    assert store in capsys.readouterr().out


def test_a_run_whose_history_cannot_be_written_keeps_its_verdict_and_can_be_pushed_later(
    tmp_path: Path, store: str, capsys
) -> None:
    run = a_run(a_verdict(sample=a_sample()))
    path = tmp_path / "run.json"
    path.write_bytes(encode_run(run))
    Path(store).write_text("in the way")
    add_run(run, path, open_store(store))
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith("harness: the history was not written: ")
    command = line.rpartition("; later: ")[2]
    assert command == f"harness history push {path} --store {store}"
    Path(store).unlink()
    assert main(command.split()[1:]) == 0
    assert len(open_store(store).history()) == 1


def test_a_sparkline_goes_from_the_smallest_to_the_largest_with_what_can_be_written() -> None:
    assert sparkline([1.0, 2.0, 1.5], encoding="utf-8") == "▁█▅"
    assert sparkline([1.0, 2.0], encoding="ascii") == "_#"
    assert sparkline([3.0] * 3, encoding="utf-8") == "▁▁▁"
    assert len(sparkline(list(range(500)), encoding="utf-8")) == 40
