"""Names: the directions of an iteration, the processors, and the ways in which a page's edges reach one."""

PULL = "pull"
NOTIFY_PULL = "notify-pull"
PUSH = "push"
PULL_TILED = "pull-tiled"

CPU, GPU, BOTH = "cpu", "gpu", "both"
"""Who works in an iteration."""

RESIDENT, COPIED = "resident", "copied"
"""How a page's edges reach a GPU: they stay in its memory, or are copied there in every iteration."""
