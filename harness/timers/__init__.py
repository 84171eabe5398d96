"""Clocks that time a callable."""
