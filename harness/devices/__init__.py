"""Where arrays live and which probe watches the boundary there."""
