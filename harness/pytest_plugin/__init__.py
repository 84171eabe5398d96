"""The pytest plugin: limits on traffic and on slowdown as markers, and the traffic itself as a fixture.

Loaded by its entry point, ``harness``; turned off with ``-p no:harness``. What it offers is described in
``docs/pytest.md``. This module's names are what pytest looks for; each part has a file of its own:

``settings``   options of the command line and of the ini file
``marks``      ``limit_transfers`` marks to a ``Budget``
``watching``   the device of the session and whether its probe can be trusted
``recording``  blocks and regions of one test to traces
``threads``    what other threads are busy with when a test begins
``judgement``  a test's trace and budget to a result, and a result to a test's outcome
``outcomes``   the exceptions that end a test, told apart from the test's own
``reading``    what a test may read of a block
``fixtures``   ``device`` and ``device_trace``
``enforcement`` the call of a marked test
``entries``    what one test found, as a verdict
``waiving``    findings that a file of waivers accepts for a while

``speed_settings``  options on speed
``policy``     what becomes of a test that is new, missing, renamed, skipped, without a baseline, inconclusive
``speed_marks`` ``limit_slowdown`` marks
``spying``     what a test hands to pytest-benchmark's fixture
``speed_timing``  whether that can be timed, and its rounds
``pairing``    rounds beside a frozen peer
``stored``     the baseline of the session, of either format
``speed_judgement``  timings to a result
``speed_wording``  a result to its text
``speed_findings``  every result on one test's speed
``speed_enforcement``  the end of a timed test
``census``     tests of the baseline that did not show up
``benchmark_facts``  our facts in pytest-benchmark's files

``ledger``     what every test of the session found, gathered from all workers into one report
``reporting``  the end of the session: summary and report file
``hooks``      where pytest calls the above

Loading imports the standard library and pytest only. Everything else is imported by the first test that is
marked or asks for a fixture, so a suite that uses neither pays nothing.
"""

from harness.pytest_plugin.benchmark_facts import (
    pytest_benchmark_update_commit_info,
    pytest_benchmark_update_json,
    pytest_benchmark_update_machine_info,
)
from harness.pytest_plugin.fixtures import device, device_trace
from harness.pytest_plugin.hooks import (
    pytest_addoption,
    pytest_configure,
    pytest_make_collect_report,
    pytest_runtest_call,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    pytest_runtest_teardown,
)

__all__ = [
    "device",
    "device_trace",
    "pytest_addoption",
    "pytest_benchmark_update_commit_info",
    "pytest_benchmark_update_json",
    "pytest_benchmark_update_machine_info",
    "pytest_configure",
    "pytest_make_collect_report",
    "pytest_runtest_call",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]
