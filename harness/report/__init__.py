"""Verdicts to pages: first to plain data, then to HTML, text or JSON."""
