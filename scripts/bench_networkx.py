"""NetworkX's functions through its dispatcher, with ``backend="garaph"`` and without, over R-MAT graphs.

    python scripts/bench_networkx.py                      # 10 thousand to a million edges
    python scripts/bench_networkx.py --scales 9 12 --repeats 5
    python scripts/bench_networkx.py --scales 6 8 10 --diameter
    python scripts/bench_networkx.py --scales 16 --functions katz_centrality,triangles --repeats 1

Times are the least of some calls in turns: NetworkX alone; the backend with a conversion in each call; the backend with
the graph that NetworkX has cached. Answers are compared. `--functions` takes functions that need a graph, or also its
node with the most edges; after a colon, the parameter that is to be the edges' weight, as in
``closeness_centrality:distance``. In the same turns it measures the conversion alone, one pass of Python over
NetworkX's dictionaries, and Python's garbage collector while NetworkX runs.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import math
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, ValuesView
from itertools import chain, compress, cycle, repeat
from typing import Any

import networkx as nx

import garaph_py as gp
from garaph_py.networkx_backend.convert import convert_from_nx

EDGES_PER_VERTEX = 16
STARTS = "source", "sources", "target", "n"
"""Parameters that take the node with the most edges; `sources` as a list of one."""
ARGUMENTS: dict[str, dict[str, Any]] = {
    "katz_centrality": {"alpha": 1e-4}, "eigenvector_centrality": {"tol": 1e-10},
    "descendants_at_distance": {"distance": 2},
}  # fmt: skip
"""Arguments by which a function converges on these graphs, and to comparable digits; and those that it needs."""


def graph_of(scale: int, directed: bool, named: bool, acyclic: bool = False) -> tuple[Any, Any]:
    """A graph of NetworkX with edge weights from 1 to 9, and the node with the most out-edges."""
    edges = gp.rmat(scale, EDGES_PER_VERTEX, weights=(1, 9)).edges()
    sources, targets, weights = (edges[name].to_pylist() for name in ("source", "target", "weight"))
    if acyclic:
        sources, targets = list(map(min, sources, targets)), list(map(max, sources, targets))
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


def named_calls(graph: Any, hub: Any, functions: list[str]) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """A call for each of these functions of NetworkX."""
    for name in functions:
        plain, _, length = name.partition(":")
        function = getattr(nx, plain) if hasattr(nx, plain) else getattr(nx.community, plain)
        starts = next((key for key in STARTS if key in inspect.signature(function.orig_func).parameters), None)
        given = ARGUMENTS.get(plain, {}) | ({starts: [hub] if starts == "sources" else hub} if starts else {})
        given |= {length: "weight"} if length else {}

        def call(backend: str, function: Any = function, given: dict[str, Any] = given) -> Any:
            answer = function(graph, backend=backend, **given)
            return list(answer) if isinstance(answer, (Iterator, ValuesView, nx.Graph)) else answer

        yield name, call


def one_pass(graph: Any, attribute: str | None) -> None:
    """Read all neighbours and, once for each edge, an attribute, by functions of Python that are written in C."""
    rows = graph._adj.values()
    deque(chain.from_iterable(rows), maxlen=0)
    if attribute is not None:
        data = compress(chain.from_iterable(map(dict.values, rows)), cycle([True, graph.is_directed()]))
        deque(map(dict.get, data, repeat(attribute)), maxlen=0)


def converted_attribute(graph: Any) -> str | None:
    """The edge attribute with which NetworkX had the graph converted; it has cached that."""
    (found,) = graph.__networkx_cache__["backends"]["garaph"].values()
    attribute: str | None = found.weight
    return attribute


class Collector:
    """How long Python has looked for garbage, in seconds."""

    def __init__(self) -> None:
        self.seconds, self._began = 0.0, 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.perf_counter()
        else:
            self.seconds += time.perf_counter() - self._began


def seconds(call: Callable[[str], Any], backend: str) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = call(backend)
    return time.perf_counter() - began, answer


def same(first: Any, second: Any) -> bool:
    """Whether two answers agree: numbers up to rounding, paths in their length, sets in any order."""
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(value, second[key]) for key, value in first.items())
    if isinstance(first, tuple):
        return all(map(same, first, second))
    if isinstance(first, list):
        groups = bool(first) and isinstance(first[0], set)
        return set(map(frozenset, first)) == set(map(frozenset, second)) if groups else len(first) == len(second)
    return bool(first == second) or (
        isinstance(first, float) and math.isclose(first, second, rel_tol=1e-3, abs_tol=1e-9)
    )


def measure(graph: Any, named: Iterator[tuple[str, Callable[[str], Any]]], repeats: int) -> Iterator[str]:
    """A row of the table for each call on the graph."""
    collector = Collector()
    for name, call in named:
        graph.__networkx_cache__.clear()
        call("garaph")  # compiles, and reads the cached graph
        attribute = converted_attribute(graph)
        attributes = None if attribute is None else {attribute: 1}
        turns = []
        for _ in range(repeats):
            before = collector.seconds
            alone, expected = seconds(call, "networkx")
            garbage = collector.seconds - before
            graph.__networkx_cache__.clear()
            converted, found = seconds(call, "garaph")
            cached, _ = seconds(call, "garaph")
            assert same(expected, found), name
            conversion, _ = seconds(lambda _: convert_from_nx(graph, edge_attrs=attributes), "")  # noqa: B023
            least, _ = seconds(lambda _: one_pass(graph, attribute), "")  # noqa: B023
            turns.append((alone, garbage, converted, cached, conversion, least))
        alone, garbage, converted, cached, conversion, least = map(min, zip(*turns, strict=True))
        times = " | ".join(f"{1e3 * each:.1f}" for each in (alone, garbage, converted, cached, conversion, least))
        ratios = " | ".join(f"{alone / each:.1f}" for each in (converted, cached, conversion, least))
        yield f"| {name} | {graph.number_of_edges():,} | {times} | {ratios} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", type=int, nargs="+", default=[9, 11, 13, 16])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--directed", action="store_true")
    parser.add_argument("--acyclic", action="store_true", help="edges lead to larger numbers; with --directed")
    parser.add_argument("--named", action="store_true", help="nodes are strings")
    parser.add_argument("--diameter", action="store_true", help="the diameter of the largest component instead")
    parser.add_argument("--functions", type=lambda text: text.split(","), help="these instead, separated by commas")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "Note: conversions to backend graphs are saved to cache")
    times = "NetworkX, ms", "garbage", "converted", "cached", "conversion", "pass"
    columns = "function", "edges", *times, *(f"/ {each}" for each in times[2:])
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for scale in given.scales:
        graph, hub = graph_of(scale, given.directed, given.named, given.acyclic)
        if given.diameter:
            graph = graph.subgraph(nx.node_connected_component(graph, hub)).copy()
        named = (diameters if given.diameter else calls)(graph, hub)
        if given.functions:
            graph.remove_edges_from(list(nx.selfloop_edges(graph)))
            named = named_calls(graph, hub, given.functions)
        for row in measure(graph, named, given.repeats):
            print(row, flush=True)


if __name__ == "__main__":
    main()
