"""What the commands share: options refused before any work, records, and how a process ends."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from harness.session.training import read_record
from reference_impl.training import mlp_program, mnist_cnn_program, resnet50_program
from reference_impl.training.checkpoint import DATA_SETTING, Identity
from reference_impl.training.command import main, write_record
from reference_impl.training.errors import InputError

COMMANDS = {
    "mlp": mlp_program.command,
    "mnist_cnn": mnist_cnn_program.command,
    "resnet50": resnet50_program.command,
}
IDENTITY = Identity(
    program="mlp",
    seed=3,
    settings={"device": "cpu", DATA_SETTING: "points", "learning rate": 0.05, "pre-fix op": False},
)
CURVE = {"name": "loss", "x_unit": "step", "points": [[0.0, 1.0]]}
RECORD = {"program": "mlp", "data": "points", "curves": [CURVE], "notes": ["a note"]}


def invoked(command: click.Command, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def test_an_identity_reads_as_settings_and_leaves_the_data_to_their_own_line() -> None:
    assert IDENTITY.text == "seed 3, device cpu, learning rate 0.05, pre-fix op no"


def test_a_record_names_its_settings_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    for note in ("first", "second"):
        write_record(path, {**RECORD, "notes": [note]}, IDENTITY)
        assert read_record(path).notes == (IDENTITY.text, note)
    assert list(tmp_path.iterdir()) == [path]


def test_what_came_to_lie_there_during_the_work_stays(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists and is no record"):
        write_record(path, RECORD, IDENTITY)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("program", COMMANDS)
def test_a_foreign_file_is_refused_before_any_work(program: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text(json.dumps({"precious": 1}))
    before = path.read_bytes()
    checkpoint = tmp_path / "run.npz"
    result = invoked(
        COMMANDS[program], "--record", str(path), "--checkpoint", str(checkpoint), "--device", "tpu"
    )
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"{path} exists and is no record")
    assert (result.output, path.read_bytes(), checkpoint.exists()) == ("", before, False)


@pytest.mark.parametrize("program", COMMANDS)
@pytest.mark.parametrize("first", ["--record", "--checkpoint"])
def test_one_file_for_record_and_checkpoint_is_refused_before_any_work(
    program: str, first: str, tmp_path: Path
) -> None:
    path, link = tmp_path / "run", tmp_path / "link"
    link.symlink_to(path)
    second = {"--record": "--checkpoint", "--checkpoint": "--record"}[first]
    for one, other in ((path, path), (path, link), (path, tmp_path / "x" / ".." / "run")):
        result = invoked(COMMANDS[program], first, str(one), second, str(other))
        assert isinstance(result.exception, InputError)
        assert "--record and --checkpoint are both" in str(result.exception)
        assert result.output == ""
    assert not path.exists()


@pytest.mark.parametrize("program", COMMANDS)
@pytest.mark.parametrize("rate", ["nan", "inf", "-inf", "0", "-1", "1e-400", "fast"])
def test_a_learning_rate_that_is_no_finite_number_above_0_is_a_usage_error(
    program: str, rate: str
) -> None:
    result = CliRunner().invoke(COMMANDS[program], ["--learning-rate", rate])
    assert result.exit_code == 2
    assert "--learning-rate" in result.output
    assert "Traceback" not in result.output


def ended(command: click.Command, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "argv", ["program"])
    with pytest.raises(SystemExit) as end:
        main(command)
    return end.value.code


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InputError("no such file"), 2, "error: no such file"),
        (MemoryError(), 3, "error: out of memory (no more was said)"),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            2,
            f"error: the output could not be written: {os.strerror(errno.ENOSPC)}",
        ),
    ],
)
def test_an_error_is_one_line_and_a_status(
    error: Exception,
    status: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    assert ended(failing, monkeypatch) == status
    assert capsys.readouterr().err == f"{line}\n"


def test_a_smaller_batch_is_advised_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    @click.option("--batch-size")
    def failing(batch_size: str | None) -> None:
        raise MemoryError("8 GB")

    assert ended(failing, monkeypatch) == 3
    assert capsys.readouterr().err == "error: out of memory (8 GB); use a smaller --batch-size\n"
    assert [
        name
        for name, command in COMMANDS.items()
        if "batch_size" in {p.name for p in command.params}
    ] == [
        "mnist_cnn",
        "resnet50",
    ]
