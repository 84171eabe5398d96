"""Pure functions on samples."""
