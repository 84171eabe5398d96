"""Are the numbers right: tolerances, comparison, gradient checks; pure functions."""
