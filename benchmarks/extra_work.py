"""The share of extra work that the ops do in this tree."""

EXTRA = 0.0
EXTRA_ROWS = 0
