"""How fast the processors are, as far as the pages say that they have processed; no clock in here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..kernel import Pages
from ..pages.layout import Page

CPU_RATE = 2.5e8
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
LEAST_SECONDS = 5e-4
"""Of work that is worth handing to the CPU."""
HANDING_SECONDS = 2e-3
"""What it costs an iteration that the CPU takes pages: two threads share one Python."""
FIRST_SHARE = 0.3
"""Of the edges, from which on the CPU also takes pages that will stay, when they come: they have to come later then."""
PLAIN_SHARE = 0.15
"""Of the edges, from which on it is plain that the CPU helps, though both live on the host's memory: copies are some
5 % slower meanwhile (docs/results/gpu.md)."""


@dataclass(frozen=True)
class Rates:
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
    taking, leaving : float
        Of iterations in which the CPU took pages, and in which it left all to the GPU; 0 before there was one.
    took : bool or None
        Whether it did in the last of them.
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
    taking: float = 0.0
    leaving: float = 0.0
    took: bool | None = None
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
        return {"sparse": self.sparse, "start": start, "cpu_helps": self.cpu_helps}

    def measured(
        self, cpu_edges: int = 0, cpu_seconds: float = 0.0, gpu_edges: int = 0, gpu_seconds: float = 0.0,
        copied_edges: int = 0,
    ) -> Rates:  # fmt: skip
        """After pages that both have really processed, the GPU so many edges and of them those copied.

        An iteration that copies what stays says nothing about the others.
        """
        usual = copied_edges <= self.streamed
        return replace(
            self,
            cpu=blend(self.cpu, cpu_edges, cpu_seconds),
            gpu=blend(self.gpu, gpu_edges, gpu_seconds) if usual else self.gpu,
            copied=blend(self.copied, copied_edges, gpu_seconds),
        )

    @property
    def cpu_helps(self) -> bool:
        """Whether the CPU should take pages, of those that are copied; if that is not plain, tried both ways."""
        share = self.cpu / (self.cpu + self.copied)
        coming = self.edges if self.took is None and share >= FIRST_SHARE else self.streamed
        if share * coming / self.copied < HANDING_SECONDS:
            return False
        if share >= PLAIN_SHARE or not self.taking:
            return True
        return bool(self.leaving) and self.taking >= self.leaving

    def tried(self, took: bool, edges: int, seconds: float) -> Rates:
        """After an iteration in which both might work, and the CPU `took` pages or not.

        The first of either kind does not count: it finds other pages on the device than the next will.
        """
        known = replace(self, took=took)
        if took != self.took:
            return known
        if took:
            return replace(known, taking=blend(self.taking or edges / seconds, edges, seconds))
        return replace(known, leaving=blend(self.leaving or edges / seconds, edges, seconds))

    def alone(self, active_edges: int, seconds: float) -> Rates:
        """After an iteration of the CPU alone, in which the active vertices had so many out-edges.

        The first does not count: threads are asleep and memory is new.
        """
        if not self.alone_before:
            return replace(self, alone_before=True)
        if active_edges < CPU_START * self.cpu:
            return self if seconds >= self.alone_seconds else replace(self, alone_seconds=seconds)
        sparse = max(seconds - self.alone_seconds, 0) * self.cpu / active_edges
        return replace(self, sparse=(1 - WEIGHT) * self.sparse + WEIGHT * sparse)

    def share(self, waiting: int) -> int:
        """Of so many edges that wait to be copied, those that the CPU has done when the GPU has done the others.

        None if so few that handing them over would cost more.
        """
        share = int(waiting * self.cpu / (self.cpu + self.copied))
        return share if share >= LEAST_SECONDS * self.cpu else 0

    def steal(self, waiting: Pages) -> Page | None:
        """The next page for the CPU, or part of one, if there is any and it is worth it."""
        most = None if self.reactive else self.share(waiting.edges)
        return None if most == 0 else waiting.steal(most)


def blend(before: float, amount: float, time: float) -> float:
    """A rate after another measurement, if it is one."""
    return (1 - WEIGHT) * before + WEIGHT * amount / time if amount and time else before
