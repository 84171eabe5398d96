"""The exception tree and its exit codes."""

import pytest

from harness import errors
from harness.errors import ExitCode, HarnessError


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("HarnessError", ExitCode.FAILED),
        ("UsageError", ExitCode.USAGE),
        ("FileFormatError", ExitCode.USAGE),
        ("OutputError", ExitCode.USAGE),
        ("WorkloadError", ExitCode.FAILED),
        ("UnavailableError", ExitCode.UNAVAILABLE),
    ],
)
def test_every_error_ends_the_command_with_its_exit_code(name: str, code: ExitCode) -> None:
    error = getattr(errors, name)
    assert issubclass(error, HarnessError)
    assert error("x").exit_code is code


def test_exit_codes_are_the_documented_numbers() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "PASSED": 0,
        "FAILED": 1,
        "USAGE": 2,
        "UNAVAILABLE": 3,
        "INCONCLUSIVE": 4,
        "INTERRUPTED": 130,
    }


def test_the_drawn_tree_names_every_exception_with_its_exit_code() -> None:
    drawing = errors.__doc__ or ""
    for name in errors.__all__:
        if name not in ("ExitCode", "HarnessError"):
            code = int(getattr(errors, name).exit_code)
            (line,) = [line for line in drawing.splitlines() if f"-- {name} " in line]
            assert f"exit {code}" in line


def test_a_file_that_is_not_what_it_should_be_is_a_usage_error() -> None:
    assert issubclass(errors.FileFormatError, errors.UsageError)
