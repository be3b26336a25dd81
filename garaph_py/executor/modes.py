"""Names of the directions of an iteration, of the processors, and of the ways in which edges reach a processor."""

PULL = "pull"
NOTIFY_PULL = "notify-pull"
PUSH = "push"
PULL_TILED = "pull-tiled"
COMPONENTS = "components"

CPU, GPU, BOTH = "cpu", "gpu", "both"
"""The processors of an iteration."""

RESIDENT, COPIED, ZERO_COPY, COMPACTED = "resident", "copied", "zero-copy", "compacted"
"""How a page's edges reach a GPU: they stay in its memory, are copied there in every iteration, stay in host memory,
where kernels read those that they need, or the CPU lays those of active vertices end to end and copies these."""
