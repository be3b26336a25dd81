"""`Demand`: the work of an iteration of the CPU, or of a push of the GPU, as numbers from which its time is computed.

`machine.WorkCost` has the seconds for each of them; `calibrate` finds these, and `executor` adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..dispatch.policy import Policy
from ..executor import repeat
from ..executor.cpu.chain import LONGEST, MOST_EDGES, MOST_SUPERSTEPS
from ..executor.cpu.pull import PULL_ACTIVE_RATIO
from ..executor.cpu.runs import MIN_RUN_EDGES, RANDOM_ACCESS_EDGES
from ..executor.modes import NOTIFY_PULL, PULL, PUSH
from ..graph.shape import Shape
from ..pages.layout import Page
from .workload import Activity, Workload

CHAIN, PULL_ACTIVE, PUSH_FEW, PULL_AHEAD = "chain", "pull-active", "push-few", "pull-ahead"
"""Beside the directions, ways that have costs of their own: a superstep of several in one call (executor/cpu/chain.py,
executor/gpu/chain.py), a pull of the CPU from active vertices only (executor/cpu/pull_active.py), a superstep of
several in one kernel of the GPU, over a small frontier (kernels/push_few.cu), and a pull of the GPU that was launched
together with others (executor/gpu/pulls_ahead.py)."""


@dataclass(frozen=True)
class Demand:
    """The work of an iteration. Work that threads share is divided by their number.

    Attributes
    ----------
    mode : str
        A direction, `CHAIN` for a superstep of several in one call, `PUSH_FEW`, or `PULL_ACTIVE`.
    edges : int
        All visited edges, not divided.
    edge : float
        Edges that are gathered in a pull, or followed to notify or to push.
    near, far : float
        Those, and edges that notified vertices gather, that miss a small and a large cache (`graph.shape.Shape`), if
        lists are read in order. In a push of the GPU, `far` are the bytes that it reads in host memory.
    gathered, notified : float
        In notify-pull: edges that are gathered, and vertices that gather.
    fetched : float
        In a pull: edges for which the value of a source further on is prefetched, which are all or none.
    vertex : float
        Vertices whose lists are visited: in a pull those with in-edges, or that are not done; otherwise active ones.
    turn : float
        Vertices that gather, and have another number of edges than the one before.
    irregular : float
        In a chain: vertices whose list is not that of the vertex before with all ids one larger (`Shape.irregular`).
    activated : float
        Vertices that are activated, except by a plain pull, which has no branch for that; of programs in which a vertex
        changes once.
    mixed : float
        Gathered edges of a program whose gathers could end early, but do not; times p (1 - p), if a share p of all
        edges leads from reached vertices.
    alone : float
        In `PUSH_FEW`: the edges in host memory of a list of average length, which a warp of the GPU reads by itself.
    active : float
        In a pull of a relaxation: edges of active vertices, which may change values.
    graph : float
        All vertices: a pull passes over those without in-edges, too; in notify-pull and push, sets of them are kept.
    calls : int
        1 for the last superstep of a chain, the last iteration of a step, and any that is alone; 0 for the others.
    waited : int
        In a chain: waiting vertices that are looked at to open the next bucket.
    first : int
        1 if the CPU's previous iteration was in another mode, or there was none: threads wake up, and code and data are
        no longer in the caches. Iterations that a GPU has done or shared do not count. A chain has its `calls` instead.
        On a GPU: 1 if the run has done nothing in this mode before.
    graph_bytes : float
        Bytes of values, offsets, and edges, if active vertices take longer the more there are of these, as in pushes
        and chains; 0 if it is the vertex data that matters.
    """

    mode: str
    edges: int
    edge: float
    near: float
    far: float
    gathered: float = 0.0
    vertex: float = 0.0
    turn: float = 0.0
    active: float = 0.0
    graph: float = 0
    calls: int = 1
    notified: float = 0.0
    waited: int = 0
    first: int = 0
    fetched: float = 0.0
    irregular: float = 0.0
    activated: float = 0.0
    mixed: float = 0.0
    alone: float = 0.0
    graph_bytes: float = 0.0


def demand_of(workload: Workload, activity: Activity, mode: str, policy: Policy, cores: int, whole: int = 0) -> Demand:
    """The demand of an iteration in `mode` on this number of cores; a notify-pull gathers along `whole` edges of pages
    that it updates as a whole."""
    if mode == NOTIFY_PULL:
        return of_notify_pull(workload, activity, policy, cores, whole)
    if mode == PUSH:
        return of_push(workload, activity, PUSH, threads(activity.active_edges + activity.active, cores))
    return of_pull(workload, activity, mode, policy, cores)


def threads(work: float, cores: int) -> int:
    """The cores that share so many edges: a small number is not divided."""
    return cores if work > MIN_RUN_EDGES else 1


def changed(workload: Workload, activity: Activity) -> int:
    """The vertices that the iteration activates, of a program in which a vertex changes once; 0 of others.

    They are the vertices whose values change, for without edge values, a bucket has the vertices of one distance.
    """
    traits = workload.traits
    once = traits.ends_early or (traits.has_buckets and not traits.edge_value_bytes)
    return activity.activated if once else 0


def mixed(workload: Workload, activity: Activity) -> float:
    """How hard it is to predict whether an edge leads from a reached vertex: p (1 - p), if a share p of the edges does.

    Known for programs whose gathers could end early, as in them a vertex is active once only. Their `gather` has a
    branch on that.
    """
    reached = min((activity.reached_edges + activity.active_edges) / max(workload.edges, 1), 1.0)
    return reached * (1 - reached) if workload.traits.ends_early else 0.0


def of_push(workload: Workload, activity: Activity, mode: str, cores: int) -> Demand:
    """A push on so many cores, or with `CHAIN` a superstep of a chain that is not the last one."""
    shape, calls = workload.shape, int(mode != CHAIN)
    edges = activity.active_edges if activity.followed is None else activity.followed
    share, graph = edges / cores, workload.vertices * calls
    return Demand(
        mode, edges, share, share * shape.near, share * shape.far, vertex=activity.active / cores, graph=graph,
        calls=calls, waited=0 if calls else activity.waited,
        irregular=0.0 if calls else activity.active * shape.irregular,
        activated=changed(workload, activity) / cores, graph_bytes=workload.graph_bytes,
    )  # fmt: skip


def imbalance(shape: Shape, policy: Policy, cores: int) -> float:
    """How many times the mean the most lists of a core are: cores take the next piece of work, unless each has one
    partition, with equally many edges; then the one with the most lists ends last."""
    return shape.imbalance_of(cores) if policy.one_partition_per_thread else 1.0


def of_notify_pull(workload: Workload, activity: Activity, policy: Policy, cores: int, whole: int = 0) -> Demand:
    """Notifying, and gathering: lists of average length, of which an edge notifies at most one, and all lists of pages
    with `whole` edges."""
    shape, followed, edges = workload.shape, activity.active_edges, max(workload.edges, 1)
    notified, rest = workload.gathered(activity), 1 - whole / edges
    gathered = whole + round(notified * rest)
    share, sharing = followed / threads(RANDOM_ACCESS_EDGES * followed, cores), threads(gathered, cores)
    lists = min(shape.lists * notified / edges, followed) * rest + shape.lists * whole / edges
    lists *= imbalance(shape, policy, sharing) / sharing
    read = share + gathered / sharing
    return Demand(
        NOTIFY_PULL, followed + gathered, share, read * shape.near, read * shape.far, gathered / sharing,
        activity.active / cores, lists * shape.turns / max(shape.lists, 1), graph=workload.vertices, notified=lists,
        activated=changed(workload, activity) / sharing, mixed=gathered / sharing * mixed(workload, activity),
    )  # fmt: skip


def of_pull(workload: Workload, activity: Activity, mode: str, policy: Policy, cores: int) -> Demand:
    """A pull, by tiles or not. Of a relaxation, few active sources or the end of a gather make it visit less."""
    traits, shape, edges, lists = workload.traits, workload.shape, workload.edges, workload.shape.lists
    active = 0
    if traits.is_relaxation and not policy.every_edge:
        active = activity.active_edges
        one_may_end = traits.ends_early and not traits.ends_late
        if mode == PULL and (one_may_end or active * PULL_ACTIVE_RATIO < edges):
            mode = PULL_ACTIVE
        if traits.ends_early:
            lists = max(lists - activity.reached - activity.active, 0)  # active vertices are done, too
            edges = visited(workload, activity, lists)
    share, most = edges / cores, imbalance(shape, policy, cores) / cores
    reading = share
    if mode == PULL_ACTIVE:  # reads the values of active sources only; of others a bit
        reading = 0.0 if traits.ends_early else active / cores
    return Demand(
        mode, edges, share, reading * shape.near, reading * shape.far, vertex=lists * most,
        turn=shape.turns * lists / max(shape.lists, 1) * most, active=active / cores, graph=workload.vertices * most,
        fetched=share if mode == PULL and not workload.nearby else 0.0,
        activated=changed(workload, activity) / cores if mode == PULL_ACTIVE else 0.0,
        mixed=share * mixed(workload, activity) if mode == PULL else 0.0,
    )  # fmt: skip


def visited(workload: Workload, activity: Activity, lists: int) -> int:
    """The edges that a pull visits if it ends each of `lists` gathers at the first active source.

    If they were not recorded, any edge of a list of average length is taken to lead from one with the same chance; and
    a pull that ends late visits all edges.
    """
    if activity.visited is not None:
        return activity.visited
    if workload.traits.ends_late:
        return workload.edges
    chance = min(activity.active_edges / max(workload.edges, 1), 1.0)
    length = workload.edges / max(workload.shape.lists, 1)
    return round(lists * (min((1 - (1 - chance) ** length) / chance, length) if chance else length))


def of_gpu_search(workload: Workload, activity: Activity, share: float) -> Demand:
    """A pull of a GPU that ends gathers early, over a share of the edges, and of the vertices."""
    lists = max(workload.shape.lists - activity.reached - activity.active, 0)
    edges = visited(workload, activity, lists) * share
    return Demand(PULL_ACTIVE, round(edges), edges, 0.0, 0.0, vertex=lists * share, graph=workload.vertices * share)


def supersteps(activities: Sequence[Activity], most: int, seconds: Iterable[float]) -> int:
    """How many supersteps one compiled call does, if they take so long and `most` edges may lead from active vertices.

    0 if the first one has too many.
    """
    most = min(most, MOST_EDGES)
    if max(activities[0].active, activities[0].active_edges) > most:
        return 0
    taken, count = 0.0, 0
    for activity, each in zip(activities, seconds, strict=False):
        if count and (activity.active_edges > most or count == MOST_SUPERSTEPS or taken * 1e9 > LONGEST):
            break
        taken, count = taken + each, count + 1
    return count


def repeated(seconds: Iterable[float]) -> int:
    """How many iterations one step repeats (executor/repeat.py), if they take these `seconds`, in order."""
    taken, count = 0.0, 0
    for each in seconds:
        taken, count = taken + each, count + 1
        if taken >= repeat.LONGEST:
            break
    return count


def notified_vertices(workload: Workload, activity: Activity) -> float:
    """The expected number of vertices that random edges of the active ones notify."""
    lists = max(workload.shape.lists, 1)
    return -lists * math.expm1(-activity.active_edges / lists)


def expected_pages(pages: list[Page], notified: int) -> list[Page]:
    """Choose as many of `pages` as are expected to have a notified vertex, if `notified` random edges notify."""
    edges, due, chosen = sum(page.edges for page in pages), 0.5, []
    for page in pages:
        share = page.edges / max(edges, 1)
        due += 1.0 if share == 1 else -math.expm1(notified * math.log1p(-share))
        if due >= 1:
            chosen.append(page)
            due -= 1
    return chosen
