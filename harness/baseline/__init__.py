"""What was promised: stores, their file format, and the comparison of a run with one."""
