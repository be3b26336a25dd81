"""The functions of `garaph_py.algorithms` beside those of other libraries, on two cores.

    python scripts/bench_library.py [--graphs debian linux-symrefs rmat] [--only core_number,k_core] [--rounds 3]
    python scripts/bench_library.py --graphs rmat --devices cpu gpu

The others are NetworkX, igraph, NetworKit and graphblas-algorithms, where they are installed and have the function. The
graphs are the shipped one, linux-symrefs from $GARAPH_REFERENCE_DATA, and R-MAT of scale 20 with 20 edges a vertex, all
without parallel edges and self-loops. Functions for undirected graphs get the edges without directions, and those for
graphs without cycles get each edge from its lesser vertex to the larger.

A time is that of a whole call, from the library's own graph to its own answer: the median of the rounds. In a round
each library has its turn. A first call of ours compiles and is not timed. What an earlier call has kept of the graph is
dropped where that can be. A library whose first call takes longer than `--patience` is not called again. NetworkX is
left out of graphs of more than `--networkx-edges`, and a call of it that takes longer than `--limit` is broken off; its
cell then says so. Answers are compared with ours: those that are defined must be the same, others must have the
properties that define them.

With ``--devices``, the functions that run a vertex program get each of these as `device`, with no other library beside
them: weakly connected components over undirected edges. Where a function has a kernel of its own for raw edges in
memory (as `core_number` and `hits` have, and searches for paths to given targets), it runs that on the CPU, and its
vertex program on a GPU. The first device stands in the place of ours. What earlier calls have kept of the graph, on a
GPU too, stays there.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from peers import garaph
from peers.edges import Arguments, Array, Edges

import garaph_py as gp
from garaph_py.algorithms.betweenness_centrality import chosen_sources
from garaph_py.algorithms.seeds import generator

OURS = "garaph_py"
PEERS = "networkx", "igraph", "networkit", "graphblas"
SOURCES, HUBS = 16, 64
SHIPPED = Path(__file__).parents[1] / "data/debian-sid-deps.tsv.xz"
GRAPHS = "debian", "linux-symrefs", "rmat"

UNDIRECTED = (
    "core_number", "k_core", "k_shell", "k_crust", "k_corona", "h_index", "k_truss", "triangles", "clustering",
    "average_clustering", "transitivity", "eigenvector_centrality",
    "maximal_independent_set", "label_propagation_communities", "betweenness_centrality", "closeness_centrality",
    "harmonic_centrality", "shortest_path_tree", "shortest_path", "single_source_shortest_path",
    "multi_source_dijkstra_path_length", "random_walks",
)  # fmt: skip
DIRECTED = (
    "strongly_connected_components", "is_strongly_connected", "number_strongly_connected_components",
    "weakly_connected_components", "is_weakly_connected", "number_weakly_connected_components", "katz_centrality",
    "hits",
)  # fmt: skip
ACYCLIC = "topological_generations", "is_directed_acyclic_graph"

PARTITIONS = {"strongly_connected_components", "weakly_connected_components", "label_propagation_communities"}
SCALED = {"betweenness_centrality", "eigenvector_centrality", "katz_centrality", "hits"}
"""Functions whose answer libraries scale in different ways."""
OTHER = {
    "label_propagation_communities": PEERS[1:],
    "betweenness_centrality": ("networkit",),
    "k_core": ("igraph",),
    "k_truss": ("graphblas",),
    "average_clustering": ("networkit",),
    "katz_centrality": ("networkit", "graphblas"),
}
"""Answers that are not compared: labels and sources drawn at random; subgraphs whose vertices have other numbers; a
mean over vertices with two neighbours and more; Katz centralities without the last power of alpha, or without vertices
that have no in-edges."""


def edges_of(name: str) -> Edges | None:
    """The directed edges of a graph; None if it is absent."""
    if name == "debian":
        graph = gp.read(SHIPPED)
    elif name == "rmat":
        graph = gp.rmat(20, 20)
    else:
        path = Path(os.environ.get("GARAPH_REFERENCE_DATA", "")) / f"{name}.npz"
        if not path.exists():
            return None
        with np.load(path) as held:
            graph = gp.from_edges(held["src"], held["dst"], vertices=np.arange(int(held["n"])))
    out = graph._arrays.out_edges
    return simple(graph.n, np.repeat(np.arange(graph.n), np.diff(out.offsets)), out.neighbours, directed=True)


def simple(n: int, sources: Array, targets: Array, directed: bool) -> Edges:
    """Each edge once, and no self-loop."""
    keys = np.unique((sources.astype(np.int64) << 32 | targets)[sources != targets])
    return Edges(n, keys >> 32, keys & 0xFFFFFFFF, directed)


def kinds(edges: Edges, on_devices: bool) -> list[tuple[Sequence[str], Callable[[], Edges]]]:
    """The functions for each kind of graph, or those that run a program, and what makes the graph."""
    directed, undirected, acyclic = DIRECTED, UNDIRECTED, ACYCLIC
    if on_devices:
        directed, undirected, acyclic = garaph.DIRECTED_PROGRAMS, garaph.UNDIRECTED_PROGRAMS, garaph.ACYCLIC_PROGRAMS
    low, high = np.minimum(edges.sources, edges.targets), np.maximum(edges.sources, edges.targets)
    return [
        (directed, lambda: edges),
        (undirected, lambda: simple(edges.n, low, high, directed=False)),
        (acyclic, lambda: simple(edges.n, low, high, directed=True)),
    ]


def arguments_for(edges: Edges) -> Arguments:
    degrees = np.bincount(edges.sources, minlength=edges.n) + np.bincount(edges.targets, minlength=edges.n)
    sources = chosen_sources(edges.n, SOURCES, generator(1))
    return Arguments(sources.tolist(), np.argsort(-degrees, kind="stable")[:HUBS].tolist())


def refuted(name: str, edges: Edges, ours: Array, theirs: Array) -> str | None:
    """What is wrong with the answer of another library, if anything."""
    if name == "maximal_independent_set":
        return None if is_maximal(edges, theirs) else "the set is not a maximal independent one"
    if name == "topological_generations":
        return None if (theirs[edges.sources] < theirs[edges.targets]).all() else "an edge leads back"
    if name in PARTITIONS:
        pairs = len(np.unique(ours * edges.n + theirs))
        return None if pairs == len(np.unique(ours)) == len(np.unique(theirs)) else "other components"
    if name in SCALED:
        ours, theirs = ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs)
    if ours.shape != theirs.shape:
        return f"{theirs.size} values for {ours.size}"
    return (
        None if np.allclose(ours, theirs, rtol=1e-4, atol=1e-6) else f"off by up to {np.abs(ours - theirs).max():.3g}"
    )


def is_maximal(edges: Edges, chosen: Array) -> bool:
    """Whether no two vertices of the set are neighbours, and all others have a neighbour in it."""
    inside = chosen > 0
    near = np.zeros(edges.n, bool)
    near[edges.targets[inside[edges.sources]]] = True
    near[edges.sources[inside[edges.targets]]] = True
    return bool((near ^ inside).all())


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Raise `TimeoutError` where Python code goes on for longer than this; None is no limit."""

    def end(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Entrant:
    """A library with a graph loaded, and its times for one function after the other.

    A call that takes longer than `limit` seconds is broken off, and the function is then in `endless`.
    """

    def __init__(
        self, name: str, module: Any, edges: Edges, keeps: bool = False, limit: float | None = None
    ) -> None:  # fmt: skip
        self.name, self.calls, self.keeps, self.limit = name, module.CALLS, keeps, limit
        self.graph = module.load(edges)
        self.answers: dict[str, Array] = {}
        self.times: dict[str, list[float]] = {}
        self.endless: set[str] = set()

    def turn(self, function: str, given: Arguments, patience: float) -> None:
        """Call the function once more, unless its first call took too long."""
        before = self.times.get(function, [])
        if function not in self.calls or function in self.endless or (before and before[0] > patience):
            return
        if isinstance(self.graph, gp.Graph) and not self.keeps:
            self.graph.release()
        began = time.perf_counter()
        try:
            with at_most(self.limit):
                found = self.calls[function].run(self.graph, given)
        except TimeoutError:
            self.endless.add(function)
            return
        self.times[function] = [*before, time.perf_counter() - began]
        if not before:
            self.answers[function] = self.calls[function].answer(found)


def cell(entrant: Entrant | None, function: str, edges: Edges, ours: Entrant) -> str:
    """The median in milliseconds, and how many times ours that is; a mark if the answer is another or took too long."""
    if entrant is not None and function in entrant.endless and entrant.limit:
        return f"> {1e3 * entrant.limit:.3g} (> {entrant.limit / statistics.median(ours.times[function]):.2g})"
    if entrant is None or not entrant.times.get(function):
        return "-"
    median = statistics.median(entrant.times[function])
    text = f"{1e3 * median:.3g}"
    if entrant is ours:
        return text
    text += f" ({median / statistics.median(ours.times[function]):.2g})"
    if entrant.name in OTHER.get(function, ()):
        return text
    wrong = refuted(function, edges, ours.answers[function], entrant.answers[function])
    return f"{text}: {wrong}" if wrong else text


def measure(functions: list[str], edges: Edges, modules: dict[str, Any], options: argparse.Namespace) -> None:
    """Print a row for each function."""
    given, entrants = arguments_for(edges), {}
    for name, module in modules.items():
        is_networkx = name == "networkx"
        if not is_networkx or len(edges.sources) <= options.networkx_edges:
            limit = options.limit if is_networkx else None
            entrants[name] = Entrant(name, module, edges, bool(options.devices), limit)
    ours = next(iter(entrants.values()))
    for function in functions:
        for entrant in entrants.values():
            if isinstance(entrant.graph, gp.Graph):
                entrant.turn(function, given, options.patience)  # compiles
                entrant.times.clear()
        for _ in range(options.rounds):
            for entrant in entrants.values():
                entrant.turn(function, given, options.patience)
        cells = [cell(entrants.get(name), function, edges, ours) for name in columns(options)]
        print(f"| `{function}` | " + " | ".join(cells) + " |", flush=True)


def columns(options: argparse.Namespace) -> Sequence[str]:
    """What is timed, of which the first is ours: a column of the table for each."""
    return options.devices or (OURS, *PEERS)


def entering(options: argparse.Namespace) -> dict[str, Any]:
    """The modules that are there for the columns of the table, by name."""
    if options.devices:
        return {device: garaph.on_device(device) for device in options.devices}
    modules: dict[str, Any] = {OURS: garaph}
    for name in PEERS:
        try:
            modules[name] = importlib.import_module(f"peers.{name}")
        except ImportError as error:
            print(f"{name}: missing ({error})")
    return modules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS)
    parser.add_argument("--only", type=lambda text: text.split(","), help="functions, separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patience", type=float, default=20.0, help="seconds")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a call of NetworkX")
    parser.add_argument("--networkx-edges", type=int, default=1_000_000)
    parser.add_argument("--devices", nargs="+", help="run vertex programs on these, beside no other library")
    options = parser.parse_args()
    modules = entering(options)
    print(", ".join(f"{name} {each.VERSION}" for name, each in modules.items()))
    for name in options.graphs:
        edges = edges_of(name)
        if edges is None:
            print(f"{name}: absent; set GARAPH_REFERENCE_DATA to the folder that has it")
            continue
        for functions, make in kinds(edges, bool(options.devices)):
            chosen = [function for function in functions if function in (options.only or functions)]
            if chosen:
                each = make()
                kind = "directed" if each.directed else "undirected"
                print(f"\n{name}: {each.n:,} vertices, {len(each.sources):,} {kind} edges\n")
                if "networkx" in modules and len(each.sources) > options.networkx_edges:
                    print(f"without NetworkX: more than {options.networkx_edges:,} edges\n")
                named = columns(options)
                print(f"| ms (times {named[0]}) | {' | '.join(named)} |\n|{'---|' * (len(named) + 1)}")
                measure(chosen, each, modules, options)


if __name__ == "__main__":
    main()
