"""What HyTGraph's selection chooses, and what it moves (its Figures 3a and 6, Table VI). Needs no GPU. Prints Markdown.

    python scripts/count_hybrid_transfers.py [GRAPH ...] [--partitions 256]

GRAPH is as for count_transfers.py. BFS and, if edges have values, SSSP (Bellman-Ford) begin at the vertex with the most
edges, and run in supersteps. Zero copy moves the requests of `garaph_py.executor.gpu.requests`, targets and
values apart; compaction moves lists and their index. Nothing is kept on the GPU between supersteps.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from count_transfers import DATA
from graphs import hub

import garaph_py as gp
from garaph_py.dispatch.hytgraph import choose_transfers, count_partitions
from garaph_py.events import ignore
from garaph_py.executor.gpu.requests import WARP, amplification, count_requests
from garaph_py.executor.modes import COMPACTED, COPIED, ZERO_COPY
from garaph_py.experiment.graphs import named
from garaph_py.pages.layout import layout
from garaph_py.program import bind
from garaph_py.simulation.frontiers import frontiers

GRAPHS = [f"{DATA}:symmetric", "rmat:20:16:symmetric:weights", "uniform:20:16:symmetric:weights"]
WIDTHS = {"BFS": 4, "SSSP": 8}
"""Bytes of an edge that a program reads: its target, and its weight."""
LISTS = gp.Emogi(split=False).lists
"""How zero copy reads lists."""


@dataclass(frozen=True)
class Superstep:
    """The parts (0 to 1) of vertices, edges and partitions that are active, the parts of active partitions that are
    transferred in each way, and bytes by way: all by that way alone, and ``"hybrid"``."""

    vertices: float
    edges: float
    partitions: float
    chosen: dict[str, float]
    moved: dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=GRAPHS, metavar="GRAPH")
    parser.add_argument("--partitions", type=int, default=256, help="the paper's section III has 256")
    options = parser.parse_args()
    totals = []
    for text in options.graphs:
        graph = named(text, Path()).load(ignore)
        for program, width in WIDTHS.items():
            if program == "SSSP" and graph.edge_dtype is None:
                continue
            steps = list(supersteps(graph, program, width, options.partitions))
            show(f"{Path(text).name}, {program}", steps)
            totals.append((Path(text).name, program, width * graph.m, steps))
    print("Table VI: bytes moved over those of all edges\n")
    print(f"| graph | program | copies | compaction | zero copy | hybrid |\n{'|---' * 6}|")
    for name, program, nbytes, steps in totals:
        sums = (sum(step.moved[way] for step in steps) / nbytes for way in (COPIED, COMPACTED, ZERO_COPY, "hybrid"))
        print(f"| {name} | {program} | {' | '.join(f'{one:.2f}' for one in sums)} |")


def supersteps(graph: gp.Graph, program: str, width: int, partitions: int) -> Iterator[Superstep]:
    """What each superstep of a program needs and moves."""
    offsets = graph._arrays.out_edges.offsets
    pages = layout(offsets, -(-graph.m // partitions))
    bounds = np.array([page.first_vertex for page in pages] + [graph.n])
    for active in frontiers(bind(getattr(gp.apps, program)(hub(graph)), graph), graph):
        counts = count_partitions(bounds, offsets, active, width)
        chosen = np.array([way or "" for way in choose_transfers(counts)])
        requests = np.array([zero_copy_bytes(offsets, some, width) for some in split_by(active, bounds)])
        each = {COPIED: counts.edges * width, COMPACTED: counts.compacted_bytes, ZERO_COPY: requests}
        is_active = counts.active_edges > 0
        moved = {way: int(nbytes[is_active].sum()) for way, nbytes in each.items()}
        moved["hybrid"] = sum(int(nbytes[chosen == way].sum()) for way, nbytes in each.items())
        shares = {way: float((chosen == way).sum() / max(is_active.sum(), 1)) for way in each}
        followed = int(counts.active_edges.sum()) / graph.m
        yield Superstep(len(active) / graph.n, followed, float(is_active.mean()), shares, moved)


def split_by(active: Any, bounds: Any) -> list[Any]:
    """The active vertices of each partition."""
    return np.split(active, np.searchsorted(active, bounds[1:-1]))


def zero_copy_bytes(offsets: Any, active: Any, width: int) -> int:
    """Bytes of the requests for the lists of some vertices: targets, and as many for values."""
    requests = count_requests(offsets[active], offsets[active + 1], LISTS, warps=active // WARP)
    return round(amplification(requests, 1)) * width // LISTS.element_bytes


def show(title: str, steps: list[Superstep]) -> None:
    """Print what was active (Figure 3a) and chosen (Figure 6) in each superstep."""
    print(f"{title}: %\n")
    print(f"| superstep | vertices | edges | partitions | copied | compacted | zero copy |\n{'|---' * 7}|")
    for number, step in enumerate(steps):
        parts = step.vertices, step.edges, step.partitions, *map(step.chosen.get, (COPIED, COMPACTED, ZERO_COPY))
        print(f"| {number} | {' | '.join(f'{100 * part:.3g}' for part in parts)} |")
    print()


if __name__ == "__main__":
    main()
