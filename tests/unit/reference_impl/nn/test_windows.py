import numpy as np
import pytest

from reference_impl.nn.windows import Windows


def images(channels=2, height=5, width=6, count=3):
    return np.random.default_rng(1).normal(size=(channels, height, width, count))


def by_loops(windows, bordered):
    """Each window as a column, read off place by place."""
    channels, height, width, count = bordered.shape
    (tall, wide), (down, across) = windows.kernel, windows.stride
    columns = [
        [bordered[:, i : i + tall, j : j + wide, n].ravel() for n in range(count)]
        for i in range(0, height - tall + 1, down)
        for j in range(0, width - wide + 1, across)
    ]
    return np.array(columns).reshape(-1, channels * tall * wide).T


CASES = [
    Windows.of(3, stride=1),
    Windows.of((2, 3), stride=(2, 1)),
    Windows.of(2, stride=3),
    Windows.of(1, stride=2),
    Windows.of((5, 6), stride=1),
]


@pytest.mark.parametrize("windows", CASES)
def test_a_column_is_what_a_window_sees(windows):
    np.testing.assert_array_equal(windows.columns(images()), by_loops(windows, images()))


@pytest.mark.parametrize("windows", CASES)
def test_the_pixels_at_an_offset_are_those_of_the_columns(windows):
    bordered = images()
    down, across = windows.places(5, 6)
    columns = windows.columns(bordered).reshape(2, *windows.kernel, down, across, 3)
    for i, j in windows.offsets():
        np.testing.assert_array_equal(windows.at((i, j), bordered), columns[:, i, j])


def test_windows_of_one_pixel_are_no_copy():
    pixels = images()
    windows = Windows.of(1, stride=1)
    assert windows.is_identity
    assert np.shares_memory(windows.columns(pixels), pixels)
    assert windows.padded(pixels) is pixels


def test_a_border_surrounds_the_images():
    pixels = images()
    windows = Windows.of(3, stride=1, padding=(1, 2))
    bordered = windows.padded(pixels, -7.0)
    assert bordered.shape == (2, 7, 10, 3)
    np.testing.assert_array_equal(windows.unpadded(bordered), pixels)
    assert bordered.sum() == pytest.approx(pixels.sum() - 7.0 * (bordered.size - pixels.size))


@pytest.mark.parametrize(
    ("windows", "size", "places"),
    [
        (Windows.of(5, stride=1), (28, 28), (24, 24)),
        (Windows.of(2), (24, 24), (12, 12)),
        (Windows.of(7, stride=2, padding=3), (224, 224), (112, 112)),
        (Windows.of(3, stride=2, padding=1), (112, 112), (56, 56)),
        (Windows.of(2), (5, 5), (2, 2)),
        (Windows.of((1, 2), stride=(3, 1)), (4, 4), (2, 3)),
    ],
)
def test_as_many_places_as_fit(windows, size, places):
    assert windows.places(*size) == places


@pytest.mark.parametrize(
    ("windows", "overlap"),
    [
        (Windows.of(2), False),
        (Windows.of(2, stride=3), False),
        (Windows.of(3, stride=2), True),
        (Windows.of((1, 3), stride=(1, 2)), True),
    ],
)
def test_windows_overlap_where_the_stride_is_below_the_kernel(windows, overlap):
    assert windows.overlap is overlap


def test_windows_lie_side_by_side_unless_told_otherwise():
    assert Windows.of((2, 3)).stride == (2, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": 0}, "kernel must be at least 1, got 0"),
        ({"kernel": 2, "stride": (1, 0)}, r"stride must be at least 1, got \(1, 0\)"),
        ({"kernel": 2, "padding": -1}, "padding must be at least 0, got -1"),
    ],
)
def test_what_makes_no_window_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Windows.of(**options)


def test_a_kernel_larger_than_the_image_is_refused():
    with pytest.raises(ValueError, match=r"windows of \(6, 6\) do not fit on images of \(3, 8\)"):
        Windows.of(6, stride=1, padding=1).places(3, 8)


def test_a_pool_of_nothing_but_border_is_refused():
    with pytest.raises(ValueError, match="padding 2 is more than half the kernel 3"):
        Windows.pooling(3, padding=2)
    assert Windows.pooling(3, padding=1).padding == (1, 1)
