"""The three programs, small: the published numbers, resuming to the bit, and what ends them early."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from harness.session.training import read_record
from reference_impl.training import mlp_program, mnist_cnn_program, resnet50_program
from reference_impl.training.checkpoint import load_checkpoint
from reference_impl.training.device import device_named
from reference_impl.training.epochs import Program, train
from reference_impl.training.errors import DivergedError, InputError, UnavailableError
from reference_impl.training.images import Images, augmented, batches
from reference_impl.training.mlp_program import MlpProgram
from reference_impl.training.mnist_cnn_program import MnistCnnProgram
from reference_impl.training.resnet50_program import Resnet50Program, Size, counted
from reference_impl.training.resnet50_times import LOOPS, Loop, in_turn
from reference_impl.workloads.resnet50_network import Architecture

PUBLISHED = [
    *(0.6908379, 0.5781224, 0.5531873, 0.5157491, 0.45046344, 0.3674125),
    *(0.2854403, 0.23216258, 0.19450127, 0.16646467, 0.13695152),
]
SMALL = Architecture(stages=(1, 1), planes=4, classes=6)
CPU = device_named("cpu")


def images(count: int = 24) -> Images:
    random = np.random.RandomState(5)
    x = random.randint(0, 256, (2 * count, 1, 28, 28)).astype(np.uint8)
    y = random.randint(0, 10, 2 * count).astype(np.uint8)
    parts = {
        "train": x[:count],
        "train_labels": y[:count],
        "test": x[count:],
        "test_labels": y[count:],
    }
    return Images(**parts, white=255, text="drawn for a test", is_mnist=False)


def cnn(**options: Any) -> MnistCnnProgram:
    return MnistCnnProgram(CPU, images(), **{"epochs": 3, "batch_size": 8, **options})


def small_resnet(iterations: int = 3, **options: Any) -> Resnet50Program:
    return Resnet50Program(CPU, Size(3, 16, iterations), architecture=SMALL, **options)


def invoked(command: Any, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def test_mlp_prints_the_eleven_published_losses(tmp_path: Path) -> None:
    record = tmp_path / "mlp.json"
    result = invoked(mlp_program.command, "--record", str(record))
    assert result.exception is None
    first, second, *rest = result.output.splitlines()
    assert (first, second) == ("train_data_shape: (400, 2)", "train_label_shape: (400, 2)")
    assert all(line.startswith("training loss =  ") for line in rest)
    losses = [float(line.split()[-1]) for line in rest]
    np.testing.assert_allclose(losses, PUBLISHED, rtol=1e-6)
    (curve,) = read_record(record).curves
    assert [x for x, _ in curve.points] == [100.0 * i for i in range(11)]
    assert curve.band is not None


def test_mlp_reads_eleven_losses_on_a_device_and_one_more_a_step_before_the_fix() -> None:
    from harness.probes.simulated import (
        SimulatedProbe,
    )  # the device must know no probe before it is asked for

    for pre_fix, reads in ((False, 2), (True, 2 + 101)):
        program = MlpProgram(device_named("simulated"), pre_fix=pre_fix)
        with SimulatedProbe().record() as recording:
            for number in range(2):
                program.epoch(number, careful=False)
        assert recording.trace().counts().d2h == reads


@pytest.mark.parametrize(
    "make",
    [lambda: MlpProgram(CPU, seed=2), cnn, lambda: cnn(lazy=True), small_resnet],
    ids=["mlp", "mnist_cnn", "lazy", "resnet50"],
)
def test_a_resumed_run_ends_as_one_that_never_stopped(make: Any, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.npz", tmp_path / "part.npz"
    never_stopped = make()
    train(never_stopped, checkpoint=whole, resume=False)
    stopped: Program = make()
    everything, stopped.epochs = stopped.epochs, 2  # type: ignore[misc]
    assert everything > 2
    train(stopped, checkpoint=part, resume=False)
    resumed = make()
    assert resumed.epochs == everything
    train(resumed, checkpoint=part, resume=True)
    one, other = (load_checkpoint(path, resumed.identity) for path in (whole, part))
    assert one.random == other.random
    assert [row["loss"] for row in one.history] == [row["loss"] for row in other.history]
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        assert array.tobytes() == other.arrays[name].tobytes(), name


def test_lazy_metrics_are_the_same_numbers_read_once_per_epoch() -> None:
    eager, lazy = (train(cnn(lazy=lazy), checkpoint=None, resume=False) for lazy in (False, True))
    for one, other in zip(eager, lazy, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-6)
        assert (one["accuracy"], one["test_accuracy"]) == (
            other["accuracy"],
            other["test_accuracy"],
        )


def test_whole_batches_are_counted_and_the_rest_is_dropped() -> None:
    program = cnn(batch_size=7, epochs=1)
    assert (program.train_batches, program.test_batches) == (3, 3)
    (row,) = train(program, checkpoint=None, resume=False)
    assert row["accuracy"] * 21 == pytest.approx(round(row["accuracy"] * 21))
    order = np.arange(24)
    found = list(batches(images().train, images().train_labels, order, size=7, white=255))
    assert [len(labels) for _, _, labels in found] == [7, 7, 7]


def test_mnist_has_the_denominators_of_the_ticket() -> None:
    assert (60000 // 64 * 64, 10000 // 64 * 64) == (59968, 9984)


def test_augmented_images_are_cut_from_the_mirrored_one() -> None:
    x = np.arange(28 * 28, dtype=np.float32).reshape(1, 1, 28, 28)
    padded = np.pad(x[0, 0], 4, mode="symmetric")
    cuts = {padded[i : i + 28, j : j + 28].tobytes() for i in range(8) for j in range(8)}
    random = np.random.RandomState(1)
    turned = 0
    for _ in range(40):
        y = augmented(x, random)[0, 0]
        turned += y.tobytes() not in cuts
        assert y.tobytes() in cuts or np.ascontiguousarray(y[:, ::-1]).tobytes() in cuts
    assert 8 < turned < 32


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(InputError, match="--batch-size 25 is larger than the 24 training images"):
        cnn(batch_size=25)


@pytest.mark.parametrize("number", ["0", "-3"])
def test_a_batch_of_nothing_is_a_usage_error(number: str) -> None:
    result = CliRunner().invoke(mnist_cnn_program.command, ["--batch-size", number])
    assert result.exit_code == 2


@pytest.mark.parametrize("lazy", [False, True])
def test_a_lost_loss_ends_the_run_with_step_and_layer_and_the_checkpoint_stays(
    lazy: bool, tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    program = cnn(lazy=lazy, learning_rate=1e20)
    with np.errstate(all="ignore"), pytest.raises(DivergedError) as caught:
        train(program, checkpoint=path, resume=False)
    assert "at step 1 of epoch 0: the first non-finite value" in str(caught.value)
    assert f"{path} holds the state after 0 of 3 epochs" in str(caught.value)
    assert load_checkpoint(path, program.identity).history == ()


def test_of_mlp_the_step_is_found_though_only_every_hundredth_loss_is_read() -> None:
    with (
        np.errstate(all="ignore"),
        pytest.raises(DivergedError, match=r"at step 2: .* after layer 'linear0'"),
    ):
        train(MlpProgram(CPU, learning_rate=1e20), checkpoint=None, resume=False)


def test_a_lost_parameter_is_named() -> None:
    program = cnn()
    program.network.parameters["conv2.b"].data[3] = np.nan
    with pytest.raises(DivergedError, match=r"is in parameter 'conv2\.b'"):
        program.epoch(0, careful=False)


def test_a_new_run_does_not_overwrite_a_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(b"precious")
    with pytest.raises(InputError, match="exists: add --resume"):
        train(MlpProgram(CPU), checkpoint=path, resume=False)
    assert path.read_bytes() == b"precious"
    with pytest.raises(InputError, match="--resume needs --checkpoint"):
        train(MlpProgram(CPU), checkpoint=None, resume=True)


@pytest.mark.parametrize(
    "command",
    [mlp_program.command, mnist_cnn_program.command],
    ids=["mlp", "mnist_cnn"],
)
def test_a_finished_run_that_is_resumed_says_so_and_writes_its_record_again(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mnist_cnn_program, "digits", images)
    options = ["--batch-size", "8", "--epochs", "2"] if command is mnist_cnn_program.command else []
    checkpoint, record = tmp_path / "run.npz", tmp_path / "record.json"
    first = invoked(command, *options, "--checkpoint", str(checkpoint), "--record", str(record))
    assert first.exception is None
    assert "nothing is left to do" not in first.output
    written = read_record(record)
    record.unlink()
    again = [*options, "--checkpoint", str(checkpoint), "--resume", "--record", str(record)]
    second = invoked(command, *again)
    units = "2 epochs" if options else "11 printed losses"
    count = units.split()[0]
    assert f"nothing is left to do: of {units} {checkpoint} holds {count}" in second.output
    assert read_record(record) == written


@pytest.mark.parametrize("options", [("--learning-rate", "0.06"), ()])
def test_of_mlp_a_band_is_drawn_behind_the_usual_settings_alone(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "record.json"
    assert invoked(mlp_program.command, "--record", str(path), *options).exception is None
    record = read_record(path)
    assert (record.curves[0].band is None) == bool(options)
    assert any("these settings are not those" in note for note in record.notes) == bool(options)
    assert f"learning rate {options[1] if options else '0.05'}" in record.notes[0]


@pytest.mark.parametrize(
    ("is_mnist", "options", "why"),
    [
        (True, {"batch_size": 64}, ""),
        (True, {"batch_size": 32}, "these settings are not those"),
        (True, {"batch_size": 64, "learning_rate": 0.01}, "these settings are not those"),
        (False, {"batch_size": 64}, "the published runs are of MNIST"),
    ],
)
def test_of_mnist_cnn_a_band_is_drawn_behind_mnist_in_the_usual_settings_alone(
    is_mnist: bool, options: dict[str, Any], why: str
) -> None:
    program = MnistCnnProgram(CPU, replace(images(64), is_mnist=is_mnist), **options)
    row = {"loss": 1.0, "accuracy": 0.5, "test_accuracy": 0.5, "seconds": 1.0}
    record = program.record([row, row])
    assert [curve["band"] is None for curve in record["curves"]] == [bool(why)] * 3
    assert [why in note for note in record["notes"]] == ([True] if why else [])


def test_an_iteration_waits_thrice_and_twice_per_parameter_and_reads_once_before_the_fix() -> None:
    waits = 3 + 2 * 29
    assert counted(architecture=SMALL) == [(waits, 0), (waits + 1, 1), (0, 0), (1, 1)]


@pytest.mark.slow
def test_of_resnet50_itself_these_are_the_325_waits_of_the_ticket() -> None:
    assert counted() == [(325, 0), (326, 1), (0, 0), (1, 1)]


def test_each_round_times_a_block_of_every_loop() -> None:
    program = small_resnet(12)
    history = train(program, checkpoint=None, resume=False)
    assert (program.epochs, len(history), sum(program.blocks)) == (10, 10, 12)
    for of_loop in program.times(history):
        assert len(of_loop.blocks) == 10
        assert all(block["total"] > 0 for block in of_loop.blocks)


def test_the_warm_up_leaves_no_trace() -> None:
    rows, arrays = [], []
    for warm in (False, True):
        program = small_resnet()
        program._warm = warm
        rows.append(program.epoch(0, careful=False)["loss"])
        arrays.append(program.model.checkpoint(program.identity, ()).arrays)
    assert rows[0] == rows[1]
    assert arrays[0].keys() == arrays[1].keys()
    for name, array in arrays[0].items():
        assert array.tobytes() == arrays[1][name].tobytes(), name


def test_a_loss_that_is_lost_at_once_is_told_in_the_warm_up() -> None:
    with (
        np.errstate(all="ignore"),
        pytest.raises(
            DivergedError, match=r"in the warm-up of the ticket's loop, pre-fix op: the first"
        ),
    ):
        train(small_resnet(learning_rate=1e30), checkpoint=None, resume=False)


def test_a_loss_that_is_lost_later_is_found_by_loop_iteration_and_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, program = tmp_path / "run.npz", small_resnet(20)
    train_once, random = program.step, program.model.random
    kernel = program.network.parameters["layer2.0.conv2.W"]

    def step(loop: Loop, clock: Any, look: Any) -> Any:
        # The generator is brought back with the network, and so its place counts the iterations, two words each.
        done = random.get_state()[2] % 624 // 2
        random.random_sample()
        if done == 3 * 8 + 5:
            kernel.data[...] = 3e38
        return train_once(loop, clock, look)

    monkeypatch.setattr(program, "step", step)
    with np.errstate(all="ignore"), pytest.raises(DivergedError) as caught:
        train(program, checkpoint=path, resume=False)
    found = str(caught.value)
    # Of the eight iterations of round 3 the sixth is the second of the third loop in turn.
    assert in_turn(3)[2] == LOOPS[2]
    assert f"at iteration 7 of {LOOPS[2].label}: " in found
    assert (
        "the first non-finite value appeared after layer 'layer2.0.conv2' (Conv2d); lower" in found
    )
    assert f"{path} holds the state after 3 of 10 rounds" in found
    assert len(load_checkpoint(path, program.identity).history) == 3


@pytest.mark.parametrize(
    ("parameter", "value", "where"),
    [
        ("layer1.0.bn2.scale", np.inf, "is in parameter 'layer1.0.bn2.scale'"),
        ("layer1.0.downsample.conv.W", 3e38, "after layer 'layer1.0.downsample.conv' (Conv2d)"),
        ("layer2.0.bn3.bias", 3e38, "after layer 'layer2.0' (Bottleneck)"),
        ("fc.W", 3e38, "after layer 'fc' (Linear)"),
    ],
)
def test_a_value_lost_within_a_block_is_told_by_its_own_layer(
    parameter: str, value: float, where: str
) -> None:
    program = small_resnet()
    parameters = program.network.parameters
    parameters[parameter].data[...] = value
    if "Bottleneck" in where:  # either way is finite, and their sum is not
        parameters["layer2.0.downsample.bn.bias"].data[...] = value
    with np.errstate(all="ignore"), pytest.raises(DivergedError) as caught:
        program.epoch(0, careful=False)
    assert where in str(caught.value)


def test_a_side_that_does_not_fit_is_named() -> None:
    result = invoked(resnet50_program.command, "--image-size", "50", "--batch-size", "1")
    assert isinstance(result.exception, InputError)
    assert "--image-size 50 is no multiple of 32" in str(result.exception)


def test_an_unknown_device_is_a_usage_error_and_an_absent_one_is_not_available() -> None:
    with pytest.raises(InputError, match="is none of cpu, simulated"):
        device_named("tpu")
    with pytest.raises(UnavailableError):
        device_named("cuda:977")
