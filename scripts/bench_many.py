"""How much longer than from one source does a run from many take? Times `garaph_py.run_many` beside `garaph_py.run`.

    python scripts/bench_many.py [--graph rmat:20:16] [--device cpu] [--rounds 5] [--only ranks-float32,paths]

Each round times one run and then the run of many, as whole calls. A row has the least and the median of each, and the
median of the rounds' ratios: the machine's speed drifts, and the two calls of a round see the same of it. First calls,
which compile, are not timed. PageRank does 10 iterations, and has its jumps lead to one vertex. BFS and SSSP run on the
symmetrized graph; SSSP with values from 1 to 255. Sources are vertices with edges, at random.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import graphs
import numpy as np

import garaph_py as gp

ITERATIONS = 10
"""Of PageRank."""


class Case(NamedTuple):
    """What is timed: how many sources, and on what graph; one run from a source, and the run from all of them."""

    sources: int
    kind: str
    one: Callable[..., Any]
    many: Callable[..., Any]


def ranks(dtype: Any) -> Case:
    program = gp.apps.PageRank(stop="never", weighted=False, dtype=dtype)

    def one(graph: gp.Graph, source: Any, **how: Any) -> Any:
        alone = gp.apps.PageRank(stop="never", weighted=False, dtype=dtype, personalization={source: 1})
        return gp.run(alone, graph, iterations=ITERATIONS, **how)

    def many(graph: gp.Graph, sources: Any, **how: Any) -> Any:
        return gp.run_many(program, graph, sources, iterations=ITERATIONS, **how)

    return Case(16, "", one, many)


def traversal(program: Any, sources: int, kind: str) -> Case:
    return Case(
        sources,
        kind,
        lambda graph, source, **how: gp.run(program(source), graph, **how),
        lambda graph, every, **how: gp.run_many(program, graph, every, **how),
    )


CASES = {
    "ranks-float32": ranks(np.float32),
    "ranks-float64": ranks(np.float64),
    "searches": traversal(gp.apps.BFS, 64, ":symmetric"),
    "paths": traversal(gp.apps.SSSP, 8, ":symmetric:weighted"),
}


def timed(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def row(name: str, case: Case, arguments: argparse.Namespace) -> str:
    """Time one case; a line of the table."""
    graph = graphs.load(arguments.graph + case.kind)
    active = np.flatnonzero(graph.out_degrees)
    sources = graph.ids.take(np.random.default_rng(1).choice(active, case.sources, replace=False)).tolist()

    def one() -> Any:
        return case.one(graph, sources[0], device=arguments.device)

    def many() -> Any:
        return case.many(graph, sources, device=arguments.device)

    one(), many()
    pairs = [(timed(one), timed(many)) for _ in range(arguments.rounds)]
    ratio = statistics.median(after / before for before, after in pairs)
    cells = [f"{min(part):.3f}, {statistics.median(part):.3f}" for part in zip(*pairs, strict=True)]
    return f"| {name} | {case.sources} | {cells[0]} | {cells[1]} | {ratio:.2f} | {ratio / case.sources:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph", default="rmat:20:16")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(CASES))
    arguments = parser.parse_args()
    print("| case | sources | one: least, median (s) | all: least, median (s) | ratio | ratio per source |")
    print("|---|---|---|---|---|---|")
    for name in arguments.only.split(","):
        print(row(name, CASES[name], arguments), flush=True)


if __name__ == "__main__":
    main()
