"""Facts about the machine, the interpreter and the code under test."""

from harness.environment.machine import fingerprint

__all__ = ["fingerprint"]
