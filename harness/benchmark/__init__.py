"""Timing a case: warm-up, calibration, rounds, interleaving with a frozen peer."""
