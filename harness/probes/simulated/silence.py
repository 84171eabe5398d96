"""NumPy without floating-point warnings: a device computes infinities and NaNs without a word."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["silently"]


class _Contexts(threading.local):
    def __init__(self) -> None:
        self.idle: list[contextvars.Context] = []


_contexts = _Contexts()


def _silent_context() -> contextvars.Context:
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


def silently(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``function`` with every floating-point error ignored, in this thread and for this call only.

    NumPy keeps its error state in a context variable; entering a prepared context costs 0.1 us, a
    ``numpy.errstate`` block 1 us, which every operation would pay.
    """
    idle = _contexts.idle
    # A context is entered once at a time; a finaliser that runs inside gets another one.
    context = idle.pop() if idle else _silent_context()
    try:
        return context.run(function, *args, **kwargs)
    finally:
        idle.append(context)
