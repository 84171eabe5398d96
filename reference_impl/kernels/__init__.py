"""Fused softmax cross-entropy: one pass over the logits for loss and gradient, in CUDA C++ and for the CPU.

Importing this package imports neither CuPy nor numba nor the CUDA bindings: ``cuda``, ``fused_cpu_loops``,
``lanes`` and ``nvrtc`` do, each when it is first used.
"""
