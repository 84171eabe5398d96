"""``python -m reference_impl.training.resnet50``: the ticket's timing of ResNet-50, and what it cannot show; see ``resnet50_program``."""

from reference_impl.training.entry import run

if __name__ == "__main__":
    run("reference_impl.training.resnet50_program")
