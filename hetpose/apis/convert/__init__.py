"""From weights that others published to checkpoints that torch reads."""
