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

The checks take 64 bytes of memory for each vertex; the answers take 16 on the disk (or in the memory) of ``--answers``.
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
PARTS = 1 << 10
"""Parts of a page, which threads take one by one: a hub's list is one part's, and R-MAT's hubs lie close together."""
KNOWN = np.dtype([("gives", np.float64), ("label", np.uint32), ("level", np.int32)])
"""What the checks look up for each edge, side by side, so that it takes one cache line."""
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
def check_lists(cuts, offsets, neighbours, known, parent, wrong, has_parent, sums):
    """Compare the vertices [cuts[0], cuts[-1]) with their neighbours, and sum what these give.

    Notes in `wrong` whose edge skips a level (1) or leads to another label (2), and who has its parent as a neighbour.
    """
    for part in numba.prange(len(cuts) - 1):
        for v in range(cuts[part], cuts[part + 1]):
            level, label, found, finds, gathered = known[v].level, known[v].label, 0, False, 0.0
            for at in range(offsets[v] - offsets[cuts[0]], offsets[v + 1] - offsets[cuts[0]]):
                u = known[neighbours[at]]
                gathered += u.gives
                found |= (u.level < 0) != (level < 0) or abs(u.level - level) > 1
                found |= 2 * (u.label != label)
                finds |= neighbours[at] == parent[v] and u.level + 1 == level
            wrong[v], has_parent[v], sums[v] = found, finds, gathered


@numba.njit(parallel=True, nogil=True)
def sum_lists(cuts, offsets, neighbours, gives, sums):
    """Sum what the neighbours of the vertices [cuts[0], cuts[-1]) give."""
    for part in numba.prange(len(cuts) - 1):
        for v in range(cuts[part], cuts[part + 1]):
            gathered = 0.0
            for at in range(offsets[v] - offsets[cuts[0]], offsets[v + 1] - offsets[cuts[0]]):
                gathered += gives[neighbours[at]]
            sums[v] = gathered


def even_cuts(first: int, last: int, offsets: Array) -> Array:
    """Cuts of the vertices [first, last) into parts of about equally many edges."""
    edges = np.linspace(offsets[first], offsets[last], PARTS + 1)[1:-1]
    return np.unique(np.concatenate([[first], first + np.searchsorted(offsets[first:last], edges), [last]]))


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
    parent = np.where(parent < 0, graph.n, parent).astype(np.uint32)
    offsets, degree = graph._arrays.in_edges.offsets, np.maximum(graph.out_degrees, 1)
    rank, sums = np.full(graph.n, 1 / graph.n), np.zeros(graph.n)
    known, wrong, has_parent = np.empty(graph.n, KNOWN), np.zeros(graph.n, np.uint8), np.zeros(graph.n, bool)
    known["level"], known["label"], known["gives"] = level, label, rank / degree
    level, label = (np.ascontiguousarray(known[name]) for name in ("level", "label"))
    giant, others = np.bincount(label, minlength=1).argmax(), []
    for first, last, neighbours in pages_of(graph):
        cuts = even_cuts(first, last, offsets)
        check_lists(cuts, offsets, neighbours, known, parent, wrong, has_parent, sums)
        others.append(edges_outside(giant, first, last, offsets, neighbours, label))
    rank = iterate(graph, rank, sums)
    gives = rank / degree
    for first, last, neighbours in pages_of(graph):
        sum_lists(even_cuts(first, last, offsets), offsets, neighbours, gives, sums)
    rank = iterate(graph, rank, sums)
    return {
        "PageRank": judge(np.abs(given / rank - 1).max() < RANKS_DIFFER),
        "ConnectedComponents": judge(
            not (wrong & 2).any() and are_components(graph.n, label, np.concatenate(others), level)
        ),
        "BFS": judge(not (wrong & 1).any() and is_tree(int(np.argmax(graph.out_degrees)), level, parent, has_parent)),
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
