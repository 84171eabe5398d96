"""The one use case: verify workloads and return what was found, as values.

``conduct.py`` is the story of a run, ``verify.py`` that of one case.
"""
