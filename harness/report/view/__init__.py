"""A run as plain data ready to draw: every word is decided here, templates only place it."""
