"""What does a second GPU save? Times calls on one GPU and on several, in turns, in one process.

    python scripts/bench_gpus.py rmat:24:16:symmetric [--programs PageRank SSSP ...] [--memory all 0.05] [--packed]
        [--apart]

A graph is ``rmat:SCALE:EDGE_FACTOR[:symmetric]``, or a file or directory that `garaph_py` reads. ``--memory`` is the
share of the edges for which each GPU has room; with less than all it streams the others. PageRank (float32) has ten
iterations; BFS and SSSP (integer lengths from 1 to 255) begin at the vertex with the most edges; with the components
they run until they converge. GPUs number vertices as the graph does. The answers of all ways are compared. The script
prints a Markdown table with the median times (ms) of `--repeats` warm runs: of whole calls and, in parentheses, of all
iterations. In its turn, each way runs twice, and the second run counts: the first may find the edges where another way
has left them. Before each call the last answer is dropped. Then come the ratios of one GPU and several, of calls and of
iterations, and why a run by itself takes so many.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np
from graphs import hub, load

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu import peers
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.output.stats import Stats
from garaph_py.program import VertexProgram, bind

PROGRAMS = "PageRank", "ConnectedComponents", "SSSP", "BFS"
WARM = 1
"""Turns that do not count: later runs may take other decisions than the first."""


class Times(NamedTuple):
    """Seconds of a whole call, and of all its iterations."""

    call: float
    iterating: float


def program_of(name: str, graph: gp.Graph) -> tuple[VertexProgram, int | None]:
    """The program, and its number of iterations; None: until it converges."""
    if name == "PageRank":
        return gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False), 10
    if name == "ConnectedComponents":
        return gp.apps.ConnectedComponents(), None
    return getattr(gp.apps, name)(hub(graph)), None


def differing(name: str, result: gp.Result, first: gp.Result, ranks_differ: float = 1e-2) -> int:
    """How many vertices have another answer than at first; ranks may differ so much, relative to them."""
    if "PageRank" in name:  # a million float32 terms, in any order
        return int((~np.isclose(result.values, first.values, rtol=ranks_differ, atol=0)).sum())
    return int((result.values != first.values).sum())


def memory_of(share: str, program: VertexProgram, graph: gp.Graph) -> int | None:
    """Bytes of each GPU's memory with room for a share of the edges; None for all of it."""
    if share == "all":
        return None
    with GpuExecutor(bind(program, graph), graph, devices.find(), Settings(gather="segmented")) as kernel:
        kernel.initialize(True)
        return int(kernel.residency.used - (1 - Fraction(share)) * graph.m * kernel.edges.arrays.width)


class Way(NamedTuple):
    """The arguments of `gp.run`, the number of turns in which it is called, and whether it is called twice in each."""

    how: dict[str, object]
    turns: int
    twice: bool = True


def in_turns(
    call: Callable[..., gp.Result], ways: dict[str, Way], check: Callable[[str, gp.Result, gp.Result], None]
) -> tuple[dict[str, Times], dict[str, Stats]]:
    """The median times of each way of ``call(**how)``, and the statistics of its last run.

    Each turn has an order of its own: after calls on two GPUs, or on the CPU's threads, the next ones take longer.
    ``check(way, result, first)`` looks at the result of each turn, beside that of the first.
    """
    times: dict[str, list[Times]] = {way: [] for way in ways}
    first, last = None, dict[str, Stats]()
    for turn in range(WARM + max(way.turns for way in ways.values())):
        for name, way in in_order(list(ways.items()), turn):
            if turn >= WARM + way.turns:
                continue
            for _ in range(1 + way.twice):
                result = None  # the next answer may take its memory
                began = time.perf_counter()
                result = call(**way.how)
                took = Times(time.perf_counter() - began, result.stats.seconds)
            times[name].append(took)
            first, last[name] = first or result, result.stats
            check(name, result, first)
    return {way: Times(*map(median, zip(*taken[WARM:], strict=True))) for way, taken in times.items()}, last


def in_order(ways: list[tuple[str, Way]], turn: int) -> list[tuple[str, Way]]:
    """The ways in the order of a turn: over the turns, each follows each other one equally often (Williams, 1949)."""
    steps = [(k + 1) // 2 if k % 2 else -(k // 2) for k in range(len(ways))]
    ordered = [ways[(turn + step) % len(ways)] for step in steps]
    return ordered[::-1] if turn // len(ways) % 2 else ordered


def check(called: str, way: str, result: gp.Result, first: gp.Result) -> None:
    """Print what is wrong with a result."""
    if result.stats.note is not None:
        print(f"({way}: {result.stats.note})")
    if wrong := differing(called, result, first):
        print(f"({way}: WRONG ANSWER, {wrong:,} vertices differ)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--memory", nargs="+", default=["all"])
    parser.add_argument("--packed", action="store_true", help="Pack the edges on the CPU first.")
    parser.add_argument("--hybrid", action="store_true", help="Also time hybrid runs.")
    parser.add_argument("--apart", action="store_true", help="What GPUs send each other goes by way of the host.")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.apart:
        peers.can_reach = lambda number, other: False  # type: ignore[assignment]
    count = devices.count()
    ways = {f"{k} GPU{'s' * (k > 1)}": {"device": "gpu", "gpus": k} for k in sorted({1, 2, count}) if k <= count}
    ways["auto"] = {"device": "auto"}
    if options.hybrid:
        ways |= {f"hybrid of {k}": {"device": "hybrid", "gpus": k} for k in sorted({1, count})}
    print(f"{count} x {devices.find().name}, garaph_py {gp.__version__}\n")
    heads = f"{' | '.join(ways)} | 1 GPU / {count}, calls | iterations | auto"
    print(f"| graph | program | room | {heads} |\n{'|---' * (len(ways) + 6)}|")
    for name in options.graphs:
        graph = load(name, weighted="SSSP" in options.programs)
        graph = graph.packed() if options.packed else graph
        for called in options.programs:
            program, limit = program_of(called, graph)
            for share in options.memory:
                given = gp.Options(gpu_memory=memory_of(share, program, graph), gpu_order="given")
                call = partial(gp.run, program, graph, iterations=limit, options=given)
                each = {way: Way(how, options.repeats) for way, how in ways.items()}
                times, last = in_turns(call, each, partial(check, called))
                cells = " | ".join(f"{took.call * 1e3:.2f} ({took.iterating * 1e3:.2f})" for took in times.values())
                one, several = times["1 GPU"], times[f"{count} GPU{'s' * (count > 1)}"]
                ratios = f"{one.call / several.call:.2f} | {one.iterating / several.iterating:.2f}"
                print(f"| {name} | {called} | {share} | {cells} | {ratios} | {last['auto'].why} |", flush=True)
            graph.release()


if __name__ == "__main__":
    main()
