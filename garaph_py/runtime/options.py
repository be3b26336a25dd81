"""`Options` and `RunOptions`: the options of a run, each in one object that is checked once."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..checkpoint.policy import Every, parse_every
from ..codec.arrays import PACKED
from ..codec.codecs import ENCODINGS
from ..dispatch.engines import engine_name, engine_of
from ..dispatch.policy import Policy
from ..errors import ParameterError
from ..executor.gpu.gather import AUTO, CALIBRATED, CUSTOM, REPLICATED, SEGMENTED
from ..executor.gpu.interface import can_replicate
from ..executor.gpu.reorder import refusal
from ..executor.gpu.replication import FACTORS
from ..executor.gpu.settings import GIVEN, HUB, STREAMS, ListPush
from ..executor.memory import check_tiles
from ..executor.modes import COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..graph import Graph
from ..native.threads import check_threads
from ..pages.layout import check_page_edges
from ..program import BoundProgram
from ..system.arguments import explained, is_count
from ..system.sizes import parse_bytes
from .gpus import Asked, is_one, parse_gpus

ANY = "auto"
"""The value of an option that leaves the choice to the run."""
HYBRID = "hybrid"
"""The device of a run on the CPU and the GPU together."""
MODES = (ANY, PULL, NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS)
CPU_MODES = (PUSH, PULL_TILED)
"""Modes that are not in the paper, and that run on the CPU if the user asks for them."""
DEVICES = (ANY, CPU, GPU, HYBRID)
FINITE, OFF = "finite", "off"
CHECKS = (ANY, FINITE, OFF)
GATHERS = (AUTO, REPLICATED, SEGMENTED, PACKED)
CHOICES: dict[str, Collection[str]] = {
    "mode": MODES,
    "device": DEVICES,
    "gather": GATHERS,
    "encoding": (ANY, *ENCODINGS),
    "check": CHECKS,
    "gpu_order": (ANY, GIVEN, HUB),
}
"""The allowed values of each option that takes one of a few words."""
FLAGS = {"sync", "fetch", "deterministic", "verify", "debug", "resume"}
"""The options that are True or False; `sync` may also be None."""
RELAXES = (
    "an idempotent sum (min, max, bitwise and, or) of one number per vertex, no apply, activate, prepare or aggregate "
    "of its own, and no dst in gather"
)
"""What makes a program a relaxation, for messages."""
WITHOUT_LISTS = ("gather", "replication", "page_edges", "streams", "gpu_order")
"""Options that say how a GPU gathers, which engines that push along lists do not."""
MAX_STREAMS = 64
"""Most streams that a user may ask for. A guard against mistakes, not measured: 4 are the default, and a buffer
each."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that few runs need; the other options are arguments of `run`.

    Each line lists the options for one task:

    - to choose how edges are visited: `engine`, `mode`, `sync`;
    - to choose what is in memory, and how: `encoding`, `page_edges`, `gpu_memory`;
    - to choose how a GPU works: `streams`, `gather`, `replication`, `gpu_order`, `fetch`;
    - to get the same bits each time: `deterministic`;
    - to find wrong numbers: `check`;
    - to record what happened: `trace`;
    - to lose less at a crash: `checkpoint_every`.

    Parameters
    ----------
    engine : str or engine
        ``"auto"`` uses the rules that were fastest in measurements; ``"garaph"`` those of the paper (Garaph sections
        3.2, 4.2 and 5.1), with a switch for each technique. ``"emogi"``, ``"etagraph"``, ``"grus"`` and ``"hytgraph"``
        push along raw edge lists on a GPU, as those papers do; `Emogi`, `EtaGraph`, `Grus` and `HyTGraph` have a switch
        for each technique, which text gives as ``"emogi:align=no"``. A `Policy` of your own, or the text
        ``"file.py:ClassName"``, is an engine too.
    mode : {"auto", "pull", "notify-pull", "push", "pull-tiled", "components"}
        The mode of every iteration; ``"auto"`` chooses one for each. ``"push"`` is for programs that are relaxations
        (see `VertexProgram`). ``"pull-tiled"`` is for synchronous runs of programs without `done`, `prepare` and
        ``dst``: it is several times faster if many iterations update all vertices. Its tiles take 4 more bytes per
        edge, plus a copy of the edge values if the program reads them. The graph keeps them for later runs with
        ``"auto"``; long runs over large graphs make them unasked. If the edges stay on disk, the tiles must fit in the
        memory that the graph was opened with, and are freed after the run. Push and pull-tiled run on the CPU if you
        ask for them. ``"components"`` finds the connected components by union-find, in one iteration. It is for
        relaxations over integers whose `gather` returns ``src`` as it is, without `done` and `priority`, and for
        undirected graphs; ``"auto"`` uses it there unless `sync`, a limit of iterations or another mode is given.
    sync : bool, optional
        True for a synchronous run: new values become visible in the next iteration, and the answer does not depend on
        timing. False for an asynchronous run: new values are visible at once, which often takes fewer iterations; the
        program's `done` is then not used. By default, a run is synchronous, unless it is a run to convergence of a
        program that is `monotone`, which ends in the same values either way.
    encoding : {"auto", "raw", "packed"}
        How edges are stored during the run: ``"auto"`` as in `graph`, otherwise as `Graph.unpacked` or `Graph.packed`
        makes them for this run. Packed edges take about half the bytes, and cost more work. The answer is the same.
    page_edges : int, optional
        Upper bound on the in-edges of a page.
    gpu_memory : int or str, optional
        Bytes of the GPU's memory to use, such as ``"6GiB"``, to emulate a smaller GPU; by default nine tenths of the
        free memory. Pages that do not fit are streamed, or read from host memory where a run needs few of their edges.
        The driver's own memory (some hundred MB) is not counted.
    streams : int
        Maximum number of pages in flight on the GPU (section 5.2).
    gather : {"auto", "replicated", "segmented", "packed"}
        How the GPU sums: ``"replicated"`` with replicated accumulators in shared memory (section 3.2),
        ``"segmented"`` with segmented reductions in registers, ``"packed"`` likewise over packed edges. ``"auto"``
        times the first two on the first page, and packs edges that do not fit in the GPU's memory if that saves time
        within the iterations of the run. The edges of a packed graph stay packed.
    replication : {"custom", "calibrated"} or {1, 2, 4, 8, 16, 32}
        Copies of each sum, for ``"replicated"``: by equation 2, by a measurement on the device, or this number for
        every shard.
    gpu_order : {"auto", "given", "hub"}
        How a GPU numbers the vertices: ``"given"`` as the graph does, ``"hub"`` with those first that have many
        out-edges, so that the values that are read most often stay in the GPU's cache. ``"auto"`` begins as the graph
        does. It makes the other order for a large graph with skewed degrees once calls have gathered so many edges on
        the GPU that the order would have paid. Results are in the graph's order either way, but the last bits of
        float sums differ. ``"hub"`` is for programs that have `aggregate` and ask for no ``id`` or ``src_id``, and for
        raw edges in memory; if the GPU's memory cannot hold the edges twice, the order stays as the graph's.
    fetch : bool
        False: the answer of a run on one GPU stays in its memory, and `run` returns before the host has it. It is
        copied when the result's values are first read, or before another run needs the memory. A run that takes the
        result as a parameter for each vertex finds it on the GPU. An answer is lost if the GPU fails before.
    deterministic : bool
        Every run with the same arguments on the same device gives the same bits, also of floats. The run is
        synchronous, no processor pushes deltas of floats (`VertexProgram`), and a GPU sums with ``"segmented"`` and
        numbers vertices as the graph does.
    check : {"auto", "finite", "off"}
        When to look for NaN and infinity in the values, and in the total of `aggregate`. ``"auto"``: where it costs
        next to nothing, which is in the total after every iteration, and in the values before a checkpoint and at the
        end. ``"finite"``: in both after every iteration, so that the error names the iteration. This reads all values;
        a GPU does it in its own memory. ``"off"``: never. A field may have NaN if it has NaN at the start, and
        infinities if it has infinities at the start or the identity of `sum` is infinite.
    trace : path, optional
        Write a timeline to this JSON file, with a track for each CPU thread, stream and copy engine; ui.perfetto.dev
        opens it.
    checkpoint_every : int or str, optional
        Interval between checkpoints: a number of iterations, or a time such as ``"30s"``, ``"5min"`` or ``"1h"``. By
        default, checkpoints take at most 2 % of the run's time. ``"page"``, for asynchronous runs: a checkpoint after
        each iteration, and within it a log of what each page has changed.

    Raises
    ------
    ParameterError
        If an option has an invalid value, or two options contradict each other.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 2], [1, 2, 3])
    >>> gp.run(gp.apps.BFS(0), graph, options=gp.Options(mode="push", sync=True)).column("level")
    array([0, 1, 2, 3], dtype=int32)
    """

    engine: str | Policy = ANY
    mode: str = ANY
    sync: bool | None = None
    encoding: str = ANY
    page_edges: int | None = None
    gpu_memory: int | str | None = None
    streams: int = STREAMS
    gather: str = AUTO
    replication: int | str = CUSTOM
    gpu_order: str = ANY
    fetch: bool = True
    deterministic: bool = False
    check: str = ANY
    trace: str | os.PathLike[str] | None = None
    checkpoint_every: int | str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "engine", engine_name(self.engine))
        for name in FLAGS & vars(self).keys():  # some are in `RunOptions` only
            self._check_flag(name)
        for name in CHOICES.keys() & vars(self):  # `device` is in `RunOptions` only
            if getattr(self, name) not in CHOICES[name]:
                raise ParameterError(f"{name}={getattr(self, name)!r}: choose from {', '.join(CHOICES[name])}")
        if self.page_edges is not None:
            check_page_edges(self.page_edges)
        if not is_count(self.streams) or not 1 <= self.streams <= MAX_STREAMS:
            raise ParameterError(f"streams={self.streams!r}: give a whole number from 1 to {MAX_STREAMS}")
        factor = self.replication_factor
        if type(factor) not in (int, str) or factor not in (CUSTOM, CALIBRATED, *FACTORS):
            allowed = ", ".join(map(str, (CUSTOM, CALIBRATED, *FACTORS)))
            raise ParameterError(f"replication={self.replication!r}: choose from {allowed}")
        _ = self.gpu_bytes, self.checkpoint_interval
        if self.deterministic and self.sync is False:
            raise ParameterError("deterministic=True needs a synchronous run; leave sync=False out")
        if self.deterministic and self.gather == REPLICATED:
            raise ParameterError("deterministic=True needs gather='segmented': atomics add in no fixed order")
        if self.deterministic and self.gpu_order == HUB:
            raise ParameterError(
                "deterministic=True needs gpu_order='given': a GPU with another order adds in another order"
            )
        if self.mode not in (ANY, *self.policy.modes) and self.lists is None:
            raise ParameterError(
                f"mode={self.mode!r} is not in the paper; leave engine={self.engine!r} out, or choose another mode"
            )

    def _check_flag(self, name: str) -> None:
        """Refuse a value that is not True or False, and make one of NumPy Python's, which is compared with ``is``."""
        value = getattr(self, name)
        if isinstance(value, np.bool_):
            object.__setattr__(self, name, bool(value))  # the dataclass is frozen
        elif not (isinstance(value, bool) or (name == "sync" and value is None)):
            raise ParameterError(f"{name}={value!r}: give True or False")

    @cached_property
    def policy(self) -> Policy:
        """The rules of the engine."""
        assert isinstance(self.engine, str)
        return engine_of(self.engine)

    @cached_property
    def lists(self) -> ListPush | None:
        """How a GPU pushes along lists, if the engine does nothing else. Policies of users need not know of it."""
        return getattr(self.policy, "lists", None)

    @property
    def forced_mode(self) -> str | None:
        """The mode of every iteration; None if the engine chooses it."""
        return None if self.mode == ANY else self.mode

    @property
    def gpu_bytes(self) -> int | None:
        """`gpu_memory` in bytes."""
        return None if self.gpu_memory is None else parse_bytes(self.gpu_memory, "gpu_memory")

    @property
    def replication_factor(self) -> int | str:
        """`replication`, with a factor as an int: the command line passes it as text."""
        return int(self.replication) if str(self.replication).isdecimal() else self.replication

    @property
    def checkpoint_interval(self) -> Every:
        """`checkpoint_every`, parsed."""
        return parse_every(self.checkpoint_every)

    def encoding_of(self, graph: Graph) -> str:
        """The encoding of the edges in a run on `graph`: ``"raw"`` or ``"packed"``."""
        return graph.encoding if self.encoding == ANY else self.encoding


Options.__init__ = explained(Options.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """All options of a run: `Options`, and those that `run` takes as arguments, whose docstring describes them.

    The constructor checks what can be checked without a program and a graph; `check_run_options` checks the rest.
    """

    iterations: int | None = None
    device: str = ANY
    gpus: int | str | Sequence[int] | None = None
    threads: int | None = None
    verify: bool = False
    debug: bool = False
    report: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_count(self.iterations) and self.iterations is not None:
            raise ParameterError(f"iterations={self.iterations!r}: give a whole number, 0 or more")
        check_threads(self.threads)
        self._check_gpus()
        if self.deterministic and self.device == HYBRID:
            raise ParameterError(
                "deterministic=True: timing decides which processor takes a page; leave device='hybrid' out"
            )
        self._check_engine()
        if self.device in (GPU, HYBRID) and self.mode in CPU_MODES and self.lists is None:
            raise ParameterError(
                f"mode={self.mode!r} is for the CPU only; leave out mode, so that the run chooses its modes, or leave "
                f"out device={self.device!r}"
            )
        if self.checkpoint is None and (self.resume or self.checkpoint_every is not None):
            given = "resume=True" if self.resume else f"checkpoint_every={self.checkpoint_every!r}"
            raise ParameterError(f"{given} needs checkpoint=DIR (--checkpoint DIR)")
        self._check_debug()

    def _check_gpus(self) -> None:
        """Refuse `gpus` that name no GPU, or that the other options do not use."""
        asked = self.asked_gpus
        several = not is_one(asked)
        refused = {
            "device": asked is not None and self.device == CPU, "engine": several and self.lists is not None,
        }  # fmt: skip
        for name in (name for name, is_refused in refused.items() if is_refused):
            raise ParameterError(
                f"gpus={self.gpus!r}: {name}={getattr(self, name)!r} uses {'no' if name == 'device' else 'one'} GPU; "
                "leave one of the two out"
            )

    @property
    def asked_gpus(self) -> Asked:
        """`gpus`: how many, which, ``"all"``, or None; the command line passes text.

        Raises
        ------
        ParameterError
        """
        return parse_gpus(self.gpus)

    def _check_engine(self) -> None:
        """Refuse what an engine for GPUs alone cannot do."""
        if self.lists is None:
            return
        if self.device not in (ANY, GPU):
            raise ParameterError(
                f"engine={self.engine!r} is for a GPU alone; leave device={self.device!r} out, or use engine='auto'"
            )
        if self.encoding == PACKED:
            raise ParameterError(f"engine={self.engine!r} reads raw edge lists; leave encoding='packed' out")
        if self.mode not in (ANY, PUSH):
            raise ParameterError(f"engine={self.engine!r} only pushes; leave mode={self.mode!r} out")
        for name in WITHOUT_LISTS:
            if getattr(self, name) != getattr(Options, name):
                given = f"{name}={getattr(self, name)!r}"
                raise ParameterError(f"{given} has no effect with engine={self.engine!r}; leave it out")

    def _check_debug(self) -> None:
        """Refuse options that `debug` cannot follow."""
        if not self.debug:
            return
        cannot = {
            "engine": self.lists is not None, "device": self.device in (GPU, HYBRID), "gpus": self.gpus is not None,
            "mode": self.mode not in (ANY, PULL), "sync": self.sync is False,
            "checkpoint": self.checkpoint is not None, "trace": self.trace is not None,
            "report": self.report is not None,
        }  # fmt: skip
        for name in (name for name, is_set in cannot.items() if is_set):
            raise ParameterError(
                f"debug=True runs the program in plain Python; leave {name}={getattr(self, name)!r} out"
            )

    @property
    def needs_gpu(self) -> bool:
        """Whether the run fails if no GPU can be used, instead of using the CPU."""
        return self.device in (GPU, HYBRID) or self.lists is not None


def check_run_options(options: RunOptions, bound: BoundProgram, graph: Graph) -> None:
    """Refuse options that do not suit the program or the graph.

    Raises
    ------
    ParameterError
    GraphError
        If the mode is pull-tiled, and the tiles do not fit in the memory that the graph was opened with.
    """
    if options.device == GPU and not is_one(options.asked_gpus) and graph.on_disk:
        raise ParameterError(
            f"gpus={options.gpus!r}: the edges of this graph stay on disk, and one GPU is as fast as the disk; "
            "leave gpus out, or open the graph with more memory (memory, --memory)"
        )
    check_lists(options, bound, graph)
    check_gather(options, bound, graph)
    check_offsets(options, bound, graph)
    check_order(options, bound, graph)
    mode = options.mode
    if mode == PUSH and bound.pushes_deltas and not pushes_deltas(bound, options):
        raise ParameterError(
            f"mode='push': {bound.name} pushes what changes add to sums, in no fixed order, and in synchronous runs "
            "only; leave out deterministic=True and sync=False, or choose another mode"
        )
    if mode == PUSH and not (bound.is_relaxation or bound.pushes_deltas or bound.columns_relax):
        raise ParameterError(
            f"mode='push': {bound.name} cannot push; that requires {RELAXES}; or sum = gp.add with a function delta, "
            "and no done, prepare or aggregate; choose another mode"
        )
    if mode in CPU_MODES and bound.reads_edge_values and not graph._arrays.has_valued_out_edges:
        if graph.on_disk:
            problem = "this directed graph was saved without those of its out-edges; import it again, open it with"
        else:
            problem = "those of this directed graph's out-edges do not fit its memory; allow"
        raise ParameterError(
            f"mode={mode!r}: {bound.name} reads edge values, and {problem} more memory (memory, --memory), or choose "
            "another mode"
        )
    if mode == COMPONENTS and not bound.sums_components:
        raise ParameterError(
            f"mode='components': {bound.name} does not sum over connected components; that requires an undirected "
            "graph, an idempotent sum (min, max, bitwise and, or) of one integer per vertex, a gather that returns "
            "src, and no other function but init, frontier and result; choose another mode"
        )
    if mode == PULL_TILED:
        if options.sync is False or not bound.tiles:
            raise ParameterError(
                f"mode='pull-tiled' is for synchronous runs of programs without done, prepare and dst; {bound.name} is "
                "not one, or the run is asynchronous; choose another mode"
            )
        check_tiles(bound, graph)


def check_lists(options: RunOptions, bound: BoundProgram, graph: Graph) -> None:
    """Refuse a program or a graph with which an engine that pushes along edge lists cannot work."""
    if options.lists is None:
        return
    what = f"engine={options.engine!r}"
    if not (bound.is_relaxation or pushes_deltas(bound, options)):
        raise ParameterError(
            f"{what}: {bound.name} cannot push; that requires {RELAXES}; or sum = gp.add with a function delta (in "
            "runs that are not deterministic), and no done, prepare or aggregate; use engine='auto' or engine='garaph'"
        )
    if graph.on_disk:
        raise ParameterError(
            f"{what} reads edge lists in memory, but those of this graph are on disk; open it with more memory "
            "(memory, --memory), or use engine='auto'"
        )
    if options.encoding_of(graph) == PACKED:
        raise ParameterError(f"{what} reads raw edge lists; use encoding='raw' (--encoding raw), or engine='auto'")


def pushes_deltas(bound: BoundProgram, options: RunOptions, on_gpu: bool = False) -> bool:
    """Whether active vertices may push deltas. In an asynchronous run they may on a GPU, if nothing limits the run."""
    may_mix = on_gpu and options.iterations is None and not options.checkpoint_interval.pages
    is_free = (options.sync is not False or may_mix) and (bound.accumulator.kind == "i" or not options.deterministic)
    return bound.pushes_deltas and is_free and PUSH in options.policy.modes and options.mode in (ANY, PUSH)


def finds_components(bound: BoundProgram, options: RunOptions) -> bool:
    """Whether the run finds connected components by union-find, in one iteration.

    It does if that gives the answer, and the options allow it.
    """
    return bound.sums_components and may_find_components(options)


def may_find_components(options: RunOptions) -> bool:
    """Whether a run may find components by union-find: the user asks neither for single supersteps nor for another
    mode."""
    is_free = options.mode == ANY and options.sync is None and options.iterations is None
    return COMPONENTS in options.policy.modes and (is_free or options.mode == COMPONENTS)


def gpu_may_push(bound: BoundProgram, options: RunOptions) -> bool:
    """Whether an iteration on a GPU may push."""
    may = bound.is_relaxation or pushes_deltas(bound, options, on_gpu=True)
    return may and PUSH in options.policy.modes and options.mode == ANY


def check_gather(options: RunOptions, bound: BoundProgram, graph: Graph) -> None:
    """Refuse a `gather` that does not work with the program's sums or the graph's edges."""
    if options.gather == REPLICATED and not can_replicate(bound):
        raise ParameterError(
            f"gather='replicated': no atomic operation can update the sums of {bound.name}, whose own monoid combines "
            f"{bound.accumulator.itemsize} bytes at once; choose gather='segmented'"
        )
    if options.gather in (REPLICATED, SEGMENTED) and options.encoding_of(graph) == PACKED:
        raise ParameterError(
            f"gather={options.gather!r} is for raw edges, and these are packed; use encoding='raw' (--encoding raw), "
            "or leave gather out"
        )


def check_offsets(options: RunOptions, bound: BoundProgram, graph: Graph) -> None:
    """Refuse a policy with 16-bit offsets in a run that could not use them on a GPU."""
    if options.device == CPU or not options.policy.offsets:
        return
    gather = options.policy.gather if options.gather == AUTO else options.gather
    problems = {
        "edges on disk have none": graph.on_disk,
        "packed edges have none; use encoding='raw' (--encoding raw)": options.encoding_of(graph) == PACKED,
        f"they are for gather='replicated', not for {gather!r}": gather != REPLICATED,
        "they are for gather='replicated', which is not deterministic": options.deterministic,
        f"no atomic operation can update the sums of {bound.name}": not can_replicate(bound),
        "replication='calibrated' would measure other shards": options.replication == CALIBRATED,
    }
    why = next((why for why, is_true in problems.items() if is_true), None)
    if why is not None:
        raise ParameterError(f"engine={options.engine!r} asks for offsets: {why}; or leave offsets out")


def check_order(options: RunOptions, bound: BoundProgram, graph: Graph) -> None:
    """Refuse ``gpu_order="hub"`` if the program, the graph or the gather does not allow it."""
    if options.gpu_order != HUB:
        return
    gather = options.policy.gather if options.gather == AUTO else options.gather
    if (why := refusal(bound, graph, options.encoding_of(graph), gather)) is not None:
        raise ParameterError(f"gpu_order='hub': {why}; leave gpu_order out")
