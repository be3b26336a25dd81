"""`RunOptions`: the options of a run, in one object that is checked once."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from ..checkpoint.policy import Every, parse_every
from ..codec.arrays import PACKED
from ..codec.codecs import ENCODINGS
from ..dispatch.policy import POLICIES, Policy
from ..errors import ParameterError
from ..executor.gpu.gather import AUTO, CALIBRATED, CUSTOM, REPLICATED, SEGMENTED
from ..executor.gpu.interface import can_replicate
from ..executor.gpu.replication import FACTORS
from ..executor.gpu.settings import STREAMS
from ..executor.memory import check_tiles
from ..executor.modes import CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..graph import Graph
from ..native.threads import check_threads
from ..pages.layout import check_page_edges
from ..program import BoundProgram
from ..system.sizes import parse_bytes

ANY = "auto"
"""The value of an option that leaves the choice to the run."""
HYBRID = "hybrid"
"""The device of a run on the CPU and the GPU together."""
ENGINES = tuple(POLICIES)
MODES = (ANY, PULL, NOTIFY_PULL, PUSH, PULL_TILED)
CPU_MODES = (PUSH, PULL_TILED)
"""Modes that are not in the paper, and that run on the CPU only."""
DEVICES = (ANY, CPU, GPU, HYBRID)
GATHERS = (AUTO, REPLICATED, SEGMENTED, PACKED)
CHOICES: dict[str, tuple[str, ...]] = {
    "engine": ENGINES,
    "mode": MODES,
    "device": DEVICES,
    "gather": GATHERS,
    "encoding": (ANY, *ENCODINGS),
}
"""The allowed values of each option that takes one of a few words."""
MAX_STREAMS = 64


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `garaph_py.run`, whose docstring describes each of them.

    The constructor checks what can be checked without a program and a graph; `check_run_options` checks the rest.

    Raises
    ------
    ParameterError
        If an option has an invalid value, or two options contradict each other.
    """

    iterations: int | None = None
    engine: str = ANY
    mode: str = ANY
    sync: bool | None = None
    threads: int | None = None
    page_edges: int | None = None
    encoding: str = ANY
    device: str = ANY
    gpu_memory: int | str | None = None
    streams: int = STREAMS
    gather: str = AUTO
    replication: int | str = CUSTOM
    deterministic: bool = False
    verify: bool = False
    trace: str | os.PathLike[str] | None = None
    report: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: int | str | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        if not is_count(self.iterations) and self.iterations is not None:
            raise ParameterError(f"iterations={self.iterations!r}: give a whole number, 0 or more")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ParameterError(f"{name}={getattr(self, name)!r}: choose from {', '.join(choices)}")
        if self.page_edges is not None:
            check_page_edges(self.page_edges)
        check_threads(self.threads)
        if not is_count(self.streams) or not 1 <= self.streams <= MAX_STREAMS:
            raise ParameterError(f"streams={self.streams!r}: give a whole number from 1 to {MAX_STREAMS}")
        if isinstance(self.replication, bool) or self.replication_factor not in (CUSTOM, CALIBRATED, *FACTORS):
            allowed = ", ".join(map(str, (CUSTOM, CALIBRATED, *FACTORS)))
            raise ParameterError(f"replication={self.replication!r}: choose from {allowed}")
        _ = self.gpu_bytes
        if self.checkpoint is not None:
            _ = self.checkpoint_interval
        self._check_pairs()

    def _check_pairs(self) -> None:
        """Refuse options that contradict each other for every program and graph."""
        if self.deterministic and self.sync is False:
            raise ParameterError("deterministic=True needs a synchronous run; leave sync=False out")
        if self.deterministic and self.device == HYBRID:
            raise ParameterError(
                "deterministic=True: timing decides which processor takes a page; leave device='hybrid' out"
            )
        if self.deterministic and self.gather == REPLICATED:
            raise ParameterError("deterministic=True needs gather='segmented': atomics add in no fixed order")
        if self.mode not in (ANY, *self.policy.modes):
            raise ParameterError(
                f"mode={self.mode!r} is not the paper's; leave engine={self.engine!r} out, or choose another mode"
            )
        if self.needs_gpu and self.mode in CPU_MODES:
            raise ParameterError(
                f"mode={self.mode!r} runs on the CPU, because the GPU only pulls; leave device={self.device!r} out"
            )
        if self.checkpoint is None and (self.resume or self.checkpoint_every is not None):
            raise ParameterError("checkpoint=None: say in which directory the checkpoints are")

    @property
    def policy(self) -> Policy:
        """The rules of the engine."""
        return POLICIES[self.engine]

    @property
    def forced_mode(self) -> str | None:
        """The mode of every iteration; None if the engine chooses it."""
        return None if self.mode == ANY else self.mode

    @property
    def needs_gpu(self) -> bool:
        """Whether the run fails if no GPU can be used, instead of using the CPU."""
        return self.device in (GPU, HYBRID)

    @property
    def gpu_bytes(self) -> int | None:
        """`gpu_memory` in bytes."""
        return None if self.gpu_memory is None else parse_bytes(self.gpu_memory, "gpu_memory")

    @property
    def replication_factor(self) -> int | str:
        """`replication`, with a factor as an int: the command line passes it as text."""
        return int(self.replication) if str(self.replication).isdigit() else self.replication

    @property
    def checkpoint_interval(self) -> Every:
        """`checkpoint_every`, parsed."""
        return parse_every(self.checkpoint_every)

    def encoding_of(self, graph: Graph) -> str:
        """The encoding of the edges in a run on `graph`: ``"raw"`` or ``"packed"``."""
        return graph.encoding if self.encoding == ANY else self.encoding


def is_count(value: object) -> bool:
    """Whether `value` is a whole number, 0 or more."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)


def check_run_options(options: RunOptions, bound: BoundProgram, graph: Graph) -> None:
    """Refuse options that do not suit the program or the graph.

    Raises
    ------
    ParameterError
    GraphError
        If the mode is pull-tiled, and the tiles do not fit in the memory that the graph was opened with.
    """
    check_gather(options, bound, graph)
    mode = options.mode
    if mode == PUSH and not bound.is_relaxation:
        raise ParameterError(
            f"mode='push': {bound.name} cannot push; that requires an idempotent sum (min, max, bitwise and, or) of "
            "one number per vertex, no apply, activate, prepare or aggregate of its own, and no dst in gather; choose "
            "another mode"
        )
    if mode in CPU_MODES and bound.reads_edge_values and not graph.has_valued_out_edges:
        if graph.on_disk:
            problem = "this directed graph was saved without those of its out-edges; import it again, open it with"
        else:
            problem = "those of this directed graph's out-edges do not fit its memory; allow"
        raise ParameterError(
            f"mode={mode!r}: {bound.name} reads edge values, and {problem} more memory (memory, --memory), or choose "
            "another mode"
        )
    if mode == PULL_TILED:
        if options.sync is False or not bound.tiles:
            raise ParameterError(
                f"mode='pull-tiled' is for synchronous runs of programs without done, prepare and dst; {bound.name} is "
                "not one, or the run is asynchronous; choose another mode"
            )
        check_tiles(bound, graph)


def check_gather(options: RunOptions, bound: BoundProgram, graph: Graph) -> None:
    """Refuse a `gather` that does not work with the program's sums or the graph's edges."""
    if options.gather == REPLICATED and not can_replicate(bound):
        raise ParameterError(
            f"gather='replicated': no atomic operation can update the sums of {bound.name}, whose own monoid combines "
            f"{bound.accumulator.itemsize} bytes at once; choose gather='segmented'"
        )
    if options.encoding_of(graph) == PACKED and options.gather in (REPLICATED, SEGMENTED):
        raise ParameterError(
            f"gather={options.gather!r} is for raw edges, and these are packed; use encoding='raw' (--encoding raw), "
            "or leave gather out"
        )
