"""Trace and budget in, results out: pure functions."""
