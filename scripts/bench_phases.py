"""What do phases cost: several runs over one graph, each of which takes the answer of the one before?

    python scripts/bench_phases.py [--device gpu] [--hits rmat:24:16] [--cores rmat:22:16:symmetric] [--rounds 5]

HITS has a program for each direction, and a phase is one iteration: 20 phases, in both directions in turns. Cores are
peeled: phase k removes all vertices with fewer than k neighbours that are left, until none is left to remove, for k = 1
to 20. Each round times the same phases in these ways, one after the other; a row has the median of the rounds, and the
least, in milliseconds for each phase:

- `values`: a phase is given the array `values` of the result before;
- `results`: it is given the result itself, of a run with ``fetch=False``, so that a GPU keeps it;
- `one run` (HITS only): 10 iterations over the in-edges and 10 over the out-edges, with a run for each direction. This
  is what a program that gathers in both directions apart could at best take: it reads the same edges, and a vertex's
  value and sums are written as often.

First rounds, which compile and put the graph on the GPU, are not timed. All ways must give the same answer.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import graphs
import numpy as np

import garaph_py as gp

PHASES = 20
TOLERANCE = 1e-3
"""How far scores may differ, relatively: GPUs add up floats of 32 bits in any order."""
Phases = Callable[[bool], Any]


class Authorities(gp.VertexProgram):
    """The sums of scores over in-edges, divided by the sum of all scores so that they stay finite."""

    score: gp.PerVertex = 1.0

    value = np.float32
    sum = gp.add
    total = float

    def init(self, score):
        return score

    def gather(self, src):
        return src

    def apply(self, acc, total):
        return acc / total

    def aggregate(self, new):
        return new


class Hubs(Authorities):
    """The same over out-edges."""

    gathers = "out"


class Shell(gp.VertexProgram):
    """Which vertices are in the k-core, of those that are in the core before; `core` is the last one of a vertex."""

    k: int = 1
    core: gp.PerVertex = 0

    value = np.int32
    sum = gp.add
    gathers = "both"

    def init(self, core):
        return core + 1 if core == self.k - 1 else core

    def gather(self, src):
        return 1 if src == self.k else 0

    def delta(self, new, old):
        return (1 if new == self.k else 0) - (1 if old == self.k else 0)

    def apply(self, old, acc):
        return old - 1 if old == self.k and acc < self.k else old


def hits(graph: gp.Graph, **how: Any) -> Phases:
    """Phases of HITS; the argument says whether a phase is given a result, or its values."""

    def run(stays: bool) -> Any:
        scores: Any = 1.0
        for k in range(PHASES):
            program = (Hubs if k % 2 else Authorities)(scores)
            result = gp.run(program, graph, iterations=1, options=gp.Options(fetch=not stays), **how)
            scores = result if stays else result.values
        return result.values

    return run


def cores(graph: gp.Graph, **how: Any) -> Phases:
    def run(stays: bool) -> Any:
        core: Any = 0
        for k in range(1, PHASES + 1):
            result = gp.run(Shell(k, core), graph, options=gp.Options(fetch=not stays), **how)
            core = result if stays else result.values
        return result.values

    return run


def compare(name: str, graph: str, ways: dict[str, Callable[[], Any]], rounds: int) -> None:
    """Time the ways in turns, compare their answers, and print a row for each."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    answers: dict[str, Any] = {}
    for k in range(rounds + 2):  # a GPU's memory may be in another order from the second round on
        for way, call in ways.items():
            started = time.perf_counter()
            answers[way] = call()
            if k > 1:
                seconds[way].append((time.perf_counter() - started) / PHASES)
    for way, taken in seconds.items():
        if way != "one run":
            np.testing.assert_allclose(answers[way], answers["values"], TOLERANCE)
        each = 1e3 * statistics.median(taken), 1e3 * min(taken)
        print(f"| {name}, {graph} | {way} | {each[0]:.2f} | {each[1]:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--hits", default="rmat:24:16")
    parser.add_argument("--cores", default="rmat:22:16:symmetric")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print("| phases | given | median, ms | least |\n|---|---|---|---|")
    if given.hits:
        graph = graphs.load(given.hits)
        run, programs = hits(graph, device=given.device), (Authorities(), Hubs())
        ways: dict[str, Callable[[], Any]] = {
            "values": lambda: run(False),
            "results": lambda: run(True),
            "one run": lambda: [
                gp.run(each, graph, iterations=PHASES // 2, device=given.device).values for each in programs
            ],
        }
        compare("HITS", given.hits, ways, given.rounds)
    if given.cores:
        run = cores(graphs.load(given.cores), device=given.device)
        compare("cores", given.cores, {"values": lambda: run(False), "results": lambda: run(True)}, given.rounds)


if __name__ == "__main__":
    main()
