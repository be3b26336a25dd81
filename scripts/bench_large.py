"""How large a graph fits a small GPU? Billions of edges, packed, within a budget of device memory.

    python scripts/bench_large.py --scale 25 --edge-factor 82 --gpu-memory 11GiB

A symmetric R-MAT graph, its vertices in degree order. `garaph_py.rmat` keeps all edges several times while it groups
them; here every edge is generated twice instead, first to count, then to where it belongs, so that 5.5 billion stored
edges need 22 GB and little more. Prints a Markdown table; `ms` is the median of all iterations but the first.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.graph.adjacency import Adjacency
from garaph_py.graph.generate import GOLDEN, RMAT_EDGES, check_probabilities, hash_keys
from garaph_py.graph.ids import VertexIds
from garaph_py.native import Kernel, PerCall, atomic_add
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from garaph_py.system.sizes import parse_bytes

CHUNK = 1 << 21
SMALL = 1 << 11
"""Lists up to so long are sorted by the kernel, longer ones by NumPy."""


def count(sources, targets, edges, degrees):
    for e in range(edges):
        atomic_add(degrees, sources[e], 1)
        if sources[e] != targets[e]:
            atomic_add(degrees, targets[e], 1)
    return 0


def place(sources, targets, edges, ranks, cursors, neighbours):
    for e in range(edges):
        u, v = ranks[sources[e]], ranks[targets[e]]
        neighbours[atomic_add(cursors, v, 1)] = u
        if u != v:
            neighbours[atomic_add(cursors, u, 1)] = v
    return 0


def sort_small(offsets, neighbours, first, last, small):
    """Shell sort of every list of at most `small` elements."""
    for v in range(first, last):
        begin, end = offsets[v], offsets[v + 1]
        if end - begin > small:
            continue
        gap = 1
        while gap < (end - begin) // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for e in range(begin + gap, end):
                element, k = neighbours[e], e
                while k >= begin + gap and neighbours[k - gap] > element:
                    neighbours[k] = neighbours[k - gap]
                    k -= gap
                neighbours[k] = element
            gap //= 3
    return 0


COUNT = Kernel("u32* u32* i64 i64*", count)
PLACE = Kernel("u32* u32* i64 u32* i64* u32*", place)
SORT_SMALL = Kernel("i64* u32* i64 i64 i64", sort_small)


def each_chunk(scale: int, m: int, pool: ThreadPool, work: Callable[[Any, Any, Any], Any]) -> None:
    """``work(sources, targets, counts)`` makes the calls for a chunk of edges a thread, over all edges.

    A thread's chunk is generated as edges 0 on, by a key that is further on by `GOLDEN` an edge.
    """
    keys, to = hash_keys(1), check_probabilities(0.57, 0.19, 0.19)
    sources, targets = np.empty((2, pool.size, CHUNK), np.uint32)
    for first in range(0, m, CHUNK * pool.size):
        counts = np.clip(m - first - CHUNK * np.arange(pool.size), 0, CHUNK)
        keys_of = np.tile(keys, (pool.size, 1))
        keys_of[:, 0] += (np.uint64(first) + np.uint64(CHUNK) * np.arange(pool.size, dtype=np.uint64)) * GOLDEN
        pool.launch(
            RMAT_EDGES.rows(
                pool.size, 0, counts, scale, PerCall(keys_of), *to, True, PerCall(sources), PerCall(targets)
            )
        )
        pool.launch(work(PerCall(sources), PerCall(targets), counts))


def symmetric_rmat(scale: int, edge_factor: int, pool: ThreadPool) -> gp.Graph:
    """`garaph_py.rmat(scale, edge_factor, directed=False)` in degree order."""
    n, m, threads = 1 << scale, edge_factor << scale, pool.size
    degrees = np.zeros(n, np.int64)
    each_chunk(scale, m, pool, lambda s, t, counts: COUNT.rows(threads, s, t, counts, degrees))
    order = np.argsort(-degrees, kind="stable")
    ranks = np.empty(n, np.uint32)
    ranks[order] = np.arange(n, dtype=np.uint32)
    offsets = np.concatenate([[0], np.cumsum(degrees[order])])
    cursors, neighbours = offsets[:-1].copy(), np.empty(int(offsets[-1]), np.uint32)
    each_chunk(scale, m, pool, lambda s, t, counts: PLACE.rows(threads, s, t, counts, ranks, cursors, neighbours))
    large = int(np.searchsorted(-degrees[order], -SMALL))
    pool.run(lambda k: sort_large(neighbours, offsets, range(k, large, threads)), [(k,) for k in range(threads)])
    bounds = np.searchsorted(offsets, np.linspace(0, offsets[-1], 64 * threads + 1).astype(np.int64))
    bounds[0], bounds[-1] = 0, n
    pool.launch(SORT_SMALL.rows(len(bounds) - 1, offsets, neighbours, bounds[:-1], bounds[1:], SMALL))
    edges = Adjacency(offsets, neighbours)
    return gp.Graph(edges, edges, False, VertexIds(n))


def sort_large(neighbours: Any, offsets: Any, vertices: range) -> None:
    for v in vertices:
        neighbours[offsets[v] : offsets[v + 1]].sort()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=25)
    parser.add_argument("--edge-factor", type=int, default=82)
    parser.add_argument("--gpu-memory", default="11GiB")
    options = parser.parse_args()
    started = time.perf_counter()
    with ThreadPool() as pool:
        graph = symmetric_rmat(options.scale, options.edge_factor, pool)
    print(f"{graph!r}, made in {time.perf_counter() - started:.0f} s\n")
    print("| program | bytes an edge | edges that stay | GPU memory | iterations | ms | GE/s | whole run, s |")
    print("|---|---|---|---|---|---|---|---|")
    for program, iterations in (
        (gp.apps.PageRank(dtype=np.float32, stop="never"), 10),
        (gp.apps.BFS(0), None),
        (gp.apps.ConnectedComponents(), None),
    ):
        run(graph, program, iterations, options.gpu_memory)


def run(graph: gp.Graph, program: gp.VertexProgram, iterations: int | None, memory: str) -> None:
    settings = Settings(parse_bytes(memory, "--gpu-memory"), gather="packed")
    with GpuExecutor(bind(program, graph), graph, devices.find(), settings) as kernel:
        kernel.initialize(True)
        here = kernel.residency.pages[: kernel.residency.resident]
        stays, used = sum(page.edges for page in here) / graph.m, kernel.residency.used
        width = kernel.edges.arrays.width
    started = time.perf_counter()
    result = gp.run(program, graph, iterations=iterations, device="gpu", gpu_memory=memory, gather="packed")
    whole = time.perf_counter() - started
    rows = result.stats.iterations
    middle = statistics.median(row.seconds for row in rows[1:])
    print(
        f"| {type(program).__name__} | {width:.2f} | {stays:.0%} | {used / 2**30:.2f} GiB | {len(rows)} | "
        f"{middle * 1e3:.1f} | {graph.m / middle / 1e9:.1f} | {whole:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
