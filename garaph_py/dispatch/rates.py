"""How fast the processors are, as far as the pages say that they have processed; no clock in here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..executor.modes import NOTIFY_PULL, PULL
from ..executor.protocol import Pages
from ..pages.layout import Page

CPU_RATE = 1.5e8
"""Edges a second that a thread pulls, before any was."""
GPU_RATE = 5e10
"""Edges a second of pages that stay on the GPU, likewise."""
LINK_RATE = 5e10
"""Bytes a second that come to it."""
GPU_START = 3e-4
"""Seconds of an iteration on the GPU in which there is nothing to do."""
CPU_START = 1e-4
"""Of one on the CPU, at most: what takes no longer than that says nothing about edges."""
WEIGHT = 0.5
"""Of the latest measurement."""
MOST_TIMES = 4.0
"""As many times what was believed of an out-edge's cost may a measurement say: threads may have been held up."""
LEAST_SECONDS = 5e-4
"""Of work that is worth handing to the CPU."""
HANDING_SECONDS = 2e-3
"""What it costs an iteration that the CPU has pages of its own: two threads share one Python."""
SHARING_SECONDS = 5e-3
"""The least of an iteration's copies that is worth the CPU's taking them: it hands pieces out, and the GPU's pages land
beside it (docs/results/gpu.md: with less, both took as long as the GPU alone, or longer)."""
FIRST_SECONDS = 1e-3
"""Of the work that the CPU is handed at a time, while nobody knows how fast it is or copies are."""
LEAST_NOTIFYING = 1 << 14
"""Out-edges of active vertices from which on it is worth a look at the pages in which they notify, and from which on
iterations of the CPU alone say what such an edge costs."""
VERTEX_EDGES = 3.0
"""As many out-edges cost as much as an active vertex does (docs/results/gpu.md)."""
LEAST_SHARE = 0.12
"""Of the edges, from which on the CPU helps: both live on the host's memory, and copies are some 5 % slower meanwhile
(docs/results/gpu.md)."""


class Rates(NamedTuple):
    """Edges a second, in pull.

    Attributes
    ----------
    edges, streamed : int
        Of the graph, and of them those that every iteration copies to the GPU.
    cpu, gpu : float
        Of each, whatever the other did.
    copied : float
        Of the GPU's pages that come over the link.
    sparse : float
        Cost of an active vertex's out-edge where the CPU works alone, over `cpu`'s of an edge; 2 in the paper.
    alone_seconds : float
        The least that an iteration of the CPU alone took.
    alone_before : bool
        There was one.
    cpu_known, copied_known : bool
        These were measured.
    notified : float
        Edges a second that the CPU gathers for notified vertices; 0 before it did.
    reactive : bool
        Whoever is free takes the next page, and costs are as the paper has them (Garaph section 5.1), not as measured.
    """

    edges: int
    streamed: int
    cpu: float
    gpu: float
    copied: float
    sparse: float = 2.0
    alone_seconds: float = CPU_START
    alone_before: bool = False
    cpu_known: bool = False
    copied_known: bool = False
    notified: float = 0.0
    reactive: bool = False

    @classmethod
    def expected(cls, threads: int, edges: int, streamed: int, width: float, reactive: bool) -> Rates:
        """From the hardware, before anything was measured: of `edges`, so many are `streamed`, of `width` bytes."""
        copied = LINK_RATE / width
        seconds = (0.0 if reactive else GPU_START) + edges / GPU_RATE + streamed / copied
        gpu = max(edges, 1) / max(seconds, 1e-9)
        return cls(edges, streamed, CPU_RATE * threads, gpu, copied, reactive=reactive)

    @property
    def ratio(self) -> float:
        """T_pull / T_GPU."""
        return self.gpu / self.cpu

    @property
    def seen(self) -> dict[str, Any]:
        """What `decide.Observation` says of them, beside the ratio."""
        if self.reactive:
            return {}
        start = self.alone_seconds * self.cpu / max(self.edges, 1)
        return {"sparse": self.sparse, "vertex": VERTEX_EDGES, "start": start, "cpu_helps": self.cpu_helps}

    def measured(
        self, cpu_edges: int = 0, cpu_seconds: float = 0.0, gpu_edges: int = 0, gpu_seconds: float = 0.0,
        copied_edges: int = 0,
    ) -> Rates:  # fmt: skip
        """After pages that both have really processed, the GPU so many edges and of them those copied.

        An iteration that copies what stays, or waits for it, says nothing about the others.
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
        """Whether the CPU should take pages, of those that every iteration copies."""
        share = self.cpu / (self.cpu + self.copied)
        return share >= LEAST_SHARE and share * self.streamed / self.copied >= SHARING_SECONDS

    def without_gpu(self, mode: str, active: int, active_edges: int, edges: int, seconds: float) -> Rates:
        """After an iteration of the CPU alone in this mode, in which it gathered or pushed along so many edges."""
        if mode == PULL:
            return self.measured(edges, seconds)
        known = self.gathered(edges, seconds) if mode == NOTIFY_PULL else self
        return known.alone(active_edges + VERTEX_EDGES * active, seconds)

    def alone(self, counted: float, seconds: float) -> Rates:
        """After an iteration of the CPU alone, in which active vertices and their out-edges count as so many edges.

        The first does not count: threads are asleep and memory is new.
        """
        if not self.alone_before:
            return self._replace(alone_before=True)
        if counted < LEAST_NOTIFYING:
            return self if seconds >= self.alone_seconds else self._replace(alone_seconds=seconds)
        sparse = max(seconds - self.alone_seconds, 0) * self.cpu / counted
        sparse = min(sparse, MOST_TIMES * max(self.sparse, 1.0))
        return self._replace(sparse=(1 - WEIGHT) * self.sparse + WEIGHT * sparse)

    def share(self, waiting: int) -> int:
        """Of so many edges that wait to be copied, those that the CPU has done when the GPU has done the others.

        None if so few that handing them over would cost more.
        """
        share = int(waiting * self.cpu / (self.cpu + self.copied))
        if not (self.cpu_known and self.copied_known):
            share = min(share, int(2 * FIRST_SECONDS * self.cpu))  # of which it takes half
        return share if share >= LEAST_SECONDS * self.cpu else 0

    def steal(self, waiting: Pages) -> Page | None:
        """The next page for the CPU, or part of one, if there is any and it is worth it."""
        most = None if self.reactive else self.share(waiting.edges)
        return None if most == 0 else waiting.steal(most)

    def gathered(self, edges: int, seconds: float) -> Rates:
        """After the CPU gathered so many edges for notified vertices: few say nothing about edges."""
        if edges < CPU_START * self.cpu:
            return self
        return self._replace(notified=blend(self.notified, edges, seconds, WEIGHT if self.notified else 1.0))

    def worth_dividing(self, active_edges: int) -> bool:
        """Whether it may be worth while to see who takes which page, once the CPU has notified along so many edges."""
        return not self.reactive and active_edges >= LEAST_NOTIFYING

    def divide(
        self, pages: Iterable[Page], notified: Iterable[int], stays: Callable[[Page], bool], value_bytes: int
    ) -> list[Page]:
        """The pages that the GPU pulls while the CPU gathers for the notified vertices of the others.

        Those that many are notified in, or that need not be copied, are the GPU's first, as long as both end sooner.

        Parameters
        ----------
        pages : iterable of Page
        notified : iterable of int
            In-edges of the notified vertices of each.
        stays : callable
            Whether a page is in the GPU's memory.
        value_bytes : int
            Of the values that have to be there.
        """
        here = GPU_RATE if self.streamed else self.gpu
        left, taken, best = 0.0, GPU_START + HANDING_SECONDS + value_bytes / LINK_RATE, 0
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
    """A rate after another measurement, if it is one."""
    return (1 - weight) * before + weight * amount / time if amount and time else before
