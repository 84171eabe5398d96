"""Whether linear algebra reads its status back: ``cupyx.errstate(linalg=...)``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["errstate", "geterr", "raises_on_failure", "seterr"]

_FLOATING = ("divide", "over", "under", "invalid")


class _Setting(threading.local):
    linalg: str = "ignore"


_setting = _Setting()


def raises_on_failure() -> bool:
    """Whether a failed factorisation is reported, at the price of one read per status array."""
    return _setting.linalg == "raise"


def geterr() -> dict[str, str | None]:
    """The settings of this thread (``cupyx.geterr``)."""
    return {**dict.fromkeys(_FLOATING), "linalg": _setting.linalg}


def seterr(*, linalg: str | None = None, **others: str | None) -> dict[str, str | None]:
    """Change the settings of this thread and return what they were (``cupyx.seterr``).

    ``linalg="raise"`` reports failures, ``"ignore"``, the default, leaves them in the values. The
    floating-point settings of NumPy have no counterpart on a device: ``NotImplementedError``, as in CuPy.
    """
    unknown = sorted(others.keys() - set(_FLOATING))
    if unknown:
        raise TypeError(f"seterr() has no setting {unknown[0]!r}")
    asked = sorted(name for name, value in others.items() if value is not None)
    if asked:
        raise NotImplementedError(
            f"errstate({asked[0]}=...): a kernel raises no floating-point errors, and CuPy refuses it too"
        )
    if linalg not in (None, "ignore", "raise"):
        raise NotImplementedError(f"errstate(linalg={linalg!r}): use 'ignore' or 'raise'")
    before = geterr()
    _setting.linalg = linalg or _setting.linalg
    return before


@contextmanager
def errstate(*, linalg: str | None = None, **others: str | None) -> Iterator[None]:
    """``seterr`` for a block (``cupyx.errstate``)."""
    before = seterr(linalg=linalg, **others)
    try:
        yield
    finally:
        seterr(**before)
