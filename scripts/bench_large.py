"""How large a graph fits a small GPU? Runs over billions of edges, within a budget of device memory.

    python scripts/bench_large.py --scale 25 --edge-factor 82 --gpu-memory 11GiB [--gpus 1 2] [--programs PageRank ...]
        [--encoding packed] [--order degree] [--iterations 10] [--verify] [--dir DIR] [--save FOLDER]

The graph is a symmetric R-MAT graph. With packed edges its vertices are in degree order, and it is generated out of
core into a graph directory in `--dir`, which is removed once the graph is in memory: 5.5 billion stored edges take
about 8 GB there. With raw edges, or `--order given`, it has the generator's order, in which vertices with small numbers
have the most edges, and is generated in memory, without a file: so 8.7 billion edges (edge factor 129) fit 125 GiB with
lengths. With --save, the graph of the last program goes to FOLDER/graph, where bench_scale.py finds it. Prints a
Markdown table with a row for each number of GPUs, each of which may use so much memory. BFS begins at the vertex with
the most edges, and so does SSSP. The lengths of SSSP are made in memory, from 1 to 255, by a hash of both ends; packed,
they take a byte, and raw four. PageRank does so many `--iterations`.
"iterations, ms" is the sum of all iterations of the median of five warm calls, with the mode of each if there are few;
"call, ms" is such a call as a whole, and "first, s" the first call, with nothing of the graph on the GPU. The answers
of all rows of a program are compared. With --verify, those of the first rows are then checked along all edges
(scale_checks.py); it needs those of all programs but SSSP, or of SSSP alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from graphs import hub, undirected
from scale_checks import DAMPING, verify

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.graph.generate import RandomEdges, random_rmat
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import write_random
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.layout import Page, layout
from garaph_py.pages.provider import SourceFactory
from garaph_py.program import bind
from garaph_py.system.memory import on_own_pages
from garaph_py.system.sizes import parse_bytes

REPEATS = 5
ENCODINGS = "packed", "raw"
ORDERS = "degree", "given"
PROGRAMS = "PageRank", "BFS", "ConnectedComponents", "SSSP"
LENGTHS = 255
"""How many lengths there are, from 1 on."""
PIECE = 1 << 22
"""Edges whose lengths a thread makes at a time."""
MOST_MODES = 12
"""Iterations of a run up to which the table has the mode and the milliseconds of each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=25)
    parser.add_argument("--edge-factor", type=int, default=82)
    parser.add_argument("--gpu-memory", default="11GiB")
    parser.add_argument("--gpus", nargs="+", type=int, default=[1])
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--encoding", choices=ENCODINGS, default="packed")
    parser.add_argument("--order", choices=ORDERS, default="degree")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    if options.encoding == "raw" or options.order == "given":
        graph = undirected(random_rmat(options.scale, options.edge_factor, permute=False))
        graph = graph.packed() if options.encoding == "packed" else graph
    else:
        graph = in_degree_order(random_rmat(options.scale, options.edge_factor), options.dir)
    print(f"{graph!r}, made in {time.perf_counter() - started:.0f} s\n", flush=True)
    heads = "GPUs | bytes per edge | edges that stay | iterations | iterations, ms | call, ms | first, s"
    print(f"| program | {heads} |\n{'|---' * 8}|")
    source = hub(graph)
    ranks = gp.apps.PageRank(damping=DAMPING, dtype=np.float32, stop="never", weighted=False)
    programs: dict[str, tuple[gp.VertexProgram, int | None]] = {
        "PageRank": (ranks, options.iterations),
        "BFS": (gp.apps.BFS(source), None),
        "ConnectedComponents": (gp.apps.ConnectedComponents(), None),
        "SSSP": (gp.apps.SSSP(source), None),
    }
    answers = dict[str, gp.Result]()
    for name in options.programs:
        if name == "SSSP":
            graph = with_lengths(graph)
        for count in options.gpus:
            result = run(graph, *programs[name], options.gpu_memory, count)
            check(result, answers.setdefault(name, result))
    if options.verify:
        print(f"\nright: {verified(graph, answers, options.iterations)}", flush=True)
    if options.save:
        graph.release()
        started = time.perf_counter()
        gp.save(graph, options.save / "graph", encoding=options.encoding)
        print(f"saved in {time.perf_counter() - started:.0f} s")


def in_degree_order(edges: RandomEdges, folder: Path | None) -> gp.Graph:
    """The undirected graph of these edges, packed, with its vertices in degree order."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made, "graph")
        write_random(edges, path, ImportOptions(False, order="degree", encoding="packed"))
        return gp.open(path, encoding="packed")


def verified(graph: gp.Graph, answers: dict[str, gp.Result], iterations: int) -> dict[str, bool]:
    """Whether the answer of each program is right."""
    with tempfile.TemporaryDirectory() as folder:
        for name, answer in answers.items():
            for column in answer.values.dtype.names or ("value",):
                one = answer.values[column] if answer.values.dtype.names else answer.values
                np.save(Path(folder, f"{name}-{column}.npy"), one)
        return verify(graph, Path(folder), iterations, {})


def with_lengths(graph: gp.Graph) -> gp.Graph:
    """The graph with a length for each edge, the same in both directions."""
    edges = graph._arrays.in_edges
    lengths = on_own_pages(graph.m, np.dtype(np.int32))

    def fill(page: Page) -> None:
        degrees = np.diff(edges.offsets[page.first_vertex : page.last_vertex + 1])
        targets = np.repeat(np.arange(page.first_vertex, page.last_vertex, dtype=np.uint32), degrees)
        hashed = (edges.part(page.first_edge, page.last_edge)[0] ^ targets) * np.uint32(0x9E3779B9)
        lengths[page.first_edge : page.last_edge] = (hashed >> 16) % LENGTHS + 1

    with ThreadPoolExecutor() as threads, ThreadPool() as pool:
        list(threads.map(fill, layout(edges.offsets, PIECE)))
        valued = edges.with_values(lengths, pool)
    return graph._replace(in_edges=valued, out_edges=valued)


def run(graph: gp.Graph, program: gp.VertexProgram, iterations: int | None, memory: str, count: int) -> gp.Result:
    """Print the row of one program on so many GPUs."""
    settings = Settings(parse_bytes(memory, "--gpu-memory"), gather=gather_of(graph, program))
    bound = bind(program, graph)
    with (
        GpuExecutor(bound, graph, devices.find(), settings) as executor,
        SourceFactory(graph, bound.reads_edge_values) as sources,
    ):
        placed = executor.placer.place(sources, True, executor.budget())
        share, width = sum(page.edges for page in placed.residency.here) / graph.m, placed.edges.arrays.width
    graph.release()
    calls = [timed(graph, program, iterations, memory, count) for _ in range(1 + REPEATS)]
    calls, first = sorted(calls[1:], key=lambda call: call[0]), calls[0][0]
    call, result = calls[REPEATS // 2]
    rows = result.stats.iterations
    modes = "" if len(rows) > MOST_MODES else f" ({', '.join(f'{row.mode} {row.seconds * 1e3:.1f}' for row in rows)})"
    print(
        f"| {type(program).__name__} | {count} | {width:.2f} | {min(share * count, 1):.0%} | {len(rows)} | "
        f"{result.stats.seconds * 1e3:.1f}{modes} | {call * 1e3:.1f} | {first:.2f} |",
        flush=True,
    )
    return result


def gather_of(graph: gp.Graph, program: gp.VertexProgram) -> str:
    """How the GPU sums over the edges. Raw ones stay raw, and a search may end gathers early, which others cannot."""
    if graph.encoding == "packed":
        return "packed"
    return "auto" if isinstance(program, gp.apps.BFS) else "segmented"


def timed(
    graph: gp.Graph, program: gp.VertexProgram, iterations: int | None, memory: str, count: int
) -> tuple[float, gp.Result]:
    """The seconds of a call, and its result."""
    options = gp.Options(gpu_memory=memory, gather=gather_of(graph, program), gpu_order="given")
    started = time.perf_counter()
    result = gp.run(program, graph, iterations=iterations, device="gpu", gpus=count, options=options)
    return time.perf_counter() - started, result


def check(result: gp.Result, first: gp.Result) -> None:
    """Check that the answer is that of the first row: any two ranks differ by rounding only."""
    if result.program == "PageRank":
        np.testing.assert_allclose(result.values, first.values, rtol=1e-2)
    elif result.values.dtype.names:
        np.testing.assert_array_equal(result.values["level"], first.values["level"])
    else:
        np.testing.assert_array_equal(result.values, first.values)


if __name__ == "__main__":
    main()
