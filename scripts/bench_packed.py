"""What does packing save, and what does it cost? Bytes an edge, packing and unpacking, running.

    python scripts/bench_packed.py bytes rmat:20:16:symmetric linux.npz [--order given degree hub]
    python scripts/bench_packed.py pack rmat:20:16:symmetric [--repeats 5]
    python scripts/bench_packed.py pull rmat:20:16:symmetric:weighted [--repeats 5] [--iterations 10]

A graph is ``rmat:SCALE:EDGE_FACTOR[:symmetric][:weighted]``, the same with ``uniform``, or a file or directory that
`garaph_py` reads. ``bytes``: of the packed in-edges in a graph directory, an edge; raw, sources take 4. ``pack``: M
edges/s on all cores. ``pull``: seconds of runs of PageRank (for `--iterations`), BFS and, with weights, SSSP, raw and
packed in turns, and the median of their ratios. Tables are Markdown; times are medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from graphs import load

import garaph_py as gp
from garaph_py.codec.format import ASCENDING, GROUP, LISTS, RECORD_BYTES, Packed
from garaph_py.codec.pack import pack as packed_array
from garaph_py.codec.pack import unpack
from garaph_py.graph import PackedAdjacency
from garaph_py.graph.build import rebuilt
from garaph_py.native.threads import ThreadPool

ORDERS = {"given": "none", "degree": "degree", "hub": "hub"}


def shown(name: str) -> str:
    return Path(name).name


def in_bytes(graph: gp.Graph) -> list[float]:
    """Stored bytes an edge of the packed in-edges: words, records, masks and offsets, and values."""
    edges = graph.packed().in_edges
    assert isinstance(edges, PackedAdjacency)
    with ThreadPool() as pool:
        offsets = packed_array(edges.offsets, ASCENDING, pool)
    assert offsets is not None
    values = edges.packed_values
    parts = [
        4 * stored_words(edges.packed),
        len(edges.packed.records) * RECORD_BYTES,
        4 * -(-graph.m // GROUP),
        stored(offsets),
        0 if values is None else stored(values) if isinstance(values, Packed) else values.nbytes,
    ]
    return [part / graph.m for part in parts]


def stored_words(packed: Packed) -> int:
    return int(packed.records["widths"].sum(dtype=np.int64))


def stored(packed: Packed) -> int:
    return len(packed.records) * RECORD_BYTES + 4 * stored_words(packed)


def bytes_(options: argparse.Namespace) -> None:
    print("| graph | order | M edges | words | records | masks | offsets | these | values | everything |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in options.graphs:
        given = load(name)
        for order in options.order:
            graph = given if order == "given" else rebuilt(given, order=ORDERS[order])
            *parts, values = in_bytes(graph)
            these = sum(parts)
            cells = " | ".join(f"{part:.2f}" for part in [*parts, these, values, these + values])
            print(f"| {shown(name)} | {order} | {graph.m / 1e6:.1f} | {cells} |", flush=True)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def pack(options: argparse.Namespace) -> None:
    print("| graph | M edges | threads | packing M edges/s | unpacking M edges/s |\n|---|---:|---:|---:|---:|")
    for name in options.graphs:
        edges = load(name).in_edges
        with ThreadPool() as pool:
            pack_it = partial(packed_array, edges.neighbours, LISTS, pool, edges.offsets)
            packed = pack_it()
            assert packed is not None
            unpack_it = partial(unpack, packed, LISTS, pool, edges.offsets)
            there, back = [], []
            for _ in range(options.repeats):
                there.append(seconds(pack_it))
                back.append(seconds(unpack_it))
            rates = [f"{packed.length / statistics.median(times) / 1e6:.0f}" for times in (there, back)]
            print(f"| {shown(name)} | {packed.length / 1e6:.1f} | {pool.size} | {' | '.join(rates)} |", flush=True)


def programs(graph: gp.Graph) -> dict[str, tuple[gp.VertexProgram, dict[str, object]]]:
    """What `pull` runs, and how: from the vertex of most out-edges; SSSP where there are weights."""
    source = graph.ids.take(np.array([np.argmax(graph.out_degrees)]))[0]
    pulled = {"mode": "pull"}
    chosen: dict[str, tuple[gp.VertexProgram, dict[str, object]]] = {
        f"PageRank {kind.__name__}, pull": (gp.apps.PageRank(dtype=kind, stop="never"), pulled)
        for kind in (np.float32, np.float64)
    }
    chosen |= {
        "BFS, pull in every iteration": (gp.apps.BFS(source=source), pulled),
        "BFS, auto": (gp.apps.BFS(source=source), {}),
    }
    return chosen | ({"SSSP, auto": (gp.apps.SSSP(source=source), {})} if graph.edge_dtype is not None else {})


def pull(options: argparse.Namespace) -> None:
    print("| graph | program | M edges | raw, s | packed, s | packed / raw |\n|---|---|---:|---:|---:|---:|")
    for name in options.graphs:
        raw = load(name)
        graphs = raw, raw.packed()
        for title, (program, how) in programs(raw).items():
            if isinstance(program, gp.apps.PageRank):
                how = how | {"iterations": options.iterations}
            times: tuple[list[float], list[float]] = ([], [])
            for number in range(options.repeats + 1):
                for graph, taken in zip(graphs, times, strict=True):
                    result = gp.run(program, graph, device="cpu", **how)
                    if number:  # the first compiles
                        taken.append(sum(row.seconds for row in result.stats.iterations))
            one, other = map(statistics.median, times)
            ratio = statistics.median(b / a for a, b in zip(*times, strict=True))
            print(
                f"| {shown(name)} | {title} | {raw.m / 1e6:.1f} | {one:.3f} | {other:.3f} | {ratio:.2f} |", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables = parser.add_subparsers(required=True)
    for name, table in (("bytes", bytes_), ("pack", pack), ("pull", pull)):
        command = tables.add_parser(name)
        command.add_argument("graphs", nargs="+")
        command.set_defaults(table=table)
        if table is bytes_:
            command.add_argument("--order", nargs="+", choices=ORDERS, default=list(ORDERS))
        else:
            command.add_argument("--repeats", type=int, default=5)
        if table is pull:
            command.add_argument("--iterations", type=int, default=10)
    options = parser.parse_args()
    options.table(options)


if __name__ == "__main__":
    main()
