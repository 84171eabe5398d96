"""The training programs as processes: killed and resumed, ended by what is wrong, and trained to the end."""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from reference_impl.training.checkpoint import load_checkpoint
from reference_impl.training.command import main
from reference_impl.training.device import device_named
from reference_impl.training.epochs import train
from reference_impl.training.images import digits
from reference_impl.training.mnist_cnn_program import MnistCnnProgram

pytest.importorskip("sklearn", reason='pip install "ondevice-harness[digits]"')

TINY = ("--batch-size", "2", "--image-size", "32")
SMALL = ("--images", "64", "--batch-size", "32", "--epochs", "500")


def command(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"reference_impl.training.{program}", *arguments]


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(program, *arguments), capture_output=True, text=True, check=False, timeout=1800
    )


def kept(path: Path) -> dict[str, bytes]:
    with path.open("rb") as file, np.load(file) as arrays:
        return {name: arrays[name].tobytes() for name in arrays.files if name != "header"}


def small_program() -> MnistCnnProgram:
    return MnistCnnProgram(device_named("cpu"), digits().first(64), batch_size=32, epochs=4)


def test_a_run_that_was_killed_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.npz", tmp_path / "part.npz"
    with subprocess.Popen(
        command("mnist_cnn", *SMALL, "--checkpoint", str(part)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as going:
        assert going.stdout is not None
        next(line for line in going.stdout if line.startswith("Evaluation"))
        going.kill()
        assert going.wait(timeout=120) == -signal.SIGKILL
    done = len(load_checkpoint(part, small_program().identity).history)
    assert done >= 1

    resumed, never_stopped = small_program(), small_program()
    resumed.epochs = never_stopped.epochs = done + 2
    train(never_stopped, checkpoint=whole, resume=False)
    train(resumed, checkpoint=part, resume=True)
    assert kept(whole) == kept(part)


def test_an_interrupt_ends_with_130_and_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["program"])
        with pytest.raises(SystemExit) as ended:
            main(interrupted)
    assert ended.value.code == 130
    assert "--resume goes on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("mnist_cnn", "--data", "absent"), 2, "absent: is no folder"),
        (("mnist_cnn", "--batch-size", "0"), 2, "0 is not in the range"),
        (("mlp", "--learning-rate", "1e20"), 1, "the loss is nan at step 2"),
        (("mlp", "--device", "tpu"), 2, "--device 'tpu' is none of"),
        (("mlp", "--device", "cuda:977"), 3, "cu"),
        (("mlp", "--record", "absent/record.json"), 2, "absent is no folder; make it"),
        (("mlp", "--record", "a", "--checkpoint", "a"), 2, "are both a; give each a file"),
        (("mlp", "--learning-rate", "nan"), 2, "nan is no finite number"),
        (("resnet50", "--learning-rate", "1e30", *TINY), 1, "in the warm-up of the ticket's loop"),
    ],
)
def test_what_is_wrong_is_one_line_and_an_exit_status(
    arguments: tuple[str, ...], status: int, complaint: str
) -> None:
    found = run(*arguments)
    assert found.returncode == status
    assert complaint in found.stderr
    assert "Traceback" not in found.stderr
    assert "Warning" not in found.stderr


@pytest.mark.slow
def test_digits_are_recognised_to_97_percent(tmp_path: Path) -> None:
    found = run("mnist_cnn")
    assert found.returncode == 0
    assert "not MNIST" in found.stdout.splitlines()[0]
    accuracies = re.findall(r"Evaluation accuracy = ([\d.]+)", found.stdout)
    # One epoch moves it by a percent either way, and another BLAS takes another way there.
    assert statistics.mean(map(float, accuracies[-20:])) > 0.97
