"""The vocabulary: frozen dataclasses, standard library only, no input or output.

One file per concept; import the concept, not the package: ``from harness.model.trace import Trace``.
"""
