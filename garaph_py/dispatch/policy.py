"""Policies: the rules of an engine, as pure functions from an observation to a decision."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..errors import ParameterError
from ..events import Iteration
from ..executor.costs import EXPECTED
from ..executor.decision import Ahead, Decision
from ..executor.gpu.settings import ListPush
from ..executor.modes import BOTH, COMPONENTS, COPIED, CPU, GPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from .observation import Observation
from .push_cost import LEAST_EDGES
from .rates import Rates

AUTO_THRESHOLD = 1 / 50
"""Upper bound on f for notify-pull in the ``auto`` engine (measured: docs/results/cpu.md). The paper's 1/2 assumes that
notifying and pulling cost the same per edge; but a few active vertices notify mainly vertices with many in-edges."""
DELTAS_THRESHOLD = 1 / 10
"""Upper bound on f for a push of deltas on the CPU, in the ``auto`` engine: an edge costs 4 to 8 times as much as in a
pull (measured: docs/decisions/cpu.md)."""
PUSH_THRESHOLD = 1 / 15
"""Upper bound on f for push in the ``auto`` engine, for relaxations (alpha in Beamer et al., SC 2012)."""
PUSH_EDGE, LOOK = 5, 2
"""What an edge costs in a push, and what it costs a pull to look at a vertex, in units of an edge that a pull visits;
of programs whose pulls end late. 64 searches from R-MAT 20 and 22: a push took 7 to 11 ns an edge, a pull 1.6 to 2.3 an
edge and 4 a vertex (one thread; docs/results/many.md)."""
FEW_EDGES = 1 << 12
"""Out-edges of the active vertices up to which a CPU that works alone pushes whatever f is, in the ``auto`` engine, for
relaxations: one compiled call then does several supersteps, and Python takes 65 microseconds to begin each of them
otherwise (measured: docs/results/cpu.md)."""
DEVICE_PUSH_THRESHOLD = 1 / 50
"""Upper bound on f for a push on a GPU whose gathers end early, in the ``auto`` engine: such a pull of BFS took 0.5 ms,
a push at f = 0.0019 took 0.1 (H200). For others the bound is where a push costs as much as a pull."""
DEVICE_FEW_EDGES = 1 << 16
"""Out-edges of the active vertices up to which a GPU pushes whatever f is: one launch then does several supersteps,
each in 5 to 10 microseconds (H200; docs/results/gpu.md)."""
COMPACTION = "; the host lists the edges, because that is cheaper than reading them in host memory"
"""Suffix of the reason for a push along an edge list."""
REENTRY = "; with reentry: vertices of a page push again while it is in memory"
"""Suffix of the reason, in the record of a push with reentry."""
RELAXING_THRESHOLD = 1 / 1000
"""Upper bound on f for notify-pull in the ``auto`` engine, for relaxations on a processor that cannot push: a pull from
active vertices only skips most edges, while notified vertices gather from all their in-edges."""


class Policy:
    """The rules of an engine; the base class of your own.

    Before each iteration the scheduler observes, and asks the policy to `decide`. After it, the policy may `observe`
    what has happened, and keep what it learns. Its methods are pure: what they know is in their arguments, so that a
    recorded run can be replayed, and simulated on another machine.

    Attributes
    ----------
    name : str
        The engine's name, as users give it and records show it; by default the name of the class.
    modes : tuple of str
        Directions that the user may choose.
    chooses_asynchrony : bool
        A run to convergence is asynchronous if its answer does not depend on that and the user leaves `sync` open.
    one_partition_per_thread : bool
        The CPU cuts a page into one run of edges per thread (Garaph section 4.1).
    every_edge : bool
        A vertex that is updated gathers along all its in-edges, also from inactive vertices, and where `done` would end
        the gather.
    gather : str
        How a GPU sums if the user does not choose a gather.
    all_vertices : bool
        A GPU that sums in shared memory counts all vertices of a shard, not only those with in-edges.
    work_items : bool
        A GPU that sums in shared memory divides a shard of many edges among several blocks.
    keep : bool
        Edges that fit stay in the GPU's memory. If False, no edges stay: an engine that pulls copies all pages in every
        iteration, and with N streams a page is as large as fits in 1/N of that memory.
    offsets : bool
        A GPU that sums in shared memory gets the 16-bit offset of each edge's destination with the edge.
    two_threads : bool
        One thread transmits pages to a GPU, another launches their kernels. Otherwise one thread does both.
    transfer : str
        How edges that are not resident reach the GPU: a name in ``executor.gpu.transfer.TRANSFERS``.
    zero_copy : bool
        Where a run needs few of these edges, or all are few, the GPU reads them from host memory instead.
    lists : ListPush or None
        The engine works on a GPU only, where every iteration pushes along lists of out-edges in this way.
    hardware : bool
        The rates of a hybrid run begin with the speeds of this machine's hardware, which are measured before the run.
    sees_pages : bool
        Before each iteration the active vertices of each page are counted (`Observation.active_by_page`).
    chooses_transfers : bool
        The policy may decide for each page whether kernels read its edges in host memory or the run copies them
        (`PageDecision.transfer`). The run then has buffers for copies, and a GPU that can reach edges in host memory.

    Examples
    --------
    >>> class Patient(gp.Policy):
    ...     '''Pulls until an iteration has activated fewer vertices than the one before, and then pushes if it may.'''
    ...
    ...     def start(self):
    ...         return False, 0  # whether the frontier has shrunk, and how many were active
    ...
    ...     def decide(self, seen):
    ...         shrinks = seen.own[0] or seen.active < seen.own[1]
    ...         mode = "push" if shrinks and seen.is_relaxation and seen.pushes else "pull"
    ...         return gp.Decision(mode, "the frontier shrinks" if shrinks else "it grows", seen.device)
    ...
    ...     def observe(self, own, seen, decision, done):
    ...         return own[0] or seen.active < own[1], seen.active
    >>> graph = gp.rmat(10, directed=False)
    >>> search = gp.apps.BFS(source=graph.ids[graph.out_degrees.argmax()])
    >>> run = gp.run(search, graph, options=gp.Options(engine=Patient()))
    >>> [row.mode for row in run.stats.iterations][0]
    'pull'
    """

    name: ClassVar[str] = "Policy"
    modes: ClassVar[tuple[str, ...]] = (PULL, NOTIFY_PULL, PUSH, PULL_TILED, COMPONENTS)
    chooses_asynchrony: ClassVar[bool] = True
    one_partition_per_thread: ClassVar[bool] = False
    gather: ClassVar[str] = "auto"
    transfer: ClassVar[str] = COPIED
    zero_copy: ClassVar[bool] = True
    sees_pages: ClassVar[bool] = False
    chooses_transfers: ClassVar[bool] = False
    hardware: bool = False
    every_edge: bool = False
    all_vertices: bool = False
    work_items: bool = True
    keep: bool = True
    offsets: bool = False
    two_threads: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__

    @property
    def lists(self) -> ListPush | None:
        """See above."""
        return None

    def start(self) -> Any:
        """What the policy knows at the beginning of a run: the first `Observation.own`."""
        return None

    def decide(self, seen: Observation) -> Decision:
        """Decide how to do the iteration that begins now."""
        raise NotImplementedError

    def observe(self, own: Any, seen: Observation, decision: Decision, done: Iteration) -> Any:
        """What the policy knows after an iteration, for the next `Observation.own`: a new object, or the same one.

        Parameters
        ----------
        own : object
            What it knew before.
        seen, decision
            The observation, and the decision on it.
        done : events.Iteration
            What happened: edges, seconds, bytes, pages by way.
        """
        return own

    def first_rates(self, threads: int, load: tuple[int, int, float]) -> Rates:
        """Initial rates, before any measurement, of a host with `threads` threads and a device with this `load`."""
        return Rates.expected(threads, *load, reactive=False)


@dataclass(frozen=True)
class _Rules(Policy):
    """The rules that both policies share: the mode that the user forces, and alpha."""

    def decide(self, seen: Observation) -> Decision:
        """If alpha >= 1 (Garaph section 5.1), both processors pull; otherwise one works alone, as `alone` decides.

        If alpha >= 1 but the CPU would not help, the GPU pulls alone. If f is so small that the GPU may push, the GPU
        pushes alone, and alpha is that of the push; with edges on disk, alpha is 1, so that the processor with the
        values pushes: both wait for the disk. One processor finds components. If `alone` decides for notify-pull, the
        executor may still divide the pages once the notified vertices are known (`Rates.divide`). If only one
        processor has the values, the run stays there until that has cost it as much time as copying them.
        """
        forced = seen.forced_mode
        if forced == PUSH and seen.deltas and not seen.has_sums:
            return make_sums(seen)
        solo = self.alone(seen) if forced is None else Decision(forced, "as asked", seen.device)
        if seen.ratio is None:
            return solo
        gpu_pushes = would_push_on_device(seen)
        waits_for_disk = gpu_pushes and seen.from_disk
        alpha = 1.0 if waits_for_disk else alpha_of(seen, solo.mode, seen.ratio) / device_time(seen)
        stays = saving(seen, alpha) + seen.missed < abs(seen.moving)
        on_gpu = seen.moving > 0 if stays and (alpha < 1) == (seen.moving > 0) else alpha >= 1
        if solo.mode == COMPONENTS:
            return solo._replace(device=GPU if on_gpu else CPU, alpha=alpha)
        if on_gpu and gpu_pushes:
            why = f"alpha = {alpha:.3g}, and f = {seen.f:.3g} is small"
            return Decision(PUSH, why, GPU, alpha, ahead=ahead_of(seen))
        if on_gpu and seen.forced_mode in (None, PULL):
            why = f"alpha = {alpha:.3g} >= 1" if alpha >= 1 else f"alpha = {alpha:.3g} < 1, but the GPU has the values"
            if takes_help(seen) and alpha >= 1:
                return self.together(solo, why)._replace(device=BOTH, alpha=alpha)
            why = f"{why}, the CPU would not help" if alpha >= 1 else why
            return Decision(PULL, why, GPU, alpha, ahead=ahead_of(seen))
        return solo._replace(alpha=alpha)

    def alone(self, seen: Observation) -> Decision:
        """The decision for one processor that works alone."""
        raise NotImplementedError

    def together(self, solo: Decision, why: str) -> Decision:
        """The decision for both processors if the CPU alone would do what `solo` says."""
        return Decision(PULL, why)


def alpha_of(seen: Observation, mode: str, ratio: float) -> float:
    """T_CPU / T_GPU (Garaph equation 3, with k for rho): below 1, a CPU that works alone in `mode` is faster."""
    if mode in (PULL, PULL_TILED, COMPONENTS):
        return ratio
    f = seen.f + seen.vertex * seen.active / max(seen.edges, 1)
    return min(seen.start + seen.sparse * f * seen.k, 1.0) * ratio


def would_push_on_device(seen: Observation) -> bool:
    """Whether the GPU pushes if it does the next iteration alone."""
    return seen.forced_mode is None and seen.device_pushes and suits_device_push(seen)


def device_time(seen: Observation) -> float:
    """The time that the GPU takes for the next iteration, in units of the time in which it pulls all pages."""
    if not would_push_on_device(seen):
        return 1.0
    return min(EXPECTED.push_start + EXPECTED.push_edge * seen.f, 1.0)


def saving(seen: Observation, alpha: float) -> float:
    """What the faster processor saves in an iteration, in units of `device_time`, if T_CPU / T_GPU is `alpha`."""
    return abs(alpha - 1) * device_time(seen)


@dataclass(frozen=True)
class GaraphPolicy(_Rules):
    """Garaph's rules (sections 2.1 to 5.2). Each technique has a switch.

    Parameters
    ----------
    hardware : bool
        T_pull / T_GPU begins with the measured speeds of this machine (section 5.1). False: with those of one host.
    page_times : bool
        T_pull / T_GPU becomes t_cpu / (f t_gpu) (section 5.1). If False, or without `dual`, the ratio of the measured
        edges per second.
    dual : bool
        The CPU notifies beside the GPU, too, if f is small (section 5.1). If False, it pulls.
    every_edge : bool
        A vertex that is updated gathers along all its in-edges (sections 2.1 and 4.1). If False, a gather on the CPU,
        or over packed edges on the GPU, may end where `done` says so, and the CPU may pass over inactive vertices if
        their contributions are in the values already.
    all_vertices : bool
        Equation 2, and the room in shared memory, count all vertices of a shard (sections 2.1 and 3.2). If False, only
        those with in-edges, because only these need a sum.
    work_items : bool
        Beyond the paper: a shard of more than 32,768 edges is divided among several blocks. If False, a block has a
        whole shard (section 3.1).
    keep : bool
        Beyond the paper: pages that fit stay in the GPU's memory. If False, every iteration copies all pages, which are
        as large as fits 1/N_s of that memory (section 2.1).
    offsets : bool
        An edge comes to the GPU with the 16-bit offset of its destination in its shard (section 2.1). If False, the GPU
        finds the destination by a bit for each edge, which it makes itself.
    two_threads : bool
        One thread transmits pages to the GPU, another launches the kernels of pages that have arrived (section 5.2). If
        False, one thread does both.
    """

    hardware: bool = True
    page_times: bool = True
    dual: bool = True
    every_edge: bool = True
    all_vertices: bool = True
    work_items: bool = False
    keep: bool = False
    offsets: bool = False
    two_threads: bool = False

    name: ClassVar[str] = "garaph"
    modes: ClassVar[tuple[str, ...]] = (PULL, NOTIFY_PULL)
    chooses_asynchrony: ClassVar[bool] = False
    one_partition_per_thread: ClassVar[bool] = True
    gather: ClassVar[str] = "replicated"
    transfer: ClassVar[str] = COPIED
    zero_copy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_flags(self)

    def first_rates(self, threads: int, load: tuple[int, int, float]) -> Rates:
        """Rates with which an idle processor takes the next page, and with the paper's costs."""
        by_f = self.page_times and self.dual  # a CPU that pulls takes as long whatever f is
        return Rates.expected(threads, *load, reactive=True)._replace(by_f=by_f)

    def together(self, solo: Decision, why: str) -> Decision:
        """The GPU pulls, and the CPU does as section 4.2 says."""
        notifies = self.dual and solo.mode == NOTIFY_PULL
        return Decision(NOTIFY_PULL, f"{why}, and {solo.why}") if notifies else Decision(PULL, why)

    def alone(self, seen: Observation) -> Decision:
        """Notify-pull if f <= 1 / (2 k) (section 4.2); the GPU only pulls (section 2.2)."""
        if seen.updates_all_vertices:
            return Decision(PULL, "every vertex is to be updated", seen.device)
        if seen.device == GPU:
            return Decision(PULL, "the GPU only pulls (section 2.2)", seen.device)
        return by_threshold(seen, 1 / (2 * seen.k)) or Decision(PULL, above(seen, 1 / (2 * seen.k)), seen.device)


@dataclass(frozen=True)
class AutoPolicy(_Rules):
    """The rules that were fastest in measurements: the paper's two modes, push, tiles, and pages divided by cost.

    Its method `decide` chooses the processors, and asks `alone` what one that works alone does. To change one rule,
    derive a policy from this one.
    """

    name: ClassVar[str] = "auto"

    def decide(self, seen: Observation) -> Decision:
        """If every iteration pulls for all vertices on one processor, it may do all later ones by the same decision."""
        decision = super().decide(seen)
        is_same = seen.updates_all_vertices and seen.ratio is None and decision.mode in (PULL, PULL_TILED)
        if is_same and (seen.forced_mode is None or seen.device == CPU):
            return decision._replace(ahead=Ahead(0, pulls=True, repeats=True))
        return decision

    def alone(self, seen: Observation) -> Decision:
        """Union-find if it gives the answer; else push if a relaxation has a small f; else notify-pull if f is small;
        else pull, by tiles if possible."""
        if seen.components:
            return Decision(COMPONENTS, "each value is the sum over a connected component", seen.device)
        if seen.updates_all_vertices:
            return dense(seen, "every vertex is to be updated")
        if seen.is_relaxation and seen.pushes:
            if seen.in_buckets:
                return Decision(PUSH, "the vertices of the open bucket push", seen.device, ahead=ahead_of(seen))
            bound, ahead = device_push_bound(seen) if seen.device == GPU else push_bound(seen), ahead_of(seen)
            if seen.f <= bound or seen.only_pushes:
                why = f"f = {seen.f:.3g} <= {bound:.3g}" if seen.f <= bound else "values are not final"
                why += REENTRY * seen.reenters + COMPACTION * seen.compacts
                return Decision(PUSH, why, seen.device, ahead=ahead, reenters=seen.reenters, compacts=seen.compacts)
            if seen.ratio is None and ahead is not None and seen.active_edges <= ahead.push_edges:
                why = f"only {seen.active_edges} edges lead from active vertices"
                return Decision(PUSH, why, seen.device, ahead=ahead)
            return Decision(PULL, above(seen, bound), seen.device, ahead=ahead)
        most = even_f(seen) if seen.device == GPU else DELTAS_THRESHOLD / seen.k
        if seen.deltas and seen.f <= most:
            if seen.has_sums:
                why = f"f = {seen.f:.3g} <= {most:.3g}" + COMPACTION * seen.compacts
                return Decision(PUSH, why, seen.device, ahead=deltas_ahead(seen, most), compacts=seen.compacts)
            return make_sums(seen)
        if seen.device == GPU:
            bound = seen.notify_bound
        else:
            bound = RELAXING_THRESHOLD if seen.is_relaxation else AUTO_THRESHOLD
        return by_threshold(seen, bound / seen.k) or dense(seen, above(seen, bound / seen.k))


def make_sums(seen: Observation) -> Decision:
    """Decide for a pull that keeps the vertices' sums: the next iteration may push deltas to them."""
    return Decision(PULL, "it makes the sums that later iterations push to", seen.device, keeps_sums=True)


def push_bound(seen: Observation) -> float:
    """The f up to which a CPU pushes in a relaxation.

    A pull that ends late visits the edges of all vertices that are not done, many sources' searches at first nearly
    all, and at last nearly none. Other pulls end at the first active in-neighbour, or nobody knows how many they visit.
    """
    if seen.unfinished_edges is None:
        return PUSH_THRESHOLD
    return (seen.unfinished_edges + LOOK * seen.vertices) / (PUSH_EDGE * max(seen.edges, 1))


def device_push_bound(seen: Observation) -> float:
    """The f up to which a GPU pushes in a relaxation."""
    return DEVICE_PUSH_THRESHOLD if seen.device_pulls_end_early else even_f(seen)


def even_f(seen: Observation) -> float:
    """The f at which a push on a GPU costs as much as a pull."""
    return min(1 / seen.device_push_cost, 1.0)


def suits_device_push(seen: Observation) -> bool:
    """Whether a push on a GPU follows so few edges that a pull would take longer."""
    return seen.active_edges <= DEVICE_FEW_EDGES or seen.f <= device_push_bound(seen)


def takes_help(seen: Observation) -> bool:
    """Whether the CPU takes pages in iterations in which the GPU works.

    A GPU whose pulls end early reads some of the edges in the host's memory, faster than the CPU does: with room for
    5 % of R-MAT 23, a pull of BFS took 3.8 ms on an H100, and 9.7 on both (docs/results/gpus.md).
    """
    return seen.cpu_helps and not seen.device_pulls_end_early


def ahead_of(seen: Observation) -> Ahead | None:
    """How a processor may go on by the same rules after a push, or a pull, that it does alone; None if it may not."""
    can_push = seen.pushes if seen.ratio is None else seen.device_pushes
    if seen.device == CPU and seen.ratio is None:
        goes_on = seen.is_relaxation and can_push and seen.forced_mode is None and not seen.reenters
        return Ahead(max(int(push_bound(seen) * seen.edges), FEW_EDGES), False, seen.step) if goes_on else None
    is_on_gpu = seen.device == GPU or seen.ratio is not None
    if not (seen.is_relaxation and can_push and is_on_gpu) or seen.forced_mode is not None or seen.compacts:
        return None
    most = max(int(device_push_bound(seen) * seen.edges), DEVICE_FEW_EDGES)
    if seen.least_compacted <= most:  # what has more edges is decided on with the number of active vertices
        return Ahead(int(seen.least_compacted) - 1, False)
    return Ahead(most, seen.ratio is None or not takes_help(seen))


def deltas_ahead(seen: Observation, bound: float) -> Ahead | None:
    """How a GPU may go on after a push of deltas: it pushes while f is at most the `bound`, and the edges are so few
    that their time would not be measured. None if it may not go on."""
    most = int(min(bound * seen.edges, LEAST_EDGES - 1, seen.least_compacted - 1))
    goes_on = seen.device == GPU and not seen.compacts and seen.active_edges <= most
    return Ahead(most, False) if goes_on else None


def by_threshold(seen: Observation, threshold: float) -> Decision | None:
    """Decide for notify-pull if f does not exceed the threshold; else None."""
    if seen.f <= threshold:
        return Decision(NOTIFY_PULL, f"f = {seen.f:.3g} <= {threshold:.3g}", seen.device)
    return None


def above(seen: Observation, threshold: float) -> str:
    """The reason of a decision, for an f that exceeds the threshold."""
    return f"f = {seen.f:.3g} > {threshold:.3g}"


def dense(seen: Observation, why: str) -> Decision:
    """Decide for pull; by tiles if there are some and most edges lead from active vertices."""
    if seen.tiles and seen.f > 1 / 2:
        return Decision(PULL_TILED, f"{why}, and there are tiles", seen.device)
    return Decision(PULL, why, seen.device)


def notify_bound_after(bound: float, f: float, skipped: int, pages: int, edges: int) -> float:
    """The new bound on f for notify-pull on a GPU, after an iteration at `f` that skipped `skipped` of `pages` pages.

    f does not predict how many pages can be skipped: that depends on where the notified vertices are. So notify-pull is
    tried once. If it skipped fewer than half of the pages, it is tried again only when the active vertices have no more
    out-edges than there are pages; if that fails, too, the bound becomes 0.
    """
    least = pages / max(edges, 1)
    return bound if 2 * skipped >= pages else least if f > least else 0.0


def check_flags(engine: Any) -> None:
    """Refuse a switch that is neither True nor False."""
    for field in fields(engine):
        if isinstance(field.default, bool) and not isinstance(getattr(engine, field.name), bool):
            raise ParameterError(f"{engine.name}: {field.name}={getattr(engine, field.name)!r}: give True or False")


POLICIES: dict[str, Policy] = {policy.name: policy for policy in (AutoPolicy(), GaraphPolicy())}
"""Policies by the name of the engine."""
