"""Recorded sources of traces: files other tools wrote."""
