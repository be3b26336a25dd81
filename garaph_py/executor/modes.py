"""Names of the directions in which an iteration runs, and of the processors that run it."""

PULL = "pull"
NOTIFY_PULL = "notify-pull"
PUSH = "push"
PULL_TILED = "pull-tiled"

CPU, GPU, BOTH = "cpu", "gpu", "both"
"""Who works in an iteration."""
