"""`RunPlan`: how a run is to go, decided before anything is opened (`runtime.plan.plan` makes it)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..native.threads import SPINS
from .memory import MemoryPlan
from .modes import CPU, PULL_TILED

HYBRID = "hybrid"
"""The executor of a run on the CPU and the GPU together."""
STREAMS = 4
"""Pages that may be under way on the GPU, where the user does not say."""


@dataclass(frozen=True)
class Schedule:
    """What bounds the scheduler's decisions in every iteration.

    Attributes
    ----------
    iterations : int or None
        The run stops after so many.
    engine : {"auto", "garaph"}
    mode : str or None
        The mode of every iteration; None leaves it to the engine.
    tiles : bool
        The graph has tiles, and they suit the program.
    k : float
        How much faster the edges are read sequentially than at random; 1 in memory.
    waits : bool
        Changed vertices may wait for their bucket: less work, in more iterations.
    """

    iterations: int | None = None
    engine: str = "auto"
    mode: str | None = None
    tiles: bool = False
    k: float = 1.0
    waits: bool = True


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """How a run is to go.

    Attributes
    ----------
    executor : {"cpu", "gpu", "hybrid"}
        The one that begins the run.
    needs_gpu : bool
        The run fails if no GPU can be used, instead of taking the CPU.
    synchronous : bool
        New values are seen in the next iteration, not at once.
    schedule : Schedule
    memory : MemoryPlan
        What the run takes of the host's memory.
    pushes : bool
        The CPU may push, so it needs the values of out-edges.
    threads : int or None
        Threads of the CPU; None for every core this process may use.
    packing_threads : int or None
        Threads of the CPU that pack edges for a GPU, before it works: likewise.
    spins : int
        How often an idle CPU thread looks for work before it sleeps.
    page_edges : int or None
        Bound on the in-edges of a page, if the user gave one.
    deterministic : bool
        Pages on the GPU must not depend on how much of its memory is free.
    gpu_memory : int or None
        Bytes of the GPU's memory to use; None for a share of what is free.
    streams : int
        Pages that may be under way on the GPU.
    gather : {"auto", "replicated", "segmented", "packed"}
        How the GPU sums; ``"auto"`` lets it measure.
    replication : {"custom", "calibrated"} or int
        Copies of a sum, for ``"replicated"``.
    """

    executor: str = CPU
    needs_gpu: bool = False
    synchronous: bool = True
    schedule: Schedule = field(default_factory=Schedule)
    memory: MemoryPlan
    pushes: bool = False
    threads: int | None = None
    packing_threads: int | None = None
    spins: int = SPINS
    page_edges: int | None = None
    deterministic: bool = False
    gpu_memory: int | None = None
    streams: int = STREAMS
    gather: str = "auto"
    replication: int | str = "custom"

    @property
    def is_tiled(self) -> bool:
        """Whether every iteration pulls by tiles."""
        return self.schedule.mode == PULL_TILED
