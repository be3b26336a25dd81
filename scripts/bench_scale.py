"""Are the answers over a graph far larger than memory right, and what do they take? Prints a Markdown table.

    garaph generate rmat big --scale 28 --edge-factor 34 --undirected --encoding packed --memory 8GiB
    python scripts/bench_scale.py big --memory 8GiB [--device gpu --gpu-memory 11GiB] [--answers /dev/shm]

The graph is undirected. PageRank (two iterations), ConnectedComponents, and BFS from the vertex with the most edges
each run in a process of its own, on the CPU by default; "peak" is the most memory of that process, Python included.
Then two passes over all edges check the answers, with all cores and code of their own:

- BFS: the source alone has level 0, no edge skips a level, and each other reached vertex has a neighbour one level
  below, which is its parent.
- ConnectedComponents: both ends of each edge have the same label, and each label is the least vertex that has it. The
  search shows that the largest component is connected; of the edges elsewhere, SciPy finds the components.
- PageRank: the formula, in double precision.

The checks take 40 bytes of memory for each vertex; the answers take 16 on the disk (or in the memory) of ``--answers``.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from graphs import hub
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import garaph_py as gp
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.memory import MemoryNeeds, pass_page_edges
from garaph_py.pages.passes import plain
from garaph_py.pages.provider import SourceFactory

Array = npt.NDArray[Any]
DAMPING = 0.85
PAGE_EDGES = 1 << 26
"""Most edges of a page of the checks."""
RANKS_DIFFER = 1e-3
"""How much a rank in single precision may differ from the one in double precision, relative to it."""


def programs(graph: gp.Graph) -> dict[str, tuple[gp.VertexProgram, int | None]]:
    """The programs, with the number of their iterations."""
    return {
        "PageRank": (gp.apps.PageRank(damping=DAMPING, stop="never", weighted=False, dtype=np.float32), 2),
        "ConnectedComponents": (gp.apps.ConnectedComponents(), None),
        "BFS": (gp.apps.BFS(source=hub(graph)), None),
    }


def one(path: str, name: str, memory: str, device: str, gpu_memory: str | None, answers: Path) -> None:
    """Run a program, keep its answer in `answers`, and print its figures in JSON."""
    graph = gp.open(path, memory=memory)
    program, iterations = programs(graph)[name]
    started = time.perf_counter()
    options = gp.Options(sync=name == "PageRank" or None, gpu_memory=gpu_memory)
    found = gp.run(program, graph, device=device, iterations=iterations, options=options)
    call = time.perf_counter() - started
    columns = found.values.dtype.names
    for column in columns or ["value"]:
        np.save(answers / f"{name}-{column}.npy", found.values[column] if columns else found.values)
    rows = [(row.mode, row.active, row.seconds, row.from_disk) for row in found.stats.iterations]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB
    print(json.dumps({"rows": rows, "call": call, "peak": peak / (1 << 20)}))


@numba.njit(parallel=True, nogil=True)
def check_levels(first, last, offsets, neighbours, level, parent, broken, has_parent):
    """Note whose edge skips a level, and who has its parent as a neighbour, of the vertices [first, last)."""
    for v in numba.prange(first, last):
        for at in range(offsets[v] - offsets[first], offsets[v + 1] - offsets[first]):
            u = neighbours[at]
            broken[v] |= (level[u] < 0) != (level[v] < 0) or abs(level[u] - level[v]) > 1
            has_parent[v] |= u == parent[v] and level[u] + 1 == level[v]


@numba.njit(parallel=True, nogil=True)
def check_labels(first, last, offsets, neighbours, label, broken):
    """Note who has a neighbour with another label, of the vertices [first, last)."""
    for v in numba.prange(first, last):
        for at in range(offsets[v] - offsets[first], offsets[v + 1] - offsets[first]):
            broken[v] |= label[neighbours[at]] != label[v]


@numba.njit(parallel=True, nogil=True)
def sum_lists(first, last, offsets, neighbours, rank, degree):
    """The sums of what the vertices [first, last) get from their neighbours."""
    sums = np.zeros(last - first)
    for v in numba.prange(first, last):
        gathered = 0.0
        for at in range(offsets[v] - offsets[first], offsets[v + 1] - offsets[first]):
            gathered += rank[neighbours[at]] / degree[neighbours[at]]
        sums[v - first] = gathered
    return sums


def pages_of(graph: gp.Graph) -> Iterator[tuple[int, int, Array]]:
    """The first vertex of each page, the end of its vertices, and the sources of their in-edges."""
    with ThreadPool() as pool, SourceFactory(graph, False) as sources:
        sources.divide(MemoryNeeds(0))
        source = sources.into(min(PAGE_EDGES, pass_page_edges(graph, sources.room)))
        for first, last, neighbours, _ in plain(source, graph._arrays.in_edges.offsets, pool, values=False):
            yield first, last, neighbours


def verify(graph: gp.Graph, answers: Path) -> dict[str, str]:
    """What is wrong with each answer, or "right"."""
    level, parent, label, given = (
        np.load(answers / f"{name}.npy", mmap_mode="r")
        for name in ("BFS-level", "BFS-parent", "ConnectedComponents-value", "PageRank-value")
    )
    level = level.astype(np.int8 if level.max() < 128 else np.int32)
    parent, label = (np.where(array < 0, graph.n, array).astype(np.uint32) for array in (parent, label))
    offsets, degree = graph._arrays.in_edges.offsets, graph.out_degrees.astype(np.float64)
    degree[degree == 0] = 1
    skips, splits, has_parent = (np.zeros(graph.n, bool) for _ in range(3))
    rank, ranks = np.full(graph.n, 1 / graph.n), np.empty(graph.n)
    giant, others = np.bincount(label, minlength=1).argmax(), []
    for first, last, neighbours in pages_of(graph):
        check_levels(first, last, offsets, neighbours, level, parent, skips, has_parent)
        check_labels(first, last, offsets, neighbours, label, splits)
        ranks[first:last] = sum_lists(first, last, offsets, neighbours, rank, degree)
        others.append(edges_outside(giant, first, last, offsets, neighbours, label))
    rank = iterate(graph, rank, ranks)
    for first, last, neighbours in pages_of(graph):
        ranks[first:last] = sum_lists(first, last, offsets, neighbours, rank, degree)
    rank = iterate(graph, rank, ranks)
    return {
        "PageRank": judge(np.abs(given / rank - 1).max() < RANKS_DIFFER),
        "ConnectedComponents": judge(
            not splits.any() and are_components(graph.n, label, np.concatenate(others), level)
        ),
        "BFS": judge(not skips.any() and is_tree(int(np.argmax(graph.out_degrees)), level, parent, has_parent)),
    }


def iterate(graph: gp.Graph, rank: Array, sums: Array) -> Array:
    """The next ranks."""
    lost = rank[graph.out_degrees == 0].sum() / graph.n
    return (1 - DAMPING) / graph.n + DAMPING * (sums + lost)


def edges_outside(giant: int, first: int, last: int, offsets: Array, neighbours: Array, label: Array) -> Array:
    """The edges of a page that lie outside the component labelled `giant`: shape (k, 2)."""
    others = np.flatnonzero(label[first:last] != giant) + first
    degrees = offsets[others + 1] - offsets[others]
    others, degrees = others[degrees > 0], degrees[degrees > 0]
    lists = [neighbours[at : at + size] for at, size in zip(offsets[others] - offsets[first], degrees, strict=True)]
    return np.stack([np.concatenate([*lists, neighbours[:0]]), np.repeat(others, degrees)], axis=1)


def are_components(n: int, label: Array, others: Array, level: Array) -> bool:
    """Whether the labels, which agree along all edges, name the components by their least vertices."""
    own = np.arange(n, dtype=label.dtype)
    if (label > own).any() or (label[label] != label).any() or ((level >= 0) != (label == label[level == 0])).any():
        return False
    graph = coo_array((np.ones(len(others), np.int8), (others[:, 0], others[:, 1])), shape=(n, n))
    count = connected_components(graph, directed=False, return_labels=False) - np.count_nonzero(level >= 0) + 1
    return bool(count == np.count_nonzero(label == own))


def is_tree(source: int, level: Array, parent: Array, has_parent: Array) -> bool:
    """Whether the source alone has level 0, and each other reached vertex a parent on the level below."""
    has_parent[source] = True
    return bool((level == 0).sum() == 1 and level[source] == 0 and (has_parent == (level >= 0)).all())


def judge(is_right: bool) -> str:
    return "right" if is_right else "WRONG"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--memory", default="8GiB")
    parser.add_argument("--device", default="cpu", choices=["cpu", "gpu", "hybrid"])
    parser.add_argument("--gpu-memory")
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return one(given.graph, given.one, given.memory, given.device, given.gpu_memory, given.answers)
    with tempfile.TemporaryDirectory(dir=given.answers) as folder:
        graph, done = gp.open(given.graph, memory=given.memory), dict[str, dict[str, Any]]()
        for name in programs(graph):
            how = [given.graph, "--memory", given.memory, "--device", given.device, "--answers", folder, "--one", name]
            how += ["--gpu-memory", given.gpu_memory] if given.gpu_memory else []
            command = [sys.executable, __file__, *how]
            done[name] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(name, done[name], file=sys.stderr, flush=True)
        started = time.perf_counter()
        answers = verify(graph, Path(folder))
    print(f"{graph!r}; the checks took {time.perf_counter() - started:.0f} s\n")
    print("| program | iterations: seconds (MiB read) | call, s | peak, GiB | answer |\n|---|---|---|---|---|")
    for name, measured in done.items():
        rows = ", ".join(f"{mode} {s:.2f} ({read / 2**20:,.0f})" for mode, _, s, read in measured["rows"])
        print(f"| {name} | {rows} | {measured['call']:.1f} | {measured['peak']:.1f} | {answers[name]} |")


if __name__ == "__main__":
    main()
