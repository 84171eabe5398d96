import hashlib
import subprocess
import sys
import threading
from importlib.resources import files

import ml_dtypes
import numpy as np
import pytest

from harness.numerics.tolerance import Tolerance
from reference_impl.kernels import fused_cpu
from reference_impl.kernels.task import COMPLAINT
from reference_impl.oracle.softmax_cross_entropy import softmax_cross_entropy as oracle

INF, NAN = np.inf, np.nan
FORMATS = ["float32", "float64", "float16", "bfloat16"]

needs_numba = pytest.mark.skipif(
    not fused_cpu.is_available(), reason="needs numba: pip install 'ondevice-harness[fast]'"
)


def _dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def run(x, t, *, reduction="mean", gradient="own", **options):
    wide = np.float64 if x.dtype == np.float64 else np.float32
    loss = np.full(len(x) if reduction == "none" else 1, 7, wide)
    out = {"own": np.full_like(x, 7), "in place": x, "none": None}[gradient]
    fused_cpu.forward_backward(
        x, t, loss_out=loss, gradient_out=out, reduction=reduction, **options
    )
    return {"loss": loss, "gradient": out}


def test_importing_the_kernels_imports_neither_numba_nor_a_gpu_library():
    code = (
        "import sys, reference_impl.kernels.fused_cpu, reference_impl.kernels.cuda,"
        "reference_impl.kernels.nvrtc, reference_impl.kernels.cuda_on_host;"
        "print(sorted({'numba', 'llvmlite', 'cupy', 'cuda', 'torch', 'ml_dtypes'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_numba_the_install_line_is_given():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "import numpy as np\n"
        "from reference_impl.kernels import fused_cpu\n"
        "assert not fused_cpu.is_available()\n"
        "x = np.zeros((2, 3), np.float32)\n"
        "fused_cpu.forward_backward(x, np.zeros(2, int), loss_out=np.zeros(1, np.float32))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: the fused CPU kernel needs numba" in done.stderr
    assert "pip install 'ondevice-harness[fast]'" in done.stderr


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize(
    "shape", [(67, 1), (33, 10), (9, 64), (7, 101), (5, 1000), (3, 5003)], ids=str
)
def test_every_format_agrees_with_the_oracle(logits_of, labels_of, assert_fused, dtype, shape):
    x, t = logits_of(shape, _dtype(dtype)), labels_of(*shape)
    assert_fused(run(x, t), oracle(x, t), rows=shape[0])


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize(("rest", "largest"), [(0, 1000), (-1000, 0), (-1000, -2)])
def test_the_largest_logit_is_found_wherever_it_is(assert_fused, dtype, rest, largest):
    x, t = np.full((129, 129), rest, _dtype(dtype)), np.arange(129)
    x[t, t] = largest
    assert_fused(run(x, t, reduction="none"), oracle(x, t, reduction="none"))


# Either side of one cache line, of one vector and several, and of what is summed at a time.
WIDTHS = (15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 511, 512, 513, 600)


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("classes", WIDTHS)
def test_no_class_is_lost_or_counted_twice_where_vectors_end(assert_fused, dtype, classes):
    x = np.linspace(-1, 1, 3 * classes).reshape(3, classes).astype(_dtype(dtype))
    t = np.array([0, classes - 1, classes // 2])
    assert_fused(run(x, t, reduction="none"), oracle(x, t, reduction="none"))


@needs_numba
@pytest.mark.parametrize("spread", [0.1, 4.0, 100.0])
@pytest.mark.parametrize("shape", [(1, 5), (64, 10), (256, 101), (128, 1000), (8, 32000)], ids=str)
def test_errors_are_at_most_half_of_what_this_project_tolerates(
    logits_of, labels_of, shape, spread
):
    (rows, classes), x = shape, logits_of(shape, np.float32, spread=spread)
    t = labels_of(rows, classes)
    got, truth = run(x, t), oracle(x, t)
    for name, length, scale in (("loss", x.size, 1.0), ("gradient", classes, 1 / rows)):
        plain = {"dtype": "float32", "reduction_length": length, "scale": scale}
        tolerance, expected = Tolerance.from_plain(plain, output=name), getattr(truth, name)
        room = tolerance.absolute + tolerance.relative * np.abs(expected)
        assert (np.abs(got[name] - expected) / room).max() < 0.5


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("rest", [[], [-INF], [-INF] * 100], ids=len)
def test_where_only_one_class_is_possible_loss_and_gradient_are_zero(dtype, rest):
    got = run(np.array([[3.7, *rest]], _dtype(dtype)), np.array([0]))
    assert got["loss"] == 0
    assert not got["gradient"].any()


@needs_numba
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("ignore_index", [None, 2, -100])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_reductions_and_ignored_rows_agree_with_the_oracle(
    logits_of, labels_of, assert_fused, reduction, ignore_index, dtype
):
    x, t = logits_of((37, 10), _dtype(dtype)), labels_of(37, 10)
    t[3] = 2 if ignore_index is None else ignore_index
    got = run(x, t, reduction=reduction, ignore_index=ignore_index)
    truth = oracle(x, t, reduction=reduction, ignore_index=ignore_index)
    assert_fused(got, truth, rows=37 if reduction == "mean" else 1)
    assert not got["gradient"][t == ignore_index].any()


@needs_numba
@pytest.mark.parametrize(
    "label_dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]
)
def test_ids_of_every_integer_dtype_are_read(logits_of, labels_of, assert_fused, label_dtype):
    x, t = logits_of((9, 101), np.float32), labels_of(9, 101, label_dtype)
    assert_fused(run(x, t.reshape(9, 1)), oracle(x, t), rows=9)


SPECIAL = {
    "NaN first": [(0, NAN)],
    "NaN with its sign set": [(0, -NAN)],
    "NaN last": [(-1, NAN)],
    "+inf": [(0, INF)],
    "-inf elsewhere": [(1, -INF)],
    "-inf at the label": [(2, -INF)],
    "nothing but -inf": [(slice(None), -INF)],
    "-inf and NaN": [(slice(None), -INF), (1, NAN)],
    "nothing but NaN with its sign set": [(slice(None), -NAN)],
    "all below zero": [(slice(None), -30.0), (1, -29.0)],
    "far below the rest": [(0, 3e4), (2, -3e4)],
}


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("classes", [3, 101, 1000])
@pytest.mark.parametrize("special", SPECIAL)
def test_nan_and_infinities_mean_what_they_mean_to_the_oracle_and_stay_in_their_row(
    logits_of, assert_fused, dtype, classes, special
):
    x, t = logits_of((3, classes), _dtype(dtype)).copy(), np.array([2, 2, 0])
    for where, value in SPECIAL[special]:
        x[1, where] = value
    assert_fused(run(x, t, reduction="none"), oracle(x, t, reduction="none"))


@needs_numba
def test_an_ignored_row_counts_for_nothing_whatever_it_holds(logits_of, labels_of):
    x, t = logits_of((9, 101), np.float32).copy(), labels_of(9, 101)
    t[4] = -100
    x[4, :3] = (NAN, INF, -INF)
    got = run(x, t, ignore_index=-100)
    assert np.isfinite(got["loss"]).all()
    assert not got["gradient"][4].any()


@needs_numba
@pytest.mark.parametrize("rows", [0, 5])
def test_the_mean_of_no_rows_is_nan_and_its_gradient_zero(rows):
    got = run(np.zeros((rows, 10), np.float32), np.full(rows, 3), ignore_index=3)
    assert np.isnan(got["loss"]).all()
    assert not got["gradient"].any()


@needs_numba
@pytest.mark.parametrize("offset", [1e4, 1e8, -1e30])
def test_a_common_offset_costs_no_digit_of_the_loss(offset):
    got = run(np.full((2, 1000), offset, np.float32), np.array([0, 999]))
    np.testing.assert_allclose(got["loss"], np.log(1000), rtol=1e-6)


@needs_numba
def test_a_float16_loss_beyond_65504_terms_is_finite():
    got = run(np.zeros((1, 70000), np.float16), np.array([0]))
    np.testing.assert_allclose(got["loss"], np.log(70000), rtol=1e-6)


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
def test_bad_labels_spoil_their_own_rows_and_the_first_is_noted(logits_of, dtype):
    x, t = logits_of((33, 10), _dtype(dtype)), np.full(33, 4)
    t[21], t[30] = 10, -1
    complaint = np.zeros(1, COMPLAINT)
    got = run(x, t, reduction="none", complaint_out=complaint)
    spoilt = np.isin(np.arange(33), (21, 30))
    np.testing.assert_array_equal(np.isnan(got["loss"]), spoilt)
    np.testing.assert_array_equal(np.isnan(got["gradient"]).all(axis=1), spoilt)
    np.testing.assert_array_equal(np.isnan(got["gradient"]).any(axis=1), spoilt)
    assert complaint.tolist() == [(1, 21, 10)]


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
def test_the_gradient_may_be_written_over_the_logits(logits_of, labels_of, assert_fused, dtype):
    x, t = logits_of((7, 1000), _dtype(dtype)).copy(), labels_of(7, 1000)
    truth = oracle(x, t)
    assert_fused(run(x, t, gradient="in place"), truth, rows=7)


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
def test_the_loss_alone_is_the_same_loss(logits_of, labels_of, dtype):
    x, t = logits_of((7, 1000), _dtype(dtype)), labels_of(7, 1000)
    assert run(x, t, gradient="none")["loss"] == run(x, t)["loss"]


@needs_numba
def test_any_number_of_threads_gives_the_same_bits(labels_of):
    x = np.random.default_rng(0).standard_normal((1100, 1000)).astype(np.float32)
    t = labels_of(1100, 1000)
    t[::50] = -1
    one, *others = [run(x, t, ignore_index=-1, threads=n) for n in (1, 2, 3)]
    for other in others:
        np.testing.assert_array_equal(one["loss"], other["loss"])
        np.testing.assert_array_equal(one["gradient"], other["gradient"])


@needs_numba
def test_calls_from_several_threads_do_not_disturb_one_another(labels_of):
    x = np.random.default_rng(0).standard_normal((1100, 1000)).astype(np.float32)
    t = labels_of(1100, 1000)
    alone = run(x, t)
    found = []
    callers = [threading.Thread(target=lambda: found.append(run(x, t))) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 3
    for got in found:
        np.testing.assert_array_equal(got["gradient"], alone["gradient"])


@needs_numba
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [w for w in WIDTHS if w >= 16])
def test_where_and_how_a_gradient_is_written_changes_no_bit_of_it_and_none_beside_it(
    labels_of, dtype, classes
):
    from reference_impl.kernels import fused_cpu_loops as loops

    x = np.random.default_rng(0).standard_normal((9, classes), dtype=dtype)
    t = labels_of(9, classes)
    t[[2, 5, 6]], t[7] = -100, classes  # rows that are written at once, and one bad
    bits, losses = x.view(f"i{x.itemsize}"), np.empty(9, dtype)
    expected = run(x, t, reduction="none", ignore_index=-100)["gradient"]
    for offset in (0, 1, 5, 16):
        for is_streaming in (False, True):
            memory = np.full(x.size + offset + 70, 7, dtype)
            out = memory[offset : offset + x.size].reshape(x.shape)
            rows = (x, bits, t, losses, out, 0, 9, 1.0, True, -100, is_streaming)
            assert loops.float_rows(*rows) == 7
            np.testing.assert_array_equal(out, expected)
            assert (np.delete(memory, slice(offset, offset + x.size)) == 7).all()


@needs_numba
@pytest.mark.parametrize("classes", [10, 64, 1000, 1027])
def test_in_place_as_beside_the_logits_with_rows_of_every_kind(labels_of, classes):
    rows = 7 * 2**20 // (4 * classes) if classes > 64 else 99
    x = np.random.default_rng(0).standard_normal((rows, classes), dtype=np.float32)
    t = labels_of(rows, classes)
    t[::3], t[::7] = -100, -1
    expected = run(x, t, ignore_index=-100)["gradient"]
    np.testing.assert_array_equal(
        run(x.copy(), t, ignore_index=-100, gradient="in place")["gradient"], expected
    )


@needs_numba
@pytest.mark.parametrize("rows", [9, 1800])
def test_arrays_at_odd_addresses_are_read_and_written(labels_of, rows):
    x = np.random.default_rng(0).standard_normal((rows, 1000), dtype=np.float32)
    t = labels_of(rows, 1000)
    odd_x, odd_out = (np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32) for _ in range(2))
    odd_x, odd_out = odd_x.reshape(x.shape), odd_out.reshape(x.shape)
    odd_x[...] = x
    loss = np.zeros(1, np.float32)
    fused_cpu.forward_backward(odd_x, t, loss_out=loss, gradient_out=odd_out)
    expected = run(x, t)
    np.testing.assert_array_equal(odd_out, expected["gradient"])
    assert loss == expected["loss"]


@needs_numba
@pytest.mark.parametrize("offset", [0, 1, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gradient_past_the_caches_is_the_same_wherever_it_lies(labels_of, dtype, offset):
    rows, classes = 32 * 2**20 // (8191 * np.dtype(dtype).itemsize) + 1, 8191
    x = np.random.default_rng(0).standard_normal((rows, classes), dtype=dtype)
    t = labels_of(rows, classes)
    memory = np.full(rows * classes + offset + 1, 7, dtype)
    out = memory[offset : offset + x.size].reshape(x.shape)
    loss = np.zeros(1, dtype)
    fused_cpu.forward_backward(x, t, loss_out=loss, gradient_out=out)
    parts = [run(x[i : i + 1], t[i : i + 1], expected_dy=1 / rows) for i in (0, 1, rows - 1)]
    np.testing.assert_array_equal(out[[0, 1, -1]], np.concatenate([p["gradient"] for p in parts]))
    assert (memory[:offset] == 7).all()
    assert memory[-1] == 7


@needs_numba
@pytest.mark.parametrize("dtype", FORMATS)
def test_backward_makes_up_for_another_dy(logits_of, dtype):
    gradient = logits_of((7, 101), _dtype(dtype)).copy()
    expected = (gradient.astype(np.float64) * 1.5).astype(gradient.dtype)
    fused_cpu.scale_gradient(gradient, 3.0, expected_dy=2.0)
    np.testing.assert_array_equal(gradient, expected)


@needs_numba
def test_backward_takes_one_dy_for_each_row(logits_of):
    gradient = logits_of((3, 101), np.float32).copy()
    expected = gradient * np.array([[1], [2], [0]], np.float32)
    fused_cpu.scale_gradient(gradient, np.array([1, 2, 0], np.float32))
    np.testing.assert_array_equal(gradient, expected)


@needs_numba
@pytest.mark.parametrize("dy", [NAN, INF, [NAN, INF]])
def test_backward_leaves_zeros_alone(dy):
    gradient = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    fused_cpu.scale_gradient(gradient, np.array(dy))
    assert gradient[[0, 1], [0, 1]].tolist() == [0.0, 0.0]
    assert not np.isfinite(gradient[[0, 1], [1, 0]]).any()


def test_backward_that_has_nothing_to_do_needs_no_numba_and_no_writable_gradient():
    gradient = np.zeros((2, 3), np.float32)
    gradient.flags.writeable = False
    fused_cpu.scale_gradient(gradient, 2.0, expected_dy=2.0)


@needs_numba
def test_every_exponential_is_within_its_error():
    from reference_impl.kernels import fused_cpu_loops as loops

    for dtype, least, near in ((np.float32, -78.0, -20.0), (np.float64, -700.0, -700.0)):
        x = np.linspace(least, 0, 40_001).astype(dtype)
        x[0], bits = 0.0, {np.float32: np.int32, np.float64: np.int64}[dtype]
        out = np.empty((1, x.size), dtype)
        labels, losses = np.zeros(1, int), np.empty(1, dtype)
        rows = (x[None], x[None].view(bits), labels, losses, out)
        loops.float_rows(*rows, 0, 1, 1.0, False, 0, False)
        total = np.exp(x.astype(np.longdouble)).sum()
        off = (
            np.abs(out[0, 1:] * total / np.exp(x[1:].astype(np.longdouble)) - 1)
            / np.finfo(dtype).eps
        )
        # Dividing by the sum rounds twice more.
        assert off[x[1:] >= near].max() < 3
        assert off.max() < 7


@needs_numba
def test_the_float32_exponential_needs_each_term_of_its_series():
    from reference_impl.kernels import fused_cpu_loops as loops

    r = np.linspace(-np.log(2) / 2, np.log(2) / 2, 10_001)
    off = [
        np.abs(np.polyval(np.array(series, float), r) / np.exp(r) - 1).max()
        for series in (loops._SERIES32, loops._SERIES32[1:])
    ]
    assert off[0] < 1.3e-7 < 1e-5 < off[1]


@needs_numba
def test_the_loops_change_with_the_lanes_so_that_numba_compiles_them_anew():
    from reference_impl.kernels import fused_cpu_loops as loops

    text = files("reference_impl.kernels").joinpath("lanes.py").read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert digest == loops.LANES_DIGEST, f"write {digest!r} into fused_cpu_loops.py"


def test_what_the_kernel_is_not_written_for_is_told_from_what_it_is():
    x, t = np.zeros((4, 3), np.float32), np.zeros(4, np.int64)
    assert fused_cpu.takes(x, t)
    assert fused_cpu.takes(x.astype(ml_dtypes.bfloat16), t.reshape(4, 1))
    for logits, labels in [
        (x.T, np.zeros(3, int)),
        (x[:, ::2], t),
        (x[0], t),
        (x[:, :0], t),
        (x.astype(int), t),
        (x.astype(">f4"), t),
        (x, t[:3]),
        (x, t.astype(float)),
        (x, t.astype(bool)),
        (x, t.astype(np.uint64)),
        (x, np.zeros((4, 3), int)),
        (x.tolist(), t),
    ]:
        assert not fused_cpu.takes(logits, labels)


@needs_numba
def test_what_does_not_fit_is_refused_by_name():
    x, t = np.zeros((4, 3), np.float32), np.zeros(4, np.int64)
    loss = np.zeros(1, np.float32)
    with pytest.raises(TypeError, match=r"float32 \(4, 3\) and labels float64"):
        fused_cpu.forward_backward(x, t.astype(float), loss_out=loss)
    with pytest.raises(ValueError, match="reduction 'avg'"):
        fused_cpu.forward_backward(x, t, loss_out=loss, reduction="avg")
    with pytest.raises(ValueError, match=r"loss_out is float64 \(1,\): need float32, one element"):
        fused_cpu.forward_backward(x, t, loss_out=loss.astype(float))
    with pytest.raises(ValueError, match=r"need float32, \(4,\)"):
        fused_cpu.forward_backward(x, t, loss_out=loss, reduction="none")
    with pytest.raises(ValueError, match=r"gradient_out is float32 \(3, 4\)"):
        fused_cpu.forward_backward(x, t, loss_out=loss, gradient_out=np.zeros((3, 4), np.float32))
