"""Our facts in pytest-benchmark's files, through the hooks it offers; without it nothing here is ever called."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = [
    "known_to_pytest_benchmark",
    "pytest_benchmark_update_commit_info",
    "pytest_benchmark_update_json",
    "pytest_benchmark_update_machine_info",
]


def known_to_pytest_benchmark(
    config: pytest.Config,
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """What pytest-benchmark itself would write of machine and commit, so that it finds them the same later.

    ``None`` for both where it is not there.
    """
    if not config.pluginmanager.has_plugin("pytest-benchmark"):
        return None, None
    hook = config.hook
    machine = hook.pytest_benchmark_generate_machine_info(config=config)
    hook.pytest_benchmark_update_machine_info(config=config, machine_info=machine)
    commit = hook.pytest_benchmark_generate_commit_info(config=config)
    hook.pytest_benchmark_update_commit_info(config=config, commit_info=commit)
    return machine, commit


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(
    config: pytest.Config, machine_info: dict[str, Any]
) -> None:
    """Add the facts that must agree before two files are compared: device, GPU, driver, libraries, protocol.

    Facts that change from hour to hour are left out, since pytest-benchmark warns of every difference. A device that
    this machine lacks is no fact.
    """
    import harness
    from harness.interchange.pytest_benchmark import EXTRA_KEY
    from harness.interchange.pytest_benchmark_writer import environment_fields
    from harness.pytest_plugin.outcomes import Failed
    from harness.pytest_plugin.speed_timing import speed_environment

    try:
        environment = speed_environment(config)
    except Failed:
        return
    machine_info[EXTRA_KEY] = environment_fields(environment, harness_version=harness.__version__)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_commit_info(config: pytest.Config, commit_info: dict[str, Any]) -> None:
    """Add the version of the harness, and whether tracked files had changes."""
    import harness
    from harness.interchange.pytest_benchmark import EXTRA_KEY, SCHEMA_VERSION
    from harness.pytest_plugin.outcomes import Failed
    from harness.pytest_plugin.speed_timing import speed_environment

    try:
        environment = speed_environment(config)
    except Failed:
        return
    commit_info[EXTRA_KEY] = {
        "schema_version": SCHEMA_VERSION,
        "version": harness.__version__,
        "commit": environment.commit,
        "dirty": environment.dirty,
    }


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Add the facts that explain a difference and forbid no comparison, and seal what we added to each benchmark."""
    from harness.interchange.pytest_benchmark import EXTRA_KEY, SCHEMA_VERSION
    from harness.interchange.seal import seal
    from harness.pytest_plugin.outcomes import Failed
    from harness.pytest_plugin.speed_timing import speed_environment

    output_json["benchmarks"] = [
        seal(each, EXTRA_KEY) if EXTRA_KEY in each["extra_info"] else each
        for each in output_json["benchmarks"]
    ]
    try:
        environment = speed_environment(config)
    except Failed:
        return
    output_json[EXTRA_KEY] = {
        "schema_version": SCHEMA_VERSION,
        "soft": dict(environment.soft),
    }
