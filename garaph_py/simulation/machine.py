"""The model of a machine: cores, GPU, link, disks, and the costs of work; read from and written to TOML."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ..dispatch.rates import Speeds
from ..errors import ParameterError
from ..executor.modes import BOTH, COMPONENTS, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..experiment import toml
from ..system.files import write_whole
from .demand import CHAIN, PULL_ACTIVE, PULL_AHEAD, PUSH_FEW, Demand
from .peers import Peers, peers_of, table_of

HINT = '"Simulation" in the documentation describes the format'
"""End of the error message for a missing file."""
ANY = "any"
"""The program name of an entry for all programs that have no entry of their own."""
CACHE_BYTES = 1 << 20
"""Size (bytes) of a core's own cache: smaller vertex data does not make an edge cheaper."""
KEYS = ("cores", "host_memory", "host_copy", "gpu_memory", "link", "gpus", "speeds", "disks", "work")
LINK_KEYS = ("to_device", "from_device", "beside_cpu", "copy", "unpinned")
SPEED_KEYS = ("cpu", "gpu")
DISK_KEYS = ("count", "sequential", "random")
WORK_KEYS = (
    "processor", "program", "mode", "engine", "sync", "values", "edge", "vertex", "near", "far", "gathered", "notified",
    "fetched", "turn", "irregular", "active", "activated", "mixed", "alone", "graph", "waited", "page", "iteration",
    "first", "call", "launch", "measured", "locality", "like", "beside_gpu",
)  # fmt: skip
UNPINNED_SHARE = 0.15
"""Share of `Link.to_device` that copies reach from memory that is not pinned, if that was not measured: 16 MiB in 2 ms,
and 55 GB/s, on a host with an H200 (`executor.gpu.staging`)."""
MODES = (PULL, PULL_ACTIVE, PULL_AHEAD, NOTIFY_PULL, PUSH, CHAIN, PUSH_FEW, PULL_TILED, COMPONENTS)
AMOUNTS = (
    "near", "fetched", "notified", "turn", "irregular", "active", "activated", "mixed", "alone", "graph", "waited",
    "first", "call",
)  # fmt: skip
"""The costs of the numbers in `demand.Demand`, each a number; a file leaves out those that are 0."""
LEFT_OUT = (*AMOUNTS, "launch", "beside_gpu")
"""What a file leaves out if it is 0 or false."""
GARAPH = "garaph"
"""The engine of costs for policies with one partition per thread, whose pulls gather along all edges."""


@dataclass(frozen=True)
class UnitCost:
    """Seconds per edge or vertex; they grow with the data that is accessed, as more accesses miss the caches.

    That is the vertex data or, for vertices in pushes and chains, all bytes of the graph (`Demand.graph_bytes`).

    Attributes
    ----------
    base : float
        Seconds with up to `CACHE_BYTES` of data.
    doubling : float
        Additional seconds for each doubling of the data beyond that.
    """

    base: float = 0.0
    doubling: float = 0.0

    def seconds(self, nbytes: float) -> float:
        """Seconds with `nbytes` bytes of data."""
        return self.base + self.doubling * doublings(nbytes)


def doublings(nbytes: float) -> float:
    """log2 of `nbytes` over `CACHE_BYTES`, at least 0."""
    return math.log2(max(nbytes / CACHE_BYTES, 1.0))


@dataclass(frozen=True)
class WorkCost:
    """The costs of an iteration on one processor, or the additional costs of sharing it between two.

    Attributes
    ----------
    processor : {"cpu", "gpu", "both"}
        The costs of ``"both"`` are added if CPU and GPU share an iteration: `iteration` once, `page` for each page, or
        part of one, that the CPU steals, and `launch` for each that the GPU's thread launches. In a pull of a GPU that
        works alone, `launch` counts for each page if some are not resident.
    program, mode : str
    edge : UnitCost
        Per visited edge; seconds of one core, or of the GPU.
    vertex : UnitCost
        Per vertex; seconds of one core, or of the GPU. Pull counts those with in-edges, notify-pull and push count the
        active ones. In a pull of the GPU, this is the time of an iteration beyond its pages.
    page, iteration : float
        Fixed seconds per page and per iteration.
    measured : tuple of float or None
        The least and the most vertex data (bytes) of the runs that the costs are fitted to; None if that is not known.
    engine : str
        ``"garaph"``: the costs of policies with one partition per thread; ``"any"``: of all others too.
    sync : bool or None
        Whether the costs are those of synchronous runs; None if of any.
    values : bool or None
        Whether they are those of runs that read edge values; None if of any.
    beside_gpu : bool
        Whether they are those of runs on both processors, in which the CPU has an iteration for itself.
    near, fetched, notified, turn, irregular, active, activated, mixed, alone, graph, waited, first, call : float
        Seconds for what `demand.Demand` counts under these names, in addition to edges and vertices; `call` for a
        chain's last superstep.
    far : UnitCost
        Likewise; with more vertex data, more of these lines are no longer in the last cache either. In a push of the
        GPU: per byte that it reads in host memory.
    gathered : float or None
        In notify-pull: seconds for an edge that is gathered; None if as much as `edge`.
    locality : tuple of float or None
        The least and the largest `near` of the graphs that the costs are fitted to; None if that is not known.
    like : str or None
        The program whose costs these are derived from; None if `program` was measured.
    """

    processor: str
    program: str
    mode: str
    edge: UnitCost = UnitCost()
    vertex: UnitCost = UnitCost()
    page: float = 0.0
    iteration: float = 0.0
    measured: tuple[float, float] | None = None
    engine: str = ANY
    sync: bool | None = None
    values: bool | None = None
    near: float = 0.0
    far: UnitCost = UnitCost()
    gathered: float | None = None
    fetched: float = 0.0
    turn: float = 0.0
    irregular: float = 0.0
    active: float = 0.0
    graph: float = 0.0
    call: float = 0.0
    launch: float = 0.0
    notified: float = 0.0
    waited: float = 0.0
    first: float = 0.0
    activated: float = 0.0
    mixed: float = 0.0
    alone: float = 0.0
    locality: tuple[float, float] | None = None
    like: str | None = None
    beside_gpu: bool = False

    def of(self, demand: Demand, vertex_data: float) -> float:
        """Seconds for an iteration of the CPU, or a push of the GPU, without `page`."""
        edge = self.edge.seconds(vertex_data)
        gathered = edge if self.gathered is None else self.gathered
        return (
            edge * demand.edge + gathered * demand.gathered
            + self.vertex.seconds(demand.graph_bytes or vertex_data) * demand.vertex
            + self.near * demand.near + self.far.seconds(vertex_data) * demand.far + self.fetched * demand.fetched
            + self.turn * demand.turn + self.irregular * demand.irregular
            + self.notified * demand.notified + self.active * demand.active + self.activated * demand.activated
            + self.mixed * demand.mixed + self.alone * demand.alone + self.graph * demand.graph
            + self.waited * demand.waited + self.first * demand.first + self.call * demand.calls + self.iteration
        )  # fmt: skip

    def seconds(self, edges: float, vertices: float, vertex_data: float) -> float:
        """Seconds of the GPU for the given numbers of edges and vertices, without `page` and `iteration`."""
        return self.edge.seconds(vertex_data) * edges + self.vertex.seconds(vertex_data) * vertices


@dataclass(frozen=True)
class Link:
    """The link between host and GPU. Copies in one direction do not slow those in the other.

    Attributes
    ----------
    to_device, from_device : float
        Bytes per second.
    beside_cpu : float
        Share of `to_device` that remains while the CPU pulls, since both read the host's memory.
    copy : float
        Seconds that each copy to the GPU takes beside its bytes.
    unpinned : float or None
        Bytes per second to the GPU from memory that is not pinned; None if that was not measured.
    """

    to_device: float
    from_device: float
    beside_cpu: float = 1.0
    copy: float = 0.0
    unpinned: float | None = None

    def rate(self, pinned: bool) -> float:
        """Bytes per second to the GPU, from memory that is pinned or not."""
        return self.to_device if pinned else self.unpinned or UNPINNED_SHARE * self.to_device


@dataclass(frozen=True)
class Disks:
    """Disks over which a graph is striped (Garaph section 2.2).

    Attributes
    ----------
    count : int
    sequential, random : float
        Bytes per second of each disk for sequential reads, and for reads of single vertices' lists.
    """

    count: int
    sequential: float
    random: float

    @property
    def rate(self) -> float:
        """Sequential bytes per second of all disks together."""
        return self.count * self.sequential

    @property
    def k(self) -> float:
        """Sequential over random read speed (section 4.2)."""
        return self.sequential / self.random


@dataclass(frozen=True)
class Machine:
    """The model of a machine.

    Attributes
    ----------
    cores : int
    work : tuple of WorkCost
    host_memory, gpu_memory : int or None
        Bytes. `host_memory` is None if it is unlimited, `gpu_memory` is None if there is no GPU.
    link : Link or None
    disks : Disks or None
    host_copy : float or None
        Bytes per second at which one host thread copies values; None if copying takes no time.
    speeds : Speeds or None
        What runs on both processors measure of the hardware before they begin (`runtime.speeds`); None if that is not
        known.
    peers : Peers or None
        What several such GPUs cost each other; None if that is not known: simulations take `TWO_H200S`.
    """

    cores: int
    work: tuple[WorkCost, ...]
    host_memory: int | None = None
    gpu_memory: int | None = None
    link: Link | None = None
    disks: Disks | None = None
    host_copy: float | None = None
    speeds: Speeds | None = None
    peers: Peers | None = None

    def copying(self, nbytes: float) -> float:
        """Seconds for one host thread to copy `nbytes` bytes of values."""
        return nbytes / self.host_copy if self.host_copy else 0.0

    def work_of(
        self, processor: str, program: str, *modes: str, engine: str = ANY, sync: bool | None = None,
        values: bool | None = None, beside_gpu: bool = False,
    ) -> WorkCost:  # fmt: skip
        """The costs of a program on a processor, in the first of `modes` that has an entry.

        An entry of the program takes precedence over an entry of any program. If none of `modes` has an entry, pull is
        tried, and then any other mode of the program. Of several entries, the one of this `engine` is taken, then
        the one for the same `values`, then the one for the same `sync`, and then the one for the same `beside_gpu`.

        Raises
        ------
        ParameterError
            If there is no such entry.
        """
        known: dict[tuple[str, str], list[WorkCost]] = {}
        for work in self.work:
            if work.processor == processor:
                known.setdefault((work.program, work.mode), []).append(work)
        own = [key for key in known if key[0] == program and key[1] != COMPONENTS]  # nothing else costs as union-find
        for key in (*((name, mode) for mode in (*modes, PULL) for name in (program, ANY)), *own):
            if key in known:
                return max(known[key], key=lambda work: (
                    work.engine == engine, work.engine == ANY, work.values == values, work.sync == sync,
                    work.beside_gpu == beside_gpu,
                ))  # fmt: skip
        raise ParameterError(
            f"the machine does not say what {program} costs on {processor}; add [[work]] for it, or calibrate the "
            f"machine with runs of {program}"
        )

    def has_costs(self, processor: str, program: str, *modes: str) -> bool:
        """Whether an entry says what the program, or any one, costs on the processor in one of these very modes."""
        own = [one for one in self.work if one.processor == processor and one.program in (program, ANY)]
        return any(one.mode in modes for one in own)

    def overhead(self, program: str, mode: str = PULL) -> WorkCost:
        """The additional costs of an iteration that CPU and GPU share; zero if the machine has no entry for it.

        An entry of this `mode` takes precedence, and then one of the program over one of any.
        """
        known = {(work.mode, work.program): work for work in self.work if work.processor == BOTH}
        keys = ((each, name) for each in (mode, PULL) for name in (program, ANY))
        return next((known[key] for key in keys if key in known), WorkCost(BOTH, ANY, PULL))


def read_machine(path: str | os.PathLike[str]) -> Machine:
    """Read the machine in the TOML file `path`.

    Raises
    ------
    FormatError
        If the file is missing or is not TOML.
    ParameterError
        If a key or a value is not allowed; the message names it.
    """
    return toml.read(path, lambda document, text, folder: machine_of(document), HINT)


def machine_of(document: dict[str, Any]) -> Machine:
    """The machine in a parsed TOML document."""
    toml.known(document, KEYS, "")
    link, speeds, disks = (toml.table(document, name) for name in ("link", "speeds", "disks"))
    toml.known(link, LINK_KEYS, "link: ")
    toml.known(speeds, SPEED_KEYS, "speeds: ")
    toml.known(disks, DISK_KEYS, "disks: ")
    gpu_memory = toml.size(document, "gpu_memory")
    if (gpu_memory is None) != (not link):
        raise ParameterError("a GPU needs both gpu_memory and [link]; add the one that is missing, or leave both out")
    if "gpus" in document and not link:
        raise ParameterError("[gpus] are the costs of several GPUs; add gpu_memory and [link], or leave them out")
    if speeds and not link:
        raise ParameterError("[speeds] are those of a machine with a GPU; add gpu_memory and [link], or leave them out")
    entries = toml.tables(document, "work")
    if not entries:
        raise ParameterError("the machine does no work; add [[work]] with processor, mode and edge")
    work = tuple(work_of(entry, f"work {number}: ") for number, entry in enumerate(entries, 1))
    return Machine(
        toml.count(document, "cores", 1),
        work,
        toml.size(document, "host_memory"),
        gpu_memory,
        Link(
            toml.positive(link, "to_device", "link: "),
            toml.positive(link, "from_device", "link: "),
            toml.share(link, "beside_cpu", 1.0, "link: "),
            toml.amount(link, "copy", "link: "),
            toml.positive(link, "unpinned", "link: ") if "unpinned" in link else None,
        ) if link else None,
        Disks(
            toml.count(disks, "count", 1, "disks: "),
            toml.positive(disks, "sequential", "disks: "),
            toml.positive(disks, "random", "disks: "),
        ) if disks else None,
        toml.positive(document, "host_copy", "") if "host_copy" in document else None,
        Speeds(
            toml.positive(speeds, "cpu", "speeds: "),
            toml.positive(speeds, "gpu", "speeds: "),
            toml.positive(link, "to_device", "link: "),
        ) if speeds else None,
        peers_of(toml.table(document, "gpus")),
    )  # fmt: skip


def work_of(entry: dict[str, Any], where: str) -> WorkCost:
    """The costs in one ``[[work]]`` entry; error messages begin with `where`."""
    toml.known(entry, WORK_KEYS, where)
    processor = toml.one_of(entry, "processor", (CPU, GPU, BOTH), where)
    units = {name: UnitCost(*toml.pair(entry, name, where)) for name in ("edge", "vertex", "far")}
    amounts = {name: toml.amount(entry, name, where) for name in (*AMOUNTS, "page", "launch", "iteration")}
    which = {name: toml.flag(entry, name, False) for name in ("sync", "values") if name in entry}
    given: dict[str, Any] = units | amounts | which
    if processor != BOTH and not any(amounts.values()) and not any(one != UnitCost() for one in units.values()):
        raise ParameterError(f"{where}takes no time; give edge = [seconds, more seconds per doubling of vertex data]")
    return WorkCost(
        processor,
        toml.string(entry, "program", where, ANY),
        toml.one_of(entry, "mode", MODES, where, PULL),
        measured=toml.bounds(entry, "measured", where),
        engine=toml.one_of(entry, "engine", (ANY, GARAPH), where, ANY),
        locality=toml.bounds(entry, "locality", where),
        gathered=toml.amount(entry, "gathered", where) if "gathered" in entry else None,
        like=toml.string(entry, "like", where) if "like" in entry else None,
        beside_gpu=toml.flag(entry, "beside_gpu", False),
        **given,
    )


def write_machine(machine: Machine, path: str | os.PathLike[str], comment: str = "") -> None:
    """Write a comment and a machine to the TOML file `path`, for `read_machine`."""
    text = machine_text(machine, comment)

    def write(file: IO[bytes]) -> None:
        file.write(text.encode())

    write_whole(Path(path), write)


def machine_text(machine: Machine, comment: str = "") -> str:
    """A comment and a machine as TOML."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    lines.append(f"cores = {machine.cores}")
    lines += [
        f"{name} = {size}" for name in ("host_memory", "host_copy", "gpu_memory") if (size := getattr(machine, name))
    ]
    for name in ("link", "disks"):
        if (part := getattr(machine, name)) is not None:
            known = {key: value for key, value in vars(part).items() if value is not None}
            lines += ["", f"[{name}]", *(f"{key} = {value!r}" for key, value in known.items())]
    if machine.peers is not None:
        lines += ["", "[gpus]", *(f"{key} = {json.dumps(value)}" for key, value in table_of(machine.peers).items())]
    if machine.speeds is not None:
        lines += ["", "[speeds]", *(f"{key} = {getattr(machine.speeds, key)!r}" for key in SPEED_KEYS)]
    for work in machine.work:
        lines += ["", "[[work]]"]
        for key, value in vars(work).items():
            if isinstance(value, UnitCost):
                lines.append(f"{key} = [{value.base!r}, {value.doubling!r}]")
            elif value is not None and (key not in LEFT_OUT or value):
                lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"
