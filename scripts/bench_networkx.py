"""NetworkX's functions through its dispatcher, with ``backend="garaph"`` and without, over R-MAT graphs.

    python scripts/bench_networkx.py                      # 10 thousand to a million edges
    python scripts/bench_networkx.py --scales 9 12 --repeats 5
    python scripts/bench_networkx.py --scales 6 8 10 --diameter

Times are the least of some calls in turns: NetworkX alone; the backend with a conversion in each call; the backend with
the graph that NetworkX has cached. Answers are compared.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx

import garaph_py as gp

EDGES_PER_VERTEX = 16


def graph_of(scale: int, directed: bool, named: bool) -> tuple[Any, Any]:
    """A graph of NetworkX with edge weights from 1 to 9, and the node with the most out-edges."""
    edges = gp.rmat(scale, EDGES_PER_VERTEX, weights=(1, 9)).edges()
    sources, targets, weights = (edges[name].to_pylist() for name in ("source", "target", "weight"))
    if named:
        sources, targets = ([f"n{vertex}" for vertex in ends] for ends in (sources, targets))
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_weighted_edges_from(zip(sources, targets, weights, strict=True))
    return graph, max(graph, key=graph.out_degree if directed else graph.degree)


def calls(graph: Any, hub: Any) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Calls by name; each takes the name of a backend."""
    yield "pagerank", lambda backend: nx.pagerank(graph, backend=backend)
    yield "shortest_path_length", lambda backend: nx.shortest_path_length(graph, hub, backend=backend)
    yield (
        "shortest_path_length, weight",
        lambda backend: nx.shortest_path_length(graph, hub, weight="weight", backend=backend),
    )
    kind = "weakly_connected_components" if graph.is_directed() else "connected_components"
    yield kind, lambda backend: list(getattr(nx, kind)(graph, backend=backend))


def diameters(graph: Any, hub: Any) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """The same, for a graph in which every node reaches every other."""
    yield "diameter", lambda backend: nx.diameter(graph, backend=backend)
    yield "diameter, weight", lambda backend: nx.diameter(graph, weight="weight", backend=backend)


def seconds(call: Callable[[str], Any], backend: str) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = call(backend)
    return time.perf_counter() - began, answer


def same(first: Any, second: Any) -> bool:
    """Whether two answers agree: dictionaries up to rounding, others as they are."""
    if not isinstance(first, dict):
        return bool(first == second)
    return first.keys() == second.keys() and all(
        math.isclose(value, second[key], abs_tol=1e-9) for key, value in first.items()
    )


def measure(graph: Any, named: Iterator[tuple[str, Callable[[str], Any]]], repeats: int) -> Iterator[str]:
    """A row of the table for each call on the graph."""
    for name, call in named:
        graph.__networkx_cache__.clear()
        call("garaph")  # compiles, and reads the cached graph
        times: dict[str, list[float]] = {"alone": [], "converted": [], "cached": []}
        for _ in range(repeats):
            alone, expected = seconds(call, "networkx")
            graph.__networkx_cache__.clear()
            converted, found = seconds(call, "garaph")
            cached, _ = seconds(call, "garaph")
            assert same(expected, found), name
            for key, value in zip(times, (alone, converted, cached), strict=True):
                times[key].append(value)
        alone, converted, cached = (min(each) for each in times.values())
        yield (
            f"| {name} | {graph.number_of_edges():,} | {1e3 * alone:.1f} | {1e3 * converted:.1f} | {1e3 * cached:.1f} "
            f"| {alone / converted:.1f} | {alone / cached:.1f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", type=int, nargs="+", default=[9, 11, 13, 16])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--directed", action="store_true")
    parser.add_argument("--named", action="store_true", help="nodes are strings")
    parser.add_argument("--diameter", action="store_true", help="the diameter of the largest component instead")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "Note: conversions to backend graphs are saved to cache")
    print("| function | edges | NetworkX, ms | converted, ms | cached, ms | times as fast | cached |")
    print("|---|---|---|---|---|---|---|")
    for scale in given.scales:
        graph, hub = graph_of(scale, given.directed, given.named)
        if given.diameter:
            graph = graph.subgraph(nx.node_connected_component(graph, hub)).copy()
        named = (diameters if given.diameter else calls)(graph, hub)
        for row in measure(graph, named, given.repeats):
            print(row, flush=True)


if __name__ == "__main__":
    main()
