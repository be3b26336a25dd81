"""Prints how many mirrors graphs have in 2 to 64 parts, as a table: per vertex of the graph, and in the part with most.

    python scripts/count_mirrors.py rmat:20 GRAPH.npz ...

A graph is a file that `garaph_py.read` takes, or ``rmat:SCALE`` for one of that many times two vertices, by the
generator's defaults.
"""

import sys
from pathlib import Path

import garaph_py as gp
from garaph_py.cluster.cuts import cut
from garaph_py.cluster.mirrors import mirror_counts

PARTS = (2, 4, 8, 16, 32, 64)


def main(names):
    print("| graph | vertices | edges | parts | mirrors | per vertex | most in a part | its edges, in equal shares |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        graph = gp.rmat(int(name.removeprefix("rmat:"))) if name.startswith("rmat:") else gp.read(name)
        offsets = graph._arrays.in_edges.offsets
        for parts in PARTS:
            cuts = cut(graph, parts)
            counts, edges = mirror_counts(graph, cuts), offsets[cuts.vertices[1:]] - offsets[cuts.vertices[:-1]]
            largest = int(counts.argmax())
            share = edges[largest] / max(graph.m, 1) * parts
            print(
                f"| {Path(name).stem} | {graph.n:,} | {graph.m:,} | {parts} | {counts.sum():,} "
                f"| {counts.sum() / graph.n:.3f} | {counts[largest]:,} | {share:.2f} |"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
