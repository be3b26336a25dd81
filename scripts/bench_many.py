"""How much longer than from one source does a run from many take? Times `garaph_py.run_many` beside `garaph_py.run`.

    python scripts/bench_many.py [--graph rmat:20:16] [--devices cpu gpu] [--rounds 8] [--only ranks-float32,paths]

Each round times one run, from the first eight sources in turn, and then the run of many: the whole calls, and the
iterations alone. A row has the least and the median of the whole calls, the least of the iterations, and how many times
as long all rounds' runs of many took as their single runs: a search is up to twice as fast from some sources as from
others, and the machine's speed drifts, but for both calls of a round alike. First calls, which compile, are not timed;
nor are second ones, after which memory that runs keep for the next is there. Each column is compared with the answer of
a run from its source alone: ranks may differ by a ten-thousandth, others not at all. PageRank does 10 iterations, and
has its jumps lead to one vertex. BFS and SSSP run on the symmetrized graph; SSSP with values from 1 to 255. Sources are
vertices with edges, at random.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import graphs
import numpy as np

import garaph_py as gp
from garaph_py import events

ITERATIONS = 10
"""Of PageRank."""
ALONE = 8
"""Sources from which single runs are timed, in turn; every case has at least as many."""
TOLERANCE = 1e-4
"""How far ranks may be from those of a run from one source, which adds floats in another order on a GPU; relative."""


class Case(NamedTuple):
    """What is timed: how many sources, and on what graph; one run from a source, and the run from all of them."""

    sources: int
    kind: str
    one: Callable[..., Any]
    many: Callable[..., Any]


class Times(NamedTuple):
    """Seconds of a whole call, and of its iterations."""

    call: float
    iterations: float


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


def timed(call: Callable[..., Any]) -> Times:
    passed: list[float] = []

    def heard(event: Any) -> None:
        if isinstance(event, events.Iteration):
            passed.append(event.seconds)

    started = time.perf_counter()
    call(on_event=heard)
    return Times(time.perf_counter() - started, sum(passed))


def check(table: Any, one: Callable[[Any], Any]) -> None:
    """Compare each column with the answer of a run from its source alone."""
    for source, column in table.items():
        found, expected = column.column(), one(source).column()
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, TOLERANCE, 0, err_msg=f"from {source}")
        else:
            np.testing.assert_array_equal(found, expected, f"from {source}")


def row(name: str, case: Case, graph: gp.Graph, device: str, rounds: int) -> str:
    """Time one case on a device; a line of the table."""
    active = np.flatnonzero(graph.out_degrees)
    sources = graph.ids.take(np.random.default_rng(1).choice(active, case.sources, replace=False)).tolist()

    def one(source: Any, **how: Any) -> Any:
        return case.one(graph, source, device=device, **how)

    def many(**how: Any) -> Any:
        return case.many(graph, sources, device=device, **how)

    one(sources[0]), many()
    check(many(), one)
    pairs = [(timed(partial(one, sources[k % ALONE])), timed(many)) for k in range(rounds)]
    cells = [f"{name} | {case.sources} | {device}"]
    for kept in zip(*pairs, strict=True):
        calls, iterations = zip(*kept, strict=True)
        cells.append(f"{min(calls):.4f}, {statistics.median(calls):.4f} | {min(iterations):.4f}")
    for part in range(2):
        before, after = (sum(pair[which][part] for pair in pairs) for which in range(2))
        cells.append(f"{after / before:.2f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph", default="rmat:20:16")
    parser.add_argument("--devices", nargs="+", default=["cpu"])
    parser.add_argument("--rounds", type=int, default=ALONE)
    parser.add_argument("--only", default=",".join(CASES))
    arguments = parser.parse_args()
    times = "call: least, median (s) | iterations: least (s)"
    print(f"| case | sources | device | one {times} | all {times} | ratio of calls | ratio of iterations |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in arguments.only.split(","):
        case = CASES[name]
        graph = graphs.load(arguments.graph + case.kind)
        for device in arguments.devices:
            print(row(name, case, graph, device, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
