"""Checkpoints: the state of a run in files, so that another process can go on from there (docs/checkpoints.md)."""
