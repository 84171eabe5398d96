"""What a test hands to its ``benchmark`` fixture, told to the plugin before the test goes on.

The fixture stays pytest-benchmark's own object, which its hooks insist on; only its class is replaced by one derived from
it that looks at each call. Nothing here imports pytest-benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Subject", "is_benchmark", "watch_benchmark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A callable with what it is called with; ``setup`` may give the arguments anew before each call."""

    function: Callable[..., Any]
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    setup: Callable[[], Any] | None = None
    teardown: Callable[..., Any] | None = None

    def with_function(self, function: Callable[..., Any]) -> Subject:
        """Another callable, called in the same way."""
        return Subject(
            function=function,
            args=self.args,
            kwargs=self.kwargs,
            setup=self.setup,
            teardown=self.teardown,
        )


Told = Callable[[Any, Subject, Any], None]
"""Called with the fixture, what it timed, and what that returned, before the test gets it."""


def is_benchmark(fixture: object) -> bool:
    """Whether this is the fixture of pytest-benchmark, and not one of the same name."""
    return any(
        base.__module__ == "pytest_benchmark.fixture" and base.__name__ == "BenchmarkFixture"
        for base in type(fixture).__mro__
    )


def watch_benchmark(fixture: Any, told: Told) -> None:
    """Have ``told`` called after each use of the fixture."""
    base = type(fixture)

    class Watched(base):  # type: ignore[valid-type, misc]  # whichever class the fixture has
        def __call__(self, function_to_benchmark: Any, *args: Any, **kwargs: Any) -> Any:
            value = super().__call__(function_to_benchmark, *args, **kwargs)
            told(self, Subject(function=function_to_benchmark, args=args, kwargs=kwargs), value)
            return value

        def pedantic(
            self,
            target: Any,
            args: Any = (),
            kwargs: Any = None,
            setup: Any = None,
            teardown: Any = None,
            **options: Any,
        ) -> Any:
            value = super().pedantic(
                target, args=args, kwargs=kwargs, setup=setup, teardown=teardown, **options
            )
            subject = Subject(
                function=target, args=args, kwargs=kwargs or {}, setup=setup, teardown=teardown
            )
            told(self, subject, value)
            return value

    Watched.__name__, Watched.__qualname__ = base.__name__, base.__qualname__
    Watched.__module__ = base.__module__
    fixture.__class__ = Watched
