"""Whether linear algebra reads its status back: ``cupyx.errstate(linalg=...)``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from harness.probes.simulated.refusal import NotModelledError

__all__ = ["errstate", "raises_on_failure"]


class _Setting(threading.local):
    linalg: str = "ignore"


_setting = _Setting()


def raises_on_failure() -> bool:
    """Whether a failed factorisation is reported, at the price of one read per status array."""
    return _setting.linalg == "raise"


@contextmanager
def errstate(*, linalg: str | None = None, **others: str | None) -> Iterator[None]:
    """``linalg="raise"`` reports failures, ``"ignore"``, the default, leaves them in the values.

    The floating-point settings of NumPy have no counterpart on a device.
    """
    asked = sorted(name for name, value in others.items() if value is not None)
    if asked:
        raise NotModelledError(
            f"errstate({asked[0]}=...)", "a kernel raises no floating-point errors"
        )
    if linalg not in (None, "ignore", "raise"):
        raise NotModelledError(f"errstate(linalg={linalg!r})", "use 'ignore' or 'raise'")
    before = _setting.linalg
    _setting.linalg = linalg or before
    try:
        yield
    finally:
        _setting.linalg = before
