"""The line that matters is the user's: not CuPy's, not Python's, not this package's."""

from __future__ import annotations

import sys
import sysconfig

import pytest

from harness.probes.cupti import site
from harness.probes.cupti.site import is_machinery, raising_site, user_site

STDLIB = sysconfig.get_path("stdlib")


@pytest.mark.parametrize(
    "file",
    [
        "/v/lib/python3.12/site-packages/cupy/_core/core.py",
        "/v/lib/python3.12/site-packages/cupy_backends/x.py",
        "/usr/lib/python3/dist-packages/numpy/__init__.py",
        "/v/lib/python3.12/site-packages/torch/cuda/streams.py",
        "/v/lib/python3.12/site-packages/cuda/bindings/_x.py",
        f"{STDLIB}/copy.py",
        "<frozen importlib._bootstrap>",
        site.__file__,
    ],
)
def test_libraries_python_and_probes_are_machinery(file):
    assert is_machinery(file)


@pytest.mark.parametrize(
    "file",
    [
        "/home/me/project/loss.py",
        "/v/lib/python3.12/site-packages/my_ops/loss.py",
        "/v/lib/python3.12/site-packages/cupyfoo/loss.py",
        "/home/me/numpy/loss.py",
        "<stdin>",
    ],
)
def test_everything_else_is_the_users_installed_or_not(file):
    assert not is_machinery(file)


def run_as(file, source, **names):
    """Run ``source`` as if it were a file of that name."""
    space = dict(names)
    exec(compile(source, file, "exec"), space)
    return space


CUPY = "/v/lib/python3.12/site-packages/cupy/core.py"
USER = "/home/me/loss.py"


def test_the_line_that_called_the_library_is_found_through_its_frames():
    library = run_as(
        CUPY,
        "def get():\n    return look()\n",
        look=lambda: user_site(sys._getframe(1)),
    )
    user = run_as(USER, "def forward():\n    x = 1\n    return get()\n", get=library["get"])
    found = user["forward"]()
    assert (found.file, found.line, found.function) == (USER, 3, "forward")


def test_without_any_user_frame_the_innermost_is_named():
    space = run_as(CUPY, "def get():\n    return look(frame())\n", frame=sys._getframe, look=None)

    class Frame:
        f_code = space["get"].__code__
        f_lineno = 2
        f_back = None

    found = user_site(Frame())
    assert (found.file, found.function) == (CUPY, "get")


def test_without_a_frame_there_is_no_site():
    assert user_site(None) is None
    assert raising_site(None) is None


def test_an_exception_is_placed_at_the_users_line_closest_to_it():
    library = run_as(CUPY, "def get():\n    raise RuntimeError('capturing')\n")
    user = run_as(USER, "def forward():\n    y = 2\n    return get()\n", get=library["get"])
    with pytest.raises(RuntimeError, match="capturing") as caught:
        user["forward"]()
    found = raising_site(caught.value.__traceback__)
    assert (found.file, found.line, found.function) == (USER, 3, "forward")
