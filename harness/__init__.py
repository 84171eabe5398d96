"""Regression-test and performance harness for GPU ops: is it right, does it stay on the device, is it as fast as it was?

Importing this package imports no framework and not even NumPy; each part is imported by its own name
(``harness.session``, ``harness.probes.simulated``, ``harness.pytest_plugin``).
"""

__version__ = "0.1.0"
