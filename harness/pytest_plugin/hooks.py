"""Where pytest calls the plugin. A test without its mark or fixtures costs a look at the test's marks."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from harness.pytest_plugin.census import UNJUDGED_ENTRY
from harness.pytest_plugin.fixtures import CALLING, RECORDER
from harness.pytest_plugin.ledger import ENTRY
from harness.pytest_plugin.outcomes import Failed, Skipped
from harness.pytest_plugin.reporting import Reporting
from harness.pytest_plugin.settings import MARK, SETTINGS, add_options, read_settings
from harness.pytest_plugin.speed_enforcement import (
    SpeedLimits,
    forget_speed,
    has_limits,
    is_timed,
    speed_sections,
    unjudged,
)
from harness.pytest_plugin.speed_settings import (
    SPEED_MARK,
    SPEED_SETTINGS,
    add_speed_options,
    read_speed_settings,
)
from harness.pytest_plugin.waiving import add_waiver_option, forget_waived, read_waiver_file

__all__ = [
    "pytest_addoption",
    "pytest_configure",
    "pytest_make_collect_report",
    "pytest_runtest_call",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]

_JUDGED = pytest.StashKey[tuple[pytest.Mark, ...]]()
"""The marks a test had when its call came to its end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)
    add_speed_options(parser)
    add_waiver_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options and register the marker; a bad option stops pytest before it collects."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(d2h=0, h2d=0, syncs=0, d2h_bytes=0, h2d_bytes=0, blocking_copies=0, within='region', "
        "because='...'): fail the test when its device work copies or waits more than this. "
        "Only what is named is limited; a reason is required.",
    )
    config.addinivalue_line(
        "markers",
        f"{SPEED_MARK}(peer=frozen_op, margin='1%', because='...', renamed_from='...', unit='samples', "
        "units_per_call=1, bytes_per_call=0, seconds=4): fail the test when the call it hands to the `benchmark` "
        "fixture is slower than that of the frozen peer, or than the baseline has it, by more than the margin.",
    )
    config.stash[SETTINGS] = read_settings(config)
    config.stash[SPEED_SETTINGS] = read_speed_settings(config)
    read_waiver_file(config)
    config.pluginmanager.register(SpeedLimits(config), "harness-speed")
    if not hasattr(config, "workerinput"):
        _check_baseline(config)
        config.pluginmanager.register(Reporting(config), "harness-reporting")


def _check_baseline(config: pytest.Config) -> None:
    """Refuse a baseline that cannot be read before hours of tests are held against it."""
    path = config.stash[SPEED_SETTINGS].baseline
    if path is None:
        return
    from harness.errors import HarnessError
    from harness.pytest_plugin.stored import stored_of

    try:
        stored_of(config, path)
    except HarnessError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Refuse marks that make no sense while collecting, as a syntax error would be."""
    report = yield
    marked = [
        node
        for node in report.result or ()
        if isinstance(node, pytest.Item) and (has_limits(node) or _is_marked(node))
    ]
    if marked:
        from harness.pytest_plugin.marks import misuse
        from harness.pytest_plugin.speed_marks import speed_misuse

        found = (text for item in marked for text in (misuse(item), speed_misuse(item)))
        problems = dict.fromkeys(text for text in found if text is not None)
        if problems:
            report.outcome = "failed"
            report.longrepr = "\n".join(problems)
            report.result = []
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make the device of a marked test; tests that are skipped never get here."""
    if _JUDGED in item.stash:  # of a run before this one
        del item.stash[_JUDGED]
    forget_waived(item)
    if _is_marked(item):
        from harness.pytest_plugin.enforcement import prepare

        prepare(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Record and judge a traced test; one may become traced while it runs."""
    __tracebackhide__ = True
    item.stash[CALLING] = True
    try:
        if _is_traced(item):
            from harness.pytest_plugin.enforcement import judged_call

            value = yield from judged_call(item)
        else:
            value = yield
            if _is_traced(item):
                from harness.pytest_plugin.enforcement import conclude_call

                conclude_call(item, late=True)
    finally:
        item.stash[CALLING] = False
    item.stash[_JUDGED] = tuple(item.iter_markers(MARK))
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Refuse a mark that comes when there is nothing left to judge."""
    value = yield
    judged = item.stash.get(_JUDGED, None)
    if judged is not None and judged != tuple(item.iter_markers(MARK)):
        raise Failed(
            f"{item.nodeid}: @pytest.mark.{MARK} was added after the test had run, so it limits nothing; "
            "mark the test itself, or add the mark before the test ends"
        )
    return value


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what was found to the report, once xfail and the like have had their say."""
    report = yield
    mine = call.excinfo is not None and isinstance(call.excinfo.value, Failed | Skipped)
    if mine or _is_traced(item) or is_timed(item):
        from harness.pytest_plugin.enforcement import forget, refuse_excuse, tell
        from harness.pytest_plugin.entries import entry

        refuse_excuse(item, call, report)
        if item.stash.get(CALLING, False):  # a subtest: the report of its test is yet to come
            return report
        if report.when == "call":
            tell(item, call, report)
            if not mine:
                report.sections.extend(speed_sections(item))
            vars(report)[UNJUDGED_ENTRY] = unjudged(item)
        found = entry(item, call, report)
        if found is not None:
            vars(report)[ENTRY] = found
        if report.when == "teardown":
            forget(item)
            forget_speed(item)
    return report


def _is_traced(item: pytest.Item) -> bool:
    return RECORDER in item.stash or _is_marked(item)


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARK) is not None
