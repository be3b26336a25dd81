"""What EMOGI's Figures 5, 6, 7 and 10 and EtaGraph's Tables I and IV count. Needs no GPU. Prints Markdown tables.

    python scripts/count_transfers.py [GRAPH ...] [--element-bytes 8]

GRAPH is a file, a graph directory, or rmat:SCALE:EDGE_FACTOR or uniform:..., as in the spec of an experiment; by
default data/ and two generated graphs. BFS begins at the vertex with the most edges. It reads the list of each vertex
that it reaches once, in the next superstep. Requests are those of `garaph_py.executor.gpu.requests`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from graphs import hub

import garaph_py as gp
from garaph_py.events import ignore
from garaph_py.executor.gpu.requests import SIZES, WARP, amplification, count_requests
from garaph_py.experiment.graphs import named

DATA = Path(__file__).parents[1] / "data" / "debian-sid-deps.tsv.xz"
GRAPHS = [f"{DATA}:symmetric", "rmat:20:16:symmetric", "uniform:20:16:symmetric"]
WAYS = {"Naive": {"merge": False}, "Merged": {"align": False, "split": False}, "+Aligned": {"split": False}}
"""EMOGI's ways to read lists, by the paper's names."""
PAGE = 4096
"""Bytes of a page of unified memory."""
DEGREE_LIMIT = 10
"""EtaGraph's K in its Table I."""
WORD = 4
"""Bytes of a vertex's number, by which EtaGraph's Table I counts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=GRAPHS, metavar="GRAPH")
    parser.add_argument("--element-bytes", type=int, choices=(4, 8), default=8, help="of a target; the paper has 8")
    options = parser.parse_args()
    graphs = {Path(text).name: named(text, Path()).load(ignore) for text in options.graphs}
    searches = {name: reached(graph) for name, graph in graphs.items()}
    width = options.element_bytes
    print(f"EMOGI, Figures 5 and 7: requests of BFS, elements of {width} bytes\n")
    print(f"| graph | reads | requests, thousands | {' | '.join(f'{size} B' for size in SIZES)} |\n{'|---' * 7}|")
    for name, graph in graphs.items():
        for row in requests(graph, searches[name], width):
            print(f"| {name} | {' | '.join(row)} |", flush=True)
    print("\nEMOGI, Figure 10: bytes read by BFS, over those of the lists it needs\n")
    print("| graph | EMOGI | pages |\n|---|---|---|")
    for name, graph in graphs.items():
        print(f"| {name} | {' | '.join(amplified(graph, searches[name], width))} |")
    print(f"\nEMOGI, Figure 6: % of edges in lists of at most so many\n\n| graph | 16 | 32 | 64 | 96 |\n{'|---' * 5}|")
    for name, graph in graphs.items():
        degrees = graph.out_degrees
        shares = (degrees[degrees <= most].sum() / max(graph.m, 1) for most in (16, 32, 64, 96))
        print(f"| {name} | {' | '.join(f'{share:.0%}' for share in shares)} |")
    print("\nEtaGraph, Table I: words over those of CSR, K = 10; Table IV: BFS\n")
    print(f"| graph | G-Shard, edge list | VST | CSR | active | iterations |\n{'|---' * 6}|")
    for name, graph in graphs.items():
        print(f"| {name} | {' | '.join(space(graph))} | {' | '.join(activity(searches[name]))} |")


def reached(graph: gp.Graph) -> Any:
    """The superstep in which BFS reaches each vertex; -1 for one that it does not reach."""
    source = hub(graph)
    return gp.run(gp.apps.BFS(source), graph).values["level"]


def requests_of(graph: gp.Graph, levels: Any, width: int, **switches: bool) -> dict[int, int]:
    """The requests of a search by size. In each superstep, a warp reads the lists of up to 32 adjacent vertices."""
    offsets, how = graph._arrays.out_edges.offsets, gp.Emogi(element_bytes=width, **switches).lists
    found = dict.fromkeys(SIZES, 0)
    for level in range(int(levels.max()) + 1):
        active = np.nonzero(levels == level)[0]
        counts = count_requests(offsets[active], offsets[active + 1], how, warps=active // WARP)
        found = {size: count + counts[size] for size, count in found.items()}
    return found


def requests(graph: gp.Graph, levels: Any, width: int) -> Iterator[list[str]]:
    """For each way to read: its name, the thousands of requests, and the part of each size."""
    for name, switches in WAYS.items():
        found = requests_of(graph, levels, width, **switches)
        total = max(sum(found.values()), 1)
        yield [name, f"{total / 1e3:,.1f}", *(f"{found[size] / total:.0%}" for size in SIZES)]


def amplified(graph: gp.Graph, levels: Any, width: int) -> Iterator[str]:
    """How many times the bytes of the lists EMOGI reads, and unified memory that keeps no page between supersteps."""
    offsets = graph._arrays.out_edges.offsets
    needed = width * int(graph.out_degrees[levels >= 0].sum())
    yield f"{amplification(requests_of(graph, levels, width, split=False), needed):.3f}"
    pages = 0
    for level in range(int(levels.max()) + 1):
        active = np.nonzero(levels == level)[0]
        begins, ends = offsets[active], offsets[active + 1]
        begins, ends = begins[begins < ends] * width // PAGE, -(-ends[begins < ends] * width // PAGE)
        fresh = np.maximum(begins, np.append(0, np.maximum.accumulate(ends))[:-1])  # a page is read once a superstep
        pages += int(np.maximum(ends - fresh, 0).sum())
    yield f"{pages * PAGE / max(needed, 1):.2f}"


def space(graph: gp.Graph) -> Iterator[str]:
    """The words of each layout in EtaGraph's Table I, over those of CSR."""
    n, m = graph.n, graph.m
    shadows = int((-(-graph.out_degrees // DEGREE_LIMIT)).sum())
    for words in (2 * m, m + 2 * shadows + 2 * n, m + n):
        yield f"{words / (m + n):.2f}"


def activity(levels: Any) -> Iterator[str]:
    """The part of all vertices that are ever active, and the number of supersteps in which any is."""
    yield f"{(levels >= 0).mean():.0%}"
    yield str(int(levels.max()) + 1)


if __name__ == "__main__":
    main()
