"""Estimates of the processors' speed, updated with the measured times of pages. Pure: callers measure the times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..executor.costs import EXPECTED
from ..executor.decision import Pages
from ..executor.modes import NOTIFY_PULL, PULL
from ..pages.layout import Page

WEIGHT = 0.5
"""Weight of the latest measurement in an estimate. A guess: of two measurements in a row, the first then counts a
quarter."""
MOST_TIMES = 4.0
"""One measurement may raise the estimated cost of an out-edge at most 4x: other processes may have delayed threads."""
LEAST_SECONDS = 5e-4
"""Smallest piece of work (s of CPU time) that is worth handing to the CPU: ten times what a page costs the GPU's thread
(docs/results/gpu.md, `bench_dispatch.py overhead`)."""
HANDING_SECONDS = 2e-3
"""Cost (s) per iteration of giving the CPU its own pages: two threads then share one Python interpreter, and the pool
once took 2 ms to wake up (docs/results/gpu.md, "CPU and GPU on one job")."""
SHARING_SECONDS = 5e-3
"""The CPU must save at least this many seconds of an iteration's copies to be worth its overhead: the host hands out
pieces while the GPU's new values arrive (docs/results/gpu.md: below, sharing was no faster than the GPU alone)."""
FIRST_SECONDS = 1e-3
"""Size (s of CPU time) of a piece for the CPU until the speeds of the CPU and of copies have been measured. A
guess: small enough that an error of a few times delays nothing much."""
LEAST_NOTIFYING = 1 << 14
"""Minimum number of active out-edges for dividing the pages of a notify-pull iteration, and for an iteration of the CPU
alone to update the cost of an out-edge."""
LEAST_SHARE = 0.12
"""Smallest share of the edges at which the CPU helps: CPU and copies compete for the host's memory, and copies are
about 5 % slower meanwhile (docs/results/gpu.md)."""


class Speeds(NamedTuple):
    """The speeds of a machine's hardware, measured before a run (`runtime.speeds`).

    Attributes
    ----------
    cpu, gpu : float
        Edges per second that all threads of the CPU together, and the GPU, gather from their memories.
    link : float
        Bytes per second that are copied to the GPU.
    """

    cpu: float
    gpu: float
    link: float


class Rates(NamedTuple):
    """Estimated rates, in edges/s unless stated otherwise.

    Attributes
    ----------
    edges, streamed : int
        Edges of the graph, and how many of them are copied to the GPU in every iteration.
    cpu, gpu : float
        Rates at which the CPU and the GPU pull.
    copied : float
        Rate of the GPU for pages whose edges are copied over the link.
    sparse : float
        Cost of an active vertex's out-edge when the CPU works alone, in units of one pulled edge; 2 in the paper.
    alone_seconds : float
        The shortest time (s) of an iteration of the CPU alone, initially `Costs.cpu_start`.
    alone_before : bool
        The CPU has already done a push or notify-pull iteration alone.
    cpu_known, copied_known : bool
        The rate has been measured.
    notified : float
        Rate at which the CPU gathers for notified vertices; 0 if not yet measured.
    from_disk : bool
        The copied edges come from disk. Either processor waits for the disk, so one of them is as fast as both.
    reactive : bool
        An idle processor takes the next page, and costs are the paper's (Garaph section 5.1), not measured ones.
    by_f : bool
        T_pull / T_GPU is the paper's t_cpu / (f t_gpu), from iterations in which both processors work (section 5.1).
    f : float
        If so, the share of the vertices that the iteration updates.
    """

    edges: int
    streamed: int
    cpu: float
    gpu: float
    copied: float
    sparse: float = 2.0
    alone_seconds: float = EXPECTED.cpu_start
    alone_before: bool = False
    cpu_known: bool = False
    copied_known: bool = False
    notified: float = 0.0
    from_disk: bool = False
    reactive: bool = False
    by_f: bool = False
    f: float = 1.0

    @classmethod
    def expected(cls, threads: int, edges: int, streamed: int, width: float, reactive: bool) -> Rates:
        """Initial rates; `streamed` of the `edges` are copied in every iteration, at `width` bytes per edge."""
        copied = EXPECTED.link / width
        seconds = (0.0 if reactive else EXPECTED.gpu_start) + edges / EXPECTED.gpu + streamed / copied
        gpu = max(edges, 1) / max(seconds, 1e-9)
        return cls(edges, streamed, EXPECTED.cpu * threads, gpu, copied, reactive=reactive)

    def on(self, speeds: Speeds, width: float) -> Rates:
        """Initial rates of hardware with these speeds; copied edges have `width` bytes."""
        copied = speeds.link / width
        seconds = self.edges / speeds.gpu + self.streamed / copied
        return self._replace(cpu=speeds.cpu, gpu=max(self.edges, 1) / max(seconds, 1e-9), copied=copied)

    def at(self, f: float) -> Rates:
        """The rates in an iteration that updates a share `f` of the vertices."""
        return self._replace(f=f) if self.by_f else self

    @property
    def ratio(self) -> float:
        """T_pull / T_GPU."""
        return self.gpu / self.cpu

    @property
    def seen(self) -> dict[str, Any]:
        """The costs that `observation.Observation` records in addition to `ratio`."""
        if self.reactive:
            return {}
        start = self.alone_seconds * self.cpu / max(self.edges, 1)
        return {
            "sparse": self.sparse, "vertex": EXPECTED.vertex, "start": start, "from_disk": self.from_disk,
            "cpu_helps": self.cpu_helps,
        }  # fmt: skip

    def moving(self, nbytes: int) -> float:
        """Time to copy this many bytes over the link, in units of the time that the GPU takes to pull all pages."""
        return 0.0 if self.reactive else nbytes / EXPECTED.link * self.gpu / max(self.edges, 1)

    def measured(
        self, cpu_edges: int = 0, cpu_seconds: float = 0.0, gpu_edges: int = 0, gpu_seconds: float = 0.0,
        copied_edges: int = 0,
    ) -> Rates:  # fmt: skip
        """The rates updated with the measured times of pages; `copied_edges` of the `gpu_edges` were copied.

        The GPU's measurement does not count if it copied more than the streamed edges: it also made pages resident.
        """
        known = self
        if cpu_edges and cpu_seconds:
            cpu = blend(self.cpu, cpu_edges, cpu_seconds, WEIGHT if self.cpu_known else 1.0)
            known = known._replace(cpu=cpu, cpu_known=True)
        if gpu_edges and gpu_seconds and copied_edges <= self.streamed:
            known = known._replace(gpu=blend(self.gpu, gpu_edges, gpu_seconds))
            if copied_edges:
                known = known._replace(copied=blend(self.copied, copied_edges, gpu_seconds), copied_known=True)
        return known

    @property
    def cpu_helps(self) -> bool:
        """Whether the CPU should take some of the pages that every iteration copies."""
        share = self.cpu / (self.cpu + self.copied)
        return not self.from_disk and share >= LEAST_SHARE and share * self.streamed / self.copied >= SHARING_SECONDS

    def without_gpu(self, mode: str, active: int, active_edges: int, edges: int, seconds: float) -> Rates:
        """The rates updated after an iteration of the CPU alone, in which it gathered or pushed along `edges` edges."""
        if self.by_f:
            return self
        if mode == PULL:
            return self.measured(edges, seconds)
        known = self.gathered(edges, seconds) if mode == NOTIFY_PULL else self
        return known.alone(active_edges + EXPECTED.vertex * active, seconds)

    def paged(self, edges: int, gathered: int, seconds: float) -> Rates:
        """The rates updated after the CPU processed a page beside the GPU, and gathered this many of the page's
        `edges`.

        For the time of a pull, the paper takes the page's time divided by f (Garaph section 5.1).
        """
        return self.measured(round(edges * self.f) if self.by_f else gathered, seconds)

    def alone(self, counted: float, seconds: float) -> Rates:
        """The rates updated after a push or notify-pull iteration of the CPU alone.

        `counted` is the work of the active vertices and their out-edges, in out-edges. The first such iteration does
        not count: threads still have to wake up, and memory is touched for the first time.
        """
        if not self.alone_before:
            return self._replace(alone_before=True)
        if counted < LEAST_NOTIFYING:
            return self if seconds >= self.alone_seconds else self._replace(alone_seconds=seconds)
        sparse = max(seconds - self.alone_seconds, 0) * self.cpu / counted
        sparse = min(sparse, MOST_TIMES * max(self.sparse, 1.0))
        return self._replace(sparse=(1 - WEIGHT) * self.sparse + WEIGHT * sparse)

    def share(self, waiting: int) -> int:
        """How many of `waiting` edges, still to be copied, the CPU should process to finish together with the GPU.

        Returns 0 if the hand-over would cost more than it saves.
        """
        share = int(waiting * self.cpu / (self.cpu + self.copied))
        if not (self.cpu_known and self.copied_known):
            share = min(share, int(2 * FIRST_SECONDS * self.cpu))  # the CPU takes half of its share at a time
        return share if share >= LEAST_SECONDS * self.cpu else 0

    def steal(self, waiting: Pages) -> Page | None:
        """Take the next page, or a part of one, for the CPU; None if none is left or it is not worth it."""
        most = None if self.reactive else self.share(waiting.edges)
        return None if most == 0 else waiting.steal(most)

    def gathered(self, edges: int, seconds: float) -> Rates:
        """The rates updated after the CPU gathered `edges` edges for notified vertices; too few edges do not count."""
        if edges < EXPECTED.cpu_start * self.cpu:
            return self
        return self._replace(notified=blend(self.notified, edges, seconds, WEIGHT if self.notified else 1.0))

    def worth_dividing(self, active_edges: int) -> bool:
        """Whether `divide` may pay off in a notify-pull iteration whose frontier has `active_edges` out-edges."""
        return not (self.reactive or self.from_disk) and active_edges >= LEAST_NOTIFYING

    def divide(
        self, pages: Iterable[Page], notified: Iterable[int], stays: Callable[[Page], bool], value_bytes: int
    ) -> list[Page]:
        """The pages that the GPU pulls, while the CPU gathers for the notified vertices of all other pages.

        The pages are sorted by the CPU's time over the GPU's time, largest first. The GPU takes the prefix that
        minimizes the time until both have finished; often it is empty.

        Parameters
        ----------
        pages : iterable of Page
        notified : iterable of int
            For each page, the in-edges of its notified vertices.
        stays : callable
            ``stays(page)``: whether a page is in the GPU's memory.
        value_bytes : int
            Bytes of vertex values to be copied to the GPU first.
        """
        here = EXPECTED.gpu if self.streamed else self.gpu
        left, taken, best = 0.0, EXPECTED.gpu_start + HANDING_SECONDS + value_bytes / EXPECTED.link, 0
        costs = list[tuple[float, float, Page]]()
        for page, edges in zip(pages, notified, strict=True):
            costs.append(
                (edges / (self.notified or self.cpu), page.edges / (here if stays(page) else self.copied), page)
            )
            left += costs[-1][0]
        costs.sort(key=lambda cost: (-cost[0] / cost[1] if cost[1] else 0.0, cost[2].number))
        least = left
        for k, (own, theirs, _) in enumerate(costs, 1):
            left, taken = left - own, taken + theirs
            if max(left, taken) < least:
                least, best = max(left, taken), k
        return sorted((page for *_, page in costs[:best]), key=lambda page: page.number)


def blend(before: float, amount: float, time: float, weight: float = WEIGHT) -> float:
    """The weighted mean of a rate and a new measurement, which is ignored if its amount or time is 0."""
    return (1 - weight) * before + weight * amount / time if amount and time else before
