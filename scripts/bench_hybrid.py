"""Does it pay to use CPU and GPU together? Times all iterations of a run on the CPU, on the GPU, and on both.

    python scripts/bench_hybrid.py rmat:24:16:symmetric rmat:24:16 [linux-symrefs.npz ...] [--programs SSSP ...]

A graph is ``rmat:SCALE:EDGE_FACTOR[:symmetric]``, or a file or directory that `garaph_py` reads. It runs with all
edges on the GPU, and with device memory for a quarter of them. PageRank has ten iterations. SSSP (integer lengths
from 1 to 255) and ConnectedComponents (on the graph with every edge in both directions) run until they converge. The
script prints a Markdown table with medians of `--repeats` warm runs, made in turns. The last column is the time of
"hybrid auto" divided by the better of CPU and GPU.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np
from graphs import load

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.program import VertexProgram, bind

WAYS = {
    "CPU": {"device": "cpu"},
    "GPU": {"device": "gpu"},
    "hybrid garaph": {"device": "hybrid", "engine": "garaph"},
    "hybrid auto": {"device": "hybrid"},
}
WARM = 2
"""Runs that do not count: a second hybrid run may take other decisions than the first, and compile kernels for them."""
PROGRAMS = ("PageRank", "SSSP", "ConnectedComponents")


def program_of(name: str, graph: gp.Graph) -> tuple[VertexProgram, int | None] | None:
    """The program and its number of iterations (None: until it converges); None if it cannot run on the graph."""
    if name == "PageRank":
        return gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False), 10
    if name == "SSSP":
        source = int(graph.out_degrees.argmax())
        return (gp.apps.SSSP(graph.ids.take(np.array([source]))[0]), None) if graph.edge_dtype is not None else None
    return gp.apps.ConnectedComponents(), None


def check(result: gp.Result, first: gp.Result, called: str) -> None:
    """Check that the answer is the same on any device."""
    if called == "PageRank":
        np.testing.assert_allclose(result.values, first.values, rtol=1e-2)  # a million float32 terms, in any order
    else:
        np.testing.assert_array_equal(result.values, first.values)


def quarter(program: VertexProgram, graph: gp.Graph) -> int:
    """Bytes of device memory with room for a quarter of the raw edges."""
    with GpuExecutor(bind(program, graph), graph, devices.find(), Settings(gather="segmented")) as kernel:
        kernel.initialize(True)
        return int(kernel.residency.used - 0.75 * graph.m * kernel.edges.arrays.width)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"| graph | program | memory | {' | '.join(WAYS)} | auto / better |\n{'|---' * (len(WAYS) + 4)}|")
    ratios = []
    for name in options.graphs:
        graph, answers = load(name, weighted=True), {}
        for called in options.programs:
            if called == "ConnectedComponents" and graph.directed:
                graph = graph.symmetrized()
            made = program_of(called, graph)
            if made is None:
                continue
            for memory in (None, quarter(made[0], graph)):
                times: dict[str, list[float]] = {way: [] for way in WAYS}
                for _ in range(options.repeats + WARM):
                    for way, how in WAYS.items():
                        given = gp.Options(gpu_memory=None if way == "CPU" else memory)
                        result = gp.run(made[0], graph, iterations=made[1], options=given, **how)
                        assert result.stats.note is None or "short" in result.stats.note, result.stats.note
                        times[way].append(result.stats.seconds)
                        check(result, answers.setdefault(called, result), called)
                middle = {way: statistics.median(taken[WARM:]) for way, taken in times.items()}
                ratio = middle["hybrid auto"] / min(middle["CPU"], middle["GPU"])
                ratios += [ratio] if memory else []
                cells = " | ".join(f"{seconds * 1e3:.1f} ms" for seconds in middle.values())
                print(f"| {name} | {called} | {'quarter' if memory else 'all'} | {cells} | {ratio:.3f} |", flush=True)
    print(f"\nGeometric mean where the GPU streams: {statistics.geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
