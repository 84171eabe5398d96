"""``python -m reference_impl.training.mnist_cnn``: the ticket's convolutional network on handwritten digits; see ``mnist_cnn_program``."""

from reference_impl.training.entry import run

if __name__ == "__main__":
    run("reference_impl.training.mnist_cnn_program")
