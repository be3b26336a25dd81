"""Checkpoints: the state of a run in files, so that another process can continue it (docs/checkpoints.md)."""
