"""How fast the processors are, as far as the pages say that they have processed; no clock in here."""

from __future__ import annotations

from dataclasses import dataclass, replace

CPU_RATE = 2.5e8
"""Edges a second that a thread pulls, before any was."""
GPU_RATE = 5e10
"""Edges a second of pages that stay on the GPU, likewise."""
LINK_RATE = 5e10
"""Bytes a second that come to it."""
WEIGHT = 0.5
"""Of the latest measurement."""


@dataclass(frozen=True)
class Rates:
    """Edges a second, in pull.

    Attributes
    ----------
    cpu, gpu : float
        Of each, whatever the other did.
    sparse : float
        Cost of an active vertex's out-edge where the CPU works alone, over `cpu`'s of an edge; 2 in the paper.
    taking, leaving : float
        Of iterations in which the CPU took pages, and in which it left all to the GPU; 0 before there was one.
    trials : int
        Iterations so far in which both might work.
    """

    cpu: float
    gpu: float
    sparse: float = 2.0
    taking: float = 0.0
    leaving: float = 0.0
    trials: int = 0

    @classmethod
    def expected(cls, threads: int, edges: int, streamed_bytes: float) -> Rates:
        """From the hardware, before anything was measured."""
        seconds = max(edges, 1) / GPU_RATE + streamed_bytes / LINK_RATE
        return cls(CPU_RATE * threads, max(edges, 1) / seconds)

    @property
    def ratio(self) -> float:
        """T_pull / T_GPU."""
        return self.gpu / self.cpu

    def measured(
        self, cpu_edges: int = 0, cpu_seconds: float = 0.0, gpu_edges: int = 0, gpu_seconds: float = 0.0
    ) -> Rates:
        """After pages that both have really processed."""
        cpu = blend(self.cpu, cpu_edges / cpu_seconds) if cpu_edges and cpu_seconds else self.cpu
        gpu = blend(self.gpu, gpu_edges / gpu_seconds) if gpu_edges and gpu_seconds else self.gpu
        return replace(self, cpu=cpu, gpu=gpu)

    @property
    def cpu_helps(self) -> bool:
        """Whether the CPU should take pages, tried once each way after a first iteration, which copies what stays.

        Where pages stream, both live on the host's memory: what the CPU reads the link may have to wait for.
        """
        return self.taking >= self.leaving if self.trials > 2 else self.trials < 2

    def tried(self, took: bool, edges: int, seconds: float) -> Rates:
        """After an iteration in which both might work, and the CPU `took` pages or not."""
        known = replace(self, trials=self.trials + 1)
        if not self.trials:
            return known
        rate = edges / seconds
        if took:
            return replace(known, taking=blend(self.taking, rate) if self.taking else rate)
        return replace(known, leaving=blend(self.leaving, rate) if self.leaving else rate)

    def alone(self, active_edges: int, seconds: float) -> Rates:
        """After an iteration of the CPU alone, in which the active vertices had so many out-edges."""
        if not active_edges:
            return self
        return replace(self, sparse=blend(self.sparse, seconds * self.cpu / active_edges))

    def worth_taking(self, page_edges: int, waiting_edges: int) -> bool:
        """Whether the CPU, taking a page of `page_edges`, ends before the GPU has done what waits behind it."""
        return page_edges / self.cpu <= waiting_edges / self.gpu


def blend(before: float, now: float) -> float:
    return (1 - WEIGHT) * before + WEIGHT * now
