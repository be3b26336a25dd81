"""Is an iteration of a hybrid run, from disk, as fast as on the better processor? Prints a table of all iterations.

    python scripts/bench_hybrid_ssd.py GRAPH [--scale 24] [--budgets 1/2 1/4 1/8] [--gpu-share 1/8] [--seconds 180]
        [--programs "PageRank float32" "PageRank float64" BFS SSSP ConnectedComponents]

GRAPH is a directory that ``garaph import`` or ``garaph generate`` made. If there is none, an undirected, packed R-MAT
graph of the given scale, with lengths from 1 to 255, is generated there first. Without lengths there is no SSSP, and
in a directed graph there are no components.

Runs on the CPU, on the GPU and with ``device="hybrid"`` are made in turns, in this process, as often as the seconds
allow, and at least seven times, of which the first, which compiles, does not count. Each turn begins with another
device, because a disk may be faster after a pause. All are synchronous. The memory of a run is what its vertices take
plus a share of the bytes of the edges that it reads, its budget; that of the GPU what its vertices and buffers take
plus the bytes of another share of the edges.

A row is an iteration: least and median seconds, and MiB read, on each device; then the mode and the processor in the
hybrid run, and its median seconds divided by those of the better processor alone. The last column is the same ratio
for all iterations so far: a run may read in one iteration what another has read before. The last lines say which ratios
are largest, among iterations of at least 20 ms, and where a run with a GPU reads more than the CPU's in the same mode.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.edges import page_bytes
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.memory import MemoryPlan
from garaph_py.pages.memory import EdgeMemory, arrays_on_disk
from garaph_py.pages.provider import SourceFactory
from garaph_py.program import VertexProgram, bind
from garaph_py.storage.directory import read_graph
from garaph_py.storage.fit import AUTO

DEVICES = ("cpu", "gpu", "hybrid")
LEAST_RUNS = 7
LONG = 0.02
"""Seconds of the shortest iteration whose ratio counts: shorter ones are the time of Python."""
BUFFERS = 64 << 20
"""Bytes of the GPU's memory for the buffers of its streams: four pages of 12 MiB and their ends."""
ENDS = 1.002
"""How many times the bytes a run may read because of the sectors at the ends of other pages."""


def programs(graph: gp.Graph) -> dict[str, tuple[VertexProgram, int | None]]:
    """The programs, and how many iterations each has (None: until it ends)."""
    source = graph.ids.take(np.array([int(graph.out_degrees.argmax())]))[0]
    found: dict[str, tuple[VertexProgram, int | None]] = {
        f"PageRank {dtype.__name__}": (gp.apps.PageRank(dtype=dtype, stop="never", weighted=False), 4)
        for dtype in (np.float32, np.float64)
    }
    found["BFS"] = gp.apps.BFS(source), None
    if graph.edge_dtype is not None:
        found["SSSP"] = gp.apps.SSSP(source), None
    if not graph.directed:
        found["ConnectedComponents"] = gp.apps.ConnectedComponents(), None
    return found


def opened(path: Path, scale: int) -> gp.Graph:
    """The graph with its edges on disk, generated first if there is none."""
    if not path.exists():
        how = ["--scale", str(scale), "--undirected", "--encoding", "packed", "--weights", "1:255"]
        subprocess.run([sys.executable, "-m", "garaph_py", "generate", "rmat", str(path), *how], check=True)
    return read_graph(str(path), AUTO, 1 << 40, None, gp.events.ignore, on_disk=True)


def gpu_fixed(program: VertexProgram, graph: gp.Graph) -> int:
    """Bytes of the GPU's memory that everything but pages takes."""
    bound = bind(program, graph)
    with SourceFactory(graph, bound.reads_edge_values) as sources:
        sources.divide(MemoryPlan(bound, graph, True, False, False, follows_out=False).gpu)
        with GpuExecutor(bound, graph, devices.find(), Settings()) as made:
            made.initialize(True, sources)
            there, layout = made.residency, made.edges.arrays
            kept = sum(page_bytes(page, layout) for page in there.pages[: there.resident])
            return int(there.used - kept - there.streams * there.buffer_bytes)


def memories(program: VertexProgram, graph: gp.Graph, budget: Fraction, on_gpu: Fraction) -> tuple[gp.Graph, int]:
    """The graph with the memory of a run, and the bytes of the GPU's memory."""
    bound = bind(program, graph)
    arrays = arrays_on_disk(graph._arrays.in_edges, bound.reads_edge_values)
    nbytes = sum(array.stored_bytes for array in arrays)
    plan = MemoryPlan(bound, graph, True, bound.is_relaxation, False)
    taken = EdgeMemory(graph._arrays, bound.reads_edge_values, plan.both).taken
    of_gpu = gpu_fixed(program, graph) + BUFFERS + int(nbytes * on_gpu)
    return graph._replace(memory=taken + int(nbytes * budget)), of_gpu


def rows_of(rounds: list[dict[str, gp.Result]]) -> list[tuple[list[str], float, float, bool]]:
    """For each iteration the cells of its row, its ratio if that counts and that so far, and whether a GPU has made it
    read more."""
    found, so_far = list[tuple[list[str], float, float, bool]](), dict.fromkeys(DEVICES, 0.0)
    count = min(len(each.stats.iterations) for each in rounds[0].values())
    for k in range(count):
        steps = {name: [each[name].stats.iterations[k] for each in rounds] for name in DEVICES}
        medians = {name: statistics.median(step.seconds for step in own) for name, own in steps.items()}
        read = {name: min(step.from_disk for step in own) for name, own in steps.items()}
        better = min(medians["cpu"], medians["gpu"])
        cells = [
            f"{min(step.seconds for step in own):.3f}, {medians[name]:.3f} ({read[name] / 2**20:,.0f})"
            for name, own in steps.items()
        ]
        ratio, last = medians["hybrid"] / better, steps["hybrid"][0]
        so_far = {name: so_far[name] + medians[name] for name in DEVICES}
        all_so_far = so_far["hybrid"] / min(so_far["cpu"], so_far["gpu"])
        counts = ratio if better >= LONG else 0.0
        same = [name for name in DEVICES if steps[name][0].mode == steps["cpu"][0].mode]
        more = max(read[name] for name in same) > ENDS * read["cpu"]
        row = [str(k + 1), *cells, f"{last.mode} on {last.device}", f"{ratio:.2f}", f"{all_so_far:.2f}"]
        found.append((row, counts, all_so_far, more))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--budgets", nargs="+", type=Fraction, default=[Fraction(1, k) for k in (2, 4, 8)])
    parser.add_argument("--gpu-share", type=Fraction, default=Fraction(1, 8))
    parser.add_argument("--programs", nargs="+", default=["PageRank float32", "BFS", "SSSP"])
    parser.add_argument("--seconds", type=float, default=180)
    options = parser.parse_args()
    graph, began = opened(options.graph, options.scale), time.perf_counter()
    cases = {
        (budget, name): (program, iterations, *memories(program, graph, budget, options.gpu_share))
        for name, (program, iterations) in programs(graph).items()
        if name in options.programs
        for budget in options.budgets
    }
    rounds = defaultdict[tuple[Fraction, str], list[dict[str, gp.Result]]](list)
    while min(map(len, rounds.values()), default=0) < LEAST_RUNS or time.perf_counter() - began < options.seconds:
        for case, (program, iterations, own, on_gpu) in cases.items():
            done, first = {}, len(rounds[case]) % len(DEVICES)
            for device in DEVICES[first:] + DEVICES[:first]:
                how = gp.Options(sync=True, gpu_memory=None if device == "cpu" else on_gpu)
                own.release()  # also of what it has on the GPU
                done[device] = gp.run(program, own, iterations=iterations, device=device, options=how)
                assert done[device].stats.note is None or "short" in done[device].stats.note, done[device].stats.note
            rounds[case].append(done)
            if time.perf_counter() - began > options.seconds and min(map(len, rounds.values())) >= LEAST_RUNS:
                break
    show(rounds)


def show(rounds: dict[tuple[Fraction, str], list[dict[str, gp.Result]]]) -> None:
    times = "CPU, s (MiB) | GPU, s (MiB) | hybrid, s (MiB)"
    print(f"| program | in memory | iteration | {times} | hybrid: mode | hybrid / better | so far |\n{'|---' * 9}|")
    worst, worst_so_far, reads_more = 0.0, 0.0, list[str]()
    for (budget, name), done in rounds.items():
        for cells, ratio, so_far, more in rows_of(done[1:]):  # the first round compiles
            print(f"| {name} | {budget} | {' | '.join(cells)} |")
            worst, worst_so_far = max(worst, ratio), max(worst_so_far, so_far)
            reads_more += [f"{name}, {budget}, iteration {cells[0]}"] * more
    runs = min(map(len, rounds.values())) - 1
    print(f"\n{runs} or more runs each. Hybrid / better is at most {worst:.3f}, and so far at most {worst_so_far:.3f}.")
    print(f"With a GPU more is read than on the CPU: {'; '.join(reads_more) or 'never'}.")


if __name__ == "__main__":
    main()
