"""The ticket's three programs, to be run: ``python -m reference_impl.training.mlp``, ``.mnist_cnn``, ``.resnet50``.

They train the networks of ``reference_impl.workloads`` for as long as the ticket does, print the ticket's lines, keep
checkpoints, and write down what they did.
"""
