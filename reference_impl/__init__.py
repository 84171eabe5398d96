"""A reference implementation to hold the harness against: a small autograd engine and its ops.

Every op is written once, over whichever array namespace its inputs belong to (NumPy, CuPy, or any
namespace that follows them), and leaves what it computes where its inputs live.
"""
