"""What a processor and its link are expected to take, until a run has measured it: one record for all who decide.

A GPU that works alone uses it by way of `executor.gpu.push_cost`, and a hybrid run by `dispatch.rates` and
`dispatch.policy`. Each corrects what it measures: `dispatch.push_cost.PushCost` the times of pulls and of pushes, and
`dispatch.rates.Rates` the rates of both processors and of copies.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..codec.arrays import RAW


@dataclass(frozen=True)
class Costs:
    """The costs of one machine. The defaults are those of an H200 and of the cores beside it.

    Attributes
    ----------
    cpu : float
        Edges/s that one thread of the CPU pulls.
    gpu : float
        Edges/s that the GPU pulls from its memory: PageRank over R-MAT 24, H200 (docs/results/gpu.md).
    push : float
        Edges/s that the GPU pushes from its memory, in relation to `gpu`: a push took as long as a pull at f = 0.44
        (docs/results/gpu.md, "A pushed edge").
    push_cached : float
        The same where the vertices' values stay in the GPU's cache: SSSP and SSWP were fastest with pushes up to about
        f = 0.8 (in the same place).
    cache : int
        Bytes of values that do: the L2 cache of an H100 or H200.
    push_from_disk : float
        An active vertex's edge in a push of a GPU that works alone along lists on disk, in units of an edge of a pull
        from disk: so it pushes along up to 1/15 of the edges, as the CPU does. With more, nearly all sectors have lists
        of active vertices (docs/results/ssd.md: a push from 185,269 of 4 M vertices read as much as a pull).
    push_start : float
        Fixed time of a push in a hybrid run, in units of the time of a pull: 0.2 to 0.3 of 6 ms (same graph).
    link : float
        Bytes/s of copies to the GPU (docs/results/gpu.md).
    far : float
        Bytes/s of edges that a push reads in host memory, if a tenth of the vertices is active: half of what the link
        moves, because their lists are short (docs/results/engines.md).
    far_long : float
        The same, if the edges are raw and a vertex has `long_list` of them or more on the average (docs/results/gpu.md,
        "Billions of edges in 11 GiB").
    far_long_f : float
        The largest share of active edges for which `far_long` is expected: that of the push with which it was measured.
    long_list : int
        Edges of an average vertex from which on `far_long` holds: a guess between 32, which came at the rate `far`, and
        128, with which `far_long` was measured.
    sectors : float
        Bytes/s of the sectors of 32 bytes that kernels read in host memory (docs/results/engines.md).
    listed_vertex, listed_edge : float
        Seconds in which a thread of the CPU writes an active vertex's list to an edge list, and each of its edges:
        HyTGraph's compaction of 0.9 M lists of an edge in 3.8 ms, and of long ones at 34 GB/s, 4 bytes an edge, each on
        16 threads (docs/results/engines.md).
    vertex : float
        An active vertex on the CPU, in units of one of its out-edges (docs/results/gpu.md).
    cpu_start : float
        Upper bound on the fixed seconds of an iteration of the CPU; shorter measurements do not update the rate of
        edges.
    gpu_start : float
        Fixed seconds of an iteration of the GPU: an iteration over ten edges (docs/results/gpu.md).
    """

    cpu: float = 1.5e8
    gpu: float = 1e11
    push: float = 4.4e10
    push_cached: float = 8e10
    cache: int = 50_000_000
    push_from_disk: float = 15.0
    push_start: float = 0.05
    link: float = 5e10
    far: float = 2.5e10
    far_long: float = 5.1e10
    far_long_f: float = 0.39
    long_list: int = 100
    sectors: float = 4.8e10
    listed_vertex: float = 6.6e-8
    listed_edge: float = 1.9e-9
    vertex: float = 3.0
    cpu_start: float = 1e-4
    gpu_start: float = 2e-4

    @property
    def push_edge(self) -> float:
        """An active vertex's edge in a push of a GPU that has all edges, in units of a pulled edge."""
        return self.gpu / self.push

    def far_rate(self, edges: int, vertices: int, encoding: str) -> float:
        """Bytes/s of edges that a push reads in host memory, where `vertices` have `edges` in all."""
        return self.far_long if encoding == RAW and edges >= self.long_list * vertices else self.far

    def push_cost(self, *seconds: tuple[float, float, float]) -> float:
        """A push's edge in units of a pulled edge, from what pulls and pushes take (`seconds_of`); if several GPUs have
        parts of the edges, from what each takes for its own, because all wait for the slowest.

        The faster rate counts only up to the largest share of active edges for which it was measured.
        """
        pull, push, sooner = map(max, zip(*seconds, strict=True))
        return min(push, max(sooner, pull / self.far_long_f)) / pull if pull else self.push_edge

    def seconds_of(  # wide: what a pull and a push take
        self, edges: int, values: int, streamed: float, far: float, far_rate: float, deltas: bool = False
    ) -> tuple[float, float, float]:  # fmt: skip
        """The time of a GPU's pull of all edges, for which so many bytes are streamed, and of a push along all of them,
        which reads `far` bytes of lists in host memory: at the rate `far`, and at `far_rate`.

        Along lists in the GPU's memory, it pushes faster if the bytes of the `values` that change stay in the cache,
        but not if it pushes `deltas`: each of them changes a sum, while few edges change a minimum (R-MAT 22 on an
        H200, with all values in the cache: 37 to 46 G edges/s; docs/results/gpu.md).
        """
        push = edges / (self.push_cached if values <= self.cache and not deltas else self.push)
        return edges / self.gpu + streamed / self.link, push + far / self.far, push + far / far_rate


EXPECTED = Costs()
