"""``python -m reference_impl.training.mlp``: the ticket's two-layer network, 1001 steps and eleven losses; see ``mlp_program``."""

from reference_impl.training.entry import run

if __name__ == "__main__":
    run("reference_impl.training.mlp_program")
