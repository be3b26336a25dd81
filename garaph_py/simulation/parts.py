"""Simulated runs of a graph in parts, on the machines of a cluster. (Several GPUs of one host: `gpus`.)

Each part has equally many edges, its own vertices, and copies of other parts' vertices from which its edges lead
(mirrors). In an iteration every part computes, as one machine does in `simulate`, and gets the new values of its
mirrors over its link while it computes; then all parts agree on what comes next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ParameterError
from ..experiment import toml
from ..runtime.options import FINITE, RunOptions
from .assess import extrapolations
from .machine import Machine
from .mirrors import rmat_mirrors
from .simulate import simulate
from .workload import Activity, Workload, even_offsets, scaled

POSITION_BYTES = 4
"""Bytes that say which mirror a value is for, if only changed values are sent."""
COMPUTING, LINK, LATENCY = "computing", "link", "latency"
"""The possible bottlenecks of an iteration."""
KEYS = ("count", "bandwidth", "latency", "message", "mirrors")
RMAT = "rmat"
"""Mirrors as in an R-MAT graph of this size."""


@dataclass(frozen=True)
class Network:
    """The links between parts. All parts send and receive at the same time.

    Attributes
    ----------
    bandwidth : float
        Bytes per second that a part receives, and sends.
    latency : float
        Seconds between the end of the last part's iteration and the beginning of the next one, without the messages.
    message : float
        Seconds that a message takes its sender, whatever its size.
    """

    bandwidth: float
    latency: float
    message: float = 0.0

    def seconds(self, nbytes: float, messages: int) -> float:
        """Seconds for a part to send or to receive so many bytes in so many messages."""
        return nbytes / self.bandwidth + messages * self.message


@dataclass(frozen=True)
class Superstep:
    """An iteration of all parts.

    Attributes
    ----------
    active : int
        Vertices that were active before it.
    seconds : float
    computing, exchange : float
        Seconds of the work of one part, and of its messages; the longer one counts.
    received : float
        Bytes that each part receives.
    waits_for : {"computing", "link", "latency"}
    """

    active: int
    seconds: float
    computing: float
    exchange: float
    received: float
    waits_for: str


@dataclass(frozen=True)
class PartsRun:
    """A simulated run of a graph in parts.

    Attributes
    ----------
    parts : int
    mirrors : float
        Mirrors of each part.
    part_bytes : float
        Memory of each part: its edges, if they are in memory, and two values, an offset and a degree for each of its
        vertices and mirrors.
    supersteps : list of Superstep
    extrapolated : list of str
        What of the work was simulated beyond what was measured of the machine.
    """

    parts: int
    mirrors: float
    part_bytes: float
    supersteps: list[Superstep]
    extrapolated: list[str]

    @property
    def seconds(self) -> float:
        """Seconds of all iterations."""
        return sum(one.seconds for one in self.supersteps)

    def fits(self, machine: Machine) -> bool:
        """Whether a machine's memory holds a part."""
        return machine.host_memory is None or self.part_bytes <= machine.host_memory

    @property
    def waits_for(self) -> str:
        """What the run waits for most, by time."""
        waits: dict[str, float] = {}
        for one in self.supersteps:
            waits[one.waits_for] = waits.get(one.waits_for, 0.0) + one.seconds
        return max(waits, key=waits.__getitem__, default=COMPUTING)


@dataclass(frozen=True)
class Parts:
    """The ``[parts]`` table of a spec: the numbers of parts into which a graph is divided, and the network between
    them.

    Attributes
    ----------
    counts : tuple of int
        Each run is simulated with each of these numbers of parts.
    network : Network
    mirrors : callable
        ``mirrors(workload, parts)``: how many mirrors a part has.
    """

    counts: tuple[int, ...]
    network: Network
    mirrors: Callable[[Workload, int], float]


def simulate_parts(
    workload: Workload, machine: Machine, options: RunOptions, network: Network, parts: int, mirrors: float,
    gpu_memory: int | None = None,
) -> PartsRun:  # fmt: skip
    """Simulate `workload` on `parts` machines, each of which has an equal part with so many `mirrors`.

    Each may use `gpu_memory` bytes of its GPU's memory; by default all.

    Raises
    ------
    ParameterError, DeviceMemoryError
        As `simulate`, for one part on one machine.
    """
    part = part_of(workload, parts, mirrors)
    room = None if gpu_memory is None else gpu_memory - part.fixed
    played = simulate(part, machine, replace(options, check=FINITE), room)  # parts do one superstep at a time
    supersteps = [
        superstep(workload, activity, one.seconds, network, parts, mirrors)
        for activity, one in zip(workload.activities, played.iterations, strict=True)
    ]
    per_vertex = 2 * workload.traits.value_bytes + 2 * 8
    edges = 0.0 if workload.on_disks else part.edges * workload.edge_bytes
    part_bytes = edges + part.vertices * per_vertex
    return PartsRun(parts, mirrors, part_bytes, supersteps, extrapolations(machine, part, played, options.policy))


def part_of(workload: Workload, parts: int, mirrors: float) -> Workload:
    """The workload of one part: an equal share of the edges, of which active vertices have an equal share."""
    edges, vertices = math.ceil(workload.edges / parts), math.ceil(workload.vertices / parts + mirrors)
    whole = workload.shape
    shape = replace(whole, lists=math.ceil(whole.lists / parts), turns=math.ceil(whole.turns / parts))
    return replace(
        workload, vertices=vertices, edges=edges, offsets=even_offsets(vertices, edges), kernels=None,
        activities=tuple(scaled(workload.activities, 1 / parts, 1 / parts)), known_shape=shape,
    )  # fmt: skip


def superstep(
    workload: Workload, activity: Activity, computing: float, network: Network, parts: int, mirrors: float
) -> Superstep:
    """An iteration that takes each part so many seconds of `computing`, with its messages.

    The same share of the mirrors as of all vertices changes. A part sends all values in order, or the changed ones with
    their positions, whichever is less.
    """
    value = workload.traits.value_bytes
    changed = mirrors * min(activity.active / max(workload.vertices, 1), 1.0)
    received = min(mirrors * value, changed * (value + POSITION_BYTES)) if parts > 1 else 0.0
    exchange = network.seconds(received, parts - 1)
    latency = network.latency if parts > 1 else 0.0
    longest = max(((computing, COMPUTING), (exchange, LINK), (latency, LATENCY)))
    return Superstep(activity.active, max(computing, exchange) + latency, computing, exchange, received, longest[1])


def parts_of(document: dict[str, Any]) -> Parts | None:
    """The ``[parts]`` table of a spec; None if it has none."""
    given, where = toml.table(document, "parts"), "parts: "
    if not given:
        return None
    toml.known(given, KEYS, where)
    counts = toml.counts(given, "parts", where)
    network = Network(
        toml.positive(given, "bandwidth", where),
        toml.amount(given, "latency", where),
        toml.amount(given, "message", where),
    )
    return Parts(counts, network, mirrors_of(given.get("mirrors", RMAT), counts, where))


def mirrors_of(given: Any, counts: tuple[int, ...], where: str) -> Callable[[Workload, int], float]:
    """What the key ``mirrors`` says: a rule, or for each number of parts the mirrors of a part over all vertices."""
    if given == RMAT:
        return lambda workload, parts: rmat_mirrors(workload.vertices, workload.edges, parts)
    if not isinstance(given, list) or len(given) != len(counts):
        raise ParameterError(
            f'{where}mirrors={given!r}: give "{RMAT}", or for each number in count the mirrors of a part, as a share '
            "of all vertices"
        )
    listed = [toml.number({"mirrors": one}, "mirrors", where, lambda one: 0 <= one <= 1, "a share") for one in given]
    shares = dict(zip(counts, listed, strict=True))
    return lambda workload, parts: workload.vertices * shares[parts]
