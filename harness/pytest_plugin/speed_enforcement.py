"""The speed of tests, from the ``benchmark`` fixture being made to the test's end, and what is missing at the session's."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from harness.pytest_plugin.outcomes import Failed, Skipped
from harness.pytest_plugin.policy import Action
from harness.pytest_plugin.speed_settings import SPEED_MARK, SPEED_SETTINGS, UNJUDGED, SpeedSettings
from harness.pytest_plugin.waiving import covered_finding

if TYPE_CHECKING:
    from harness.pytest_plugin.speed_findings import Session, Timed
    from harness.pytest_plugin.speed_wording import Finding
    from harness.pytest_plugin.spying import Subject

__all__ = [
    "FINDINGS",
    "SPEED_PROPERTY",
    "TIMED",
    "SpeedLimits",
    "forget_speed",
    "has_limits",
    "is_timed",
    "speed_sections",
    "unjudged",
]

FINDINGS: pytest.StashKey[tuple[Finding, ...]] = pytest.StashKey()
TIMED: pytest.StashKey[Timed] = pytest.StashKey()

SPEED_PROPERTY = "harness_speed"
"""The property under which JUnit files and other plugins find that no judgement was passed on a test's speed."""

_FIXTURE = "benchmark"


def is_timed(item: pytest.Item) -> bool:
    """Whether the speed of this test is anything to report."""
    return TIMED in item.stash or FINDINGS in item.stash or has_limits(item)


def has_limits(item: pytest.Item) -> bool:
    """Whether a mark limits the slowdown of this test."""
    return item.get_closest_marker(SPEED_MARK) is not None


def forget_speed(item: pytest.Item) -> None:
    """Drop what one run of a test left behind, so that a rerun of it starts afresh."""
    if FINDINGS in item.stash:
        del item.stash[FINDINGS]
    if TIMED in item.stash:
        del item.stash[TIMED]
    item.user_properties[:] = [each for each in item.user_properties if each[0] != SPEED_PROPERTY]


def unjudged(item: pytest.Item) -> Mapping[str, Any] | None:
    """What was said of a test whose speed was held against raw times alone, as plain data that travels with its report.

    ``limited`` says whether a mark limits it. ``None`` where there was more to hold it against, or nothing.
    """
    found = item.stash.get(FINDINGS, ())
    shown = [finding.result for finding in found if finding.unjudged]
    if not shown or any(finding.is_judgement for finding in found):
        return None
    first = shown[0]
    return {
        "limited": has_limits(item),
        "summary": first.summary,
        "next_step": first.next_step,
    }


def speed_sections(item: pytest.Item) -> list[tuple[str, str]]:
    """What was found of a test's speed, to stand beside an outcome that does not say it."""
    text = "\n\n".join(finding.text for finding in item.stash.get(FINDINGS, ()))
    return [(f"harness: {SPEED_MARK}", text)] if text else []


def _unjudged_text(summary: str) -> str:
    return summary if summary.startswith(UNJUDGED) else f"{UNJUDGED}: {summary}"


def _end(ending: Failed | Skipped) -> NoReturn:
    """Raise from a frame of its own that is not hidden: pytest complains of a traceback in which all frames are."""
    raise ending


class SpeedLimits:
    """Watches the ``benchmark`` fixture, times what it is given beside the peers of the marks, and ends the test.

    Registered in every process; a test that neither has the mark nor is held against a baseline is left alone.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._settings: SpeedSettings = config.stash[SPEED_SETTINGS]
        self._comparisons = self._raw_comparisons = 1
        self._session: Session | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the comparisons to come, which decides how sure each must be; those of raw times by themselves."""
        items = [item for item in session.items if has_limits(item) or self._stored_speeds(item)]
        if items:
            from harness.errors import UsageError
            from harness.pytest_plugin.speed_marks import peers, speed_limits

            count = raw = 0
            for item in items:
                try:
                    beside = len(list(peers(speed_limits(item))))
                except UsageError:  # told where the mark is used
                    continue
                decides = bool(beside) or self._settings.trust_raw
                count += beside + (self._stored_speeds(item) if decides else 0)
                raw += 0 if beside else self._stored_speeds(item)
            self._comparisons, self._raw_comparisons = max(1, count), max(1, raw)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Watch the fixture of pytest-benchmark."""
        value = yield
        if fixturedef.argname == _FIXTURE and isinstance(request.node, pytest.Item):
            from harness.pytest_plugin.spying import is_benchmark, watch_benchmark

            item = request.node
            if is_benchmark(value) and self._is_wanted(item):
                watch_benchmark(value, lambda *told: self._time(item, *told))
        return value

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """End a test as the limits on its speed demand, after all other limits have had their say."""
        __tracebackhide__ = True
        forget_speed(item)
        ending: Failed | Skipped | None = None
        value: object = None
        try:
            value = yield
        except (Failed, Skipped) as error:
            ending = error
        except BaseException as error:
            if TIMED in item.stash and not isinstance(error, pytest.skip.Exception):
                self._find(item)
            raise
        if TIMED in item.stash or has_limits(item):
            ending = self._ending(self._find(item), ending)
        if ending is not None:
            _end(ending)
        return value

    def _time(self, item: pytest.Item, fixture: Any, subject: Subject, value: object) -> None:
        from harness.interchange.pytest_benchmark import EXTRA_KEY
        from harness.pytest_plugin.speed_timing import extra_fields, time_test

        limits = self._limits(item)
        timed = item.stash[TIMED] = time_test(item, fixture, subject, value, limits)
        fixture.extra_info[EXTRA_KEY] = extra_fields(timed, limits)

    def _find(self, item: pytest.Item) -> Sequence[Finding]:
        from harness.pytest_plugin.speed_findings import findings_of

        timed = item.stash.get(TIMED, None)
        judged = findings_of(item, self._limits(item), timed, self._shared())
        found = tuple(covered_finding(item, finding) for finding in judged)
        item.stash[FINDINGS] = found
        if found and not any(finding.is_judgement for finding in found):
            item.user_properties.append((SPEED_PROPERTY, _unjudged_text(found[0].result.summary)))
        return found

    def _ending(
        self, found: Sequence[Finding], ending: Failed | Skipped | None
    ) -> Failed | Skipped | None:
        """The end of a test, with every result that keeps it from passing told, the certain ones first."""
        from harness.model.outcome import Outcome

        failing = sorted(
            (finding for finding in found if self._fails(finding)),
            key=lambda finding: finding.result.outcome is not Outcome.FAILED,
        )
        text = "\n\n".join(finding.text for finding in failing)
        if isinstance(ending, Failed):
            return Failed(
                f"{ending.msg}\n\n{text}" if text else str(ending.msg), result=ending.result
            )
        if failing:
            return Failed(text, result=failing[0].result)
        open_question = [f for f in found if f.result.outcome is Outcome.INCONCLUSIVE]
        if ending is None and open_question:
            first = open_question[0]
            head, _, rest = first.text.partition("\n")
            step = rest.rpartition("next      ")[2]
            return Skipped(f"{head}; next: {step}" if step else head, result=first.result)
        return ending

    def _fails(self, finding: Finding) -> bool:
        from harness.model.outcome import Outcome

        if finding.situation is None or finding.result.waiver is not None:
            return finding.result.outcome is Outcome.FAILED
        return self._settings.policy[finding.situation] is Action.FAIL

    def _limits(self, item: pytest.Item) -> Any:
        from harness.errors import UsageError
        from harness.pytest_plugin.speed_marks import speed_limits

        try:
            return speed_limits(item)
        except UsageError as error:
            raise Failed(str(error)) from None

    def _shared(self) -> Session:
        if self._session is None:
            from harness.pytest_plugin.speed_findings import Session
            from harness.pytest_plugin.speed_judgement import Sureness
            from harness.pytest_plugin.speed_timing import speed_environment
            from harness.pytest_plugin.stored import stored_of

            path = self._settings.baseline
            self._session = Session(
                settings=self._settings,
                sure=Sureness(together=self._settings.confidence, comparisons=self._comparisons),
                raw_sure=Sureness(
                    together=self._settings.confidence, comparisons=self._raw_comparisons
                ),
                stored=None if path is None else stored_of(self._config, path),
                environment=None if path is None else speed_environment(self._config),
            )
        return self._session

    def _is_wanted(self, item: pytest.Item) -> bool:
        settings = self._settings
        return has_limits(item) or settings.baseline is not None or settings.json is not None

    def _stored_speeds(self, item: pytest.Item) -> int:
        """How often a test will be held against the baseline of the session: its first promise and its last."""
        path = self._settings.baseline
        if path is None or _FIXTURE not in getattr(item, "fixturenames", ()):
            return 0
        from harness.pytest_plugin.stored import stored_of

        stored = stored_of(self._config, path).benchmarks.get(item.nodeid)
        return 0 if stored is None else min(2, len(stored.speeds))
