"""Does it pay to use CPU and GPU together? Times whole calls on the CPU, on the GPU, and on both.

    python scripts/bench_hybrid.py rmat:24:16:symmetric linux-symrefs.npz [--programs SSSP ...] [--memory all 1/4 1/64]

A graph is ``rmat:SCALE:EDGE_FACTOR[:symmetric]``, or a file or directory that `garaph_py` reads. ``--memory`` is the
share of the raw edges for which each GPU has room. PageRank and DeltaPageRank are of float32. PageRank has ten
iterations. BFS and SSSP (integer lengths from 1 to 255) begin at the vertex with the most edges; with
ConnectedComponents (on the graph with every edge in both directions) and DeltaPageRank (tolerance 0.01) they run until
they converge. With several GPUs there is a column for all of them. The answers of all ways are compared.

The script prints a Markdown table with medians of `--repeats` warm runs, made in turns, in milliseconds: from the call
of `garaph_py.run` until the answer is in Python and, in parentheses, of all iterations. In its turn, each way runs
twice, and the second run counts: the first may find the edges where another way has left them. Before each call the
last answer is dropped. The last two columns are the calls of a hybrid run and of ``device="auto"``, each divided by the
best of CPU and GPUs.
"""

from __future__ import annotations

import argparse
import logging
from statistics import geometric_mean

from bench_gpus import Times, Way, differing, in_turns, memory_of
from bench_gpus import program_of as of_gpus
from graphs import load

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.output.stats import Stats
from garaph_py.program import VertexProgram

PROGRAMS = "PageRank", "SSSP", "ConnectedComponents", "BFS", "DeltaPageRank"
CPU_RUNS = 3
"""Warm runs on the CPU, which takes long."""
RANKS_DIFFER = 0.05
"""How much ranks may differ, relative to them: a million float32 terms in any order, and a tolerance of 0.01."""


def program_of(name: str, graph: gp.Graph) -> tuple[VertexProgram, int | None]:
    """The program and its number of iterations (None: until it converges)."""
    if name == "DeltaPageRank":
        return gp.apps.DeltaPageRank(tolerance=0.01, weighted=False, dtype="float32"), None
    return of_gpus(name, graph)


def ways() -> dict[str, dict[str, object]]:
    """The ways to run a program, by their names in the table."""
    count = devices.count()
    several = {f"{count} GPUs": {"device": "gpu", "gpus": count}} if count > 1 else {}
    alone = {"CPU": {"device": "cpu"}, "GPU": {"device": "gpu", "gpus": 1}} | several
    return alone | {"hybrid": {"device": "hybrid"}, "auto": {"device": "auto"}}


def reason(stats: Stats) -> str:
    """Which devices a run has used, and why."""
    used = sorted({row.device for row in stats.iterations})
    return f"{stats.device}, iterations on {' and '.join(used)}: {stats.why}"


def measured(name: str, graph: gp.Graph, memory: int | None, repeats: int) -> tuple[dict[str, Times], dict[str, str]]:
    """The median times of each way, and what those that choose used in the end, and why."""
    program, limit = program_of(name, graph)

    def call(**how: object) -> gp.Result:
        options = gp.Options(gpu_memory=None if how["device"] == "cpu" else memory)
        return gp.run(program, graph, iterations=limit, options=options, **how)

    def check(way: str, result: gp.Result, first: gp.Result) -> None:
        assert result.stats.note is None or "short" in result.stats.note, result.stats.note
        assert not differing(name, result, first, RANKS_DIFFER), f"{name}: a wrong answer ({way})"

    each = {way: Way(how, repeats) for way, how in ways().items()}
    each["CPU"] = Way(each["CPU"].how, min(repeats, CPU_RUNS), twice=False)
    times, last = in_turns(call, each, check)
    return times, {way: reason(stats) for way, stats in last.items() if stats.why is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--memory", nargs="+", default=["all", "1/4"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--why", action="store_true", help="Also print why hybrid and auto decided as they did.")
    options = parser.parse_args()
    logging.getLogger("garaph_py").setLevel(logging.ERROR)  # memory is short on purpose
    heads = " | ".join(ways())
    print(f"| graph | program | room | {heads} | hybrid / best | auto / best |\n{'|---' * (len(ways()) + 5)}|")
    ratios = []
    for name in options.graphs:
        given = load(name, weighted=True)
        for called in options.programs:
            graph = given.symmetrized() if called == "ConnectedComponents" and given.directed else given
            for share in options.memory:
                memory = memory_of(share, program_of(called, graph)[0], graph)
                try:
                    middle, why = measured(called, graph, memory, options.repeats)
                except gp.errors.DeviceMemoryError as error:
                    print(f"| {name} | {called} | {share} | {error} |", flush=True)
                    continue
                best = min(took.call for way, took in middle.items() if way not in ("hybrid", "auto"))
                ratios.append(middle["auto"].call / best)
                cells = " | ".join(f"{took.call * 1e3:.1f} ({took.iterating * 1e3:.1f})" for took in middle.values())
                hybrid = middle["hybrid"].call / best
                print(f"| {name} | {called} | {share} | {cells} | {hybrid:.2f} | {ratios[-1]:.2f} |", flush=True)
                for way, told in why.items() if options.why else ():
                    print(f"({way}: {told})", flush=True)
            if graph is not given:
                graph.release()
        given.release()
    print(f"\nGeometric mean of auto / best: {geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
