"""The spec of simulations: a TOML file with a machine, graphs and runs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from .. import events
from ..dispatch.engines import engine_of
from ..errors import ParameterError, UnknownVertexError
from ..executor.gpu.settings import ListPush
from ..executor.modes import CPU, GPU
from ..experiment import toml
from ..experiment.graphs import named
from ..experiment.spec import build, find, program_of
from ..graph import Graph
from ..program import BoundProgram, VertexProgram, bind
from ..runtime.options import ANY, HYBRID
from .frontiers import activities
from .gpus import check_devices
from .machine import HINT, Machine, read_machine
from .partitions import check_lists
from .parts import Parts, parts_of
from .peers import Gpus, gpus_of
from .workload import Activity, Layout, Workload, bind_for_types, in_order, workload_of

KEYS = ("machine", "engine", "device", "layout", "parts", "gpus", "graphs", "runs")
LAYOUT_KEYS = ("edge_bytes", "vertex_bytes", "pages", "keep", "on_disks")
GRAPH_KEYS = ("vertices", "edges", "lists", "weighted", "directed", "source")
RUN_KEYS = ("graph", "program", "iterations", "active", "fade", "published")
DEVICES = (CPU, GPU, HYBRID)
RUN = "run"
"""As `active` of a run: its supersteps are done here, on the CPU."""


class Sizes(NamedTuple):
    """A graph that is given by numbers.

    Attributes
    ----------
    vertices, edges : int
    lists : int or None
        Vertices with in-edges; None: as in a random graph.
    weighted : bool
        Edges have values.
    """

    vertices: int
    edges: int
    lists: int | None = None
    weighted: bool = False


@dataclass(frozen=True)
class SpecRun:
    """A run to simulate, from a spec.

    Attributes
    ----------
    graph : str
    program : VertexProgram
    engine : str
    workload : Workload
    published : dict of str to float
        Seconds that were measured elsewhere, by device.
    """

    graph: str
    program: VertexProgram
    engine: str
    workload: Workload
    published: dict[str, float]


@dataclass(frozen=True)
class Spec:
    """The contents of a spec.

    Attributes
    ----------
    machine : Machine
    devices : tuple of str
    runs : tuple of SpecRun
        Each of the file's, under each engine.
    parts : Parts or None
        None if each run has one machine.
    gpus : Gpus or None
        None if each run has one GPU at most.
    """

    machine: Machine
    devices: tuple[str, ...]
    runs: tuple[SpecRun, ...]
    parts: Parts | None = None
    gpus: Gpus | None = None


def read_spec(
    path: str | os.PathLike[str], iterations: int | None = None, on_event: events.Listener = events.ignore,
    engine: str | None = None, device: str | None = None,
) -> Spec:  # fmt: skip
    """Read the spec in the TOML file `path`, with at most `iterations` iterations per run, for its engines and
    devices or others.

    Raises
    ------
    FormatError
        If the file is missing or is not TOML.
    ParameterError
        If a key or a value is not allowed; the message names it.
    """
    asked = {name: given for name, given in (("engine", engine), ("device", device)) if given is not None}
    return toml.read(path, lambda document, text, folder: spec_of(document | asked, folder, iterations, on_event), HINT)


def spec_of(
    document: dict[str, Any], folder: Path, iterations: int | None, on_event: events.Listener
) -> Spec:  # fmt: skip
    """The spec in a parsed TOML document; its paths are relative to `folder`."""
    toml.known(document, KEYS, "")
    layout, graphs = toml.table(document, "layout"), toml.table(document, "graphs")
    toml.known(layout, LAYOUT_KEYS, "layout: ")
    devices = tuple(toml.one_of({"device": one}, "device", DEVICES) for one in toml.listed(document.get("device", CPU)))
    if "machine" not in document:
        raise ParameterError('machine is missing; add machine = "machine.toml", a file that `garaph calibrate` writes')
    machine = read_machine(folder / toml.string(document, "machine"))
    runs = toml.tables(document, "runs")
    given = [toml.string({"engine": one}, "engine") for one in toml.listed(document.get("engine", ANY))]
    engines = list(dict.fromkeys(given))
    if not runs or not devices or not engines:
        raise ParameterError("nothing to simulate; write [[runs]], and at least one device and one engine")
    sizes = {name: graph_of(name, given, folder, on_event) for name, given in graphs.items()}
    specified = tuple(
        run_of(given, f"runs {number}: ", engine, sizes, layout, folder, iterations)
        for number, given in enumerate(runs, 1)
        for engine in engines
    )
    for engine in engines:  # the file of a program may have registered it
        check_simulated(engine, folder)
    parts, gpus = parts_of(document), gpus_of(document)
    if parts is not None and gpus is not None:
        raise ParameterError("parts are those of machines with one GPU at most; leave [parts] or [gpus] out")
    if gpus is not None:
        check_devices(devices)
    return Spec(machine, devices, specified, parts, gpus)


def check_simulated(engine: str, folder: Path | None = None) -> ListPush | None:
    """How an engine pushes along lists; its file's path is relative to `folder`.

    Raises
    ------
    ParameterError
        If it does not exist, or cannot be simulated.
    """
    lists = engine_of(engine, folder).lists
    check_lists(engine, lists)
    return lists


def graph_of(name: str, given: Any, folder: Path, on_event: events.Listener) -> tuple[Graph | Sizes, bool]:
    """A graph, or its numbers; and whether it is directed."""
    where = f"graphs.{name}: "
    if not isinstance(given, dict):
        raise ParameterError(f"{where}give a table with vertices and edges, or with a source")
    toml.known(given, GRAPH_KEYS, where)
    if "source" in given:
        graph = named(toml.string(given, "source", where), folder).load(on_event)
        return graph, graph.directed
    vertices, edges = toml.count(given, "vertices", 1, where), toml.count(given, "edges", 0, where)
    lists = toml.count(given, "lists", 0, where) if "lists" in given else None
    if lists is not None and lists > min(vertices, edges):
        raise ParameterError(f"{where}lists={lists}: more vertices with in-edges than vertices, or than edges")
    return Sizes(vertices, edges, lists, toml.flag(given, "weighted", False)), toml.flag(given, "directed", True)


def run_of(
    given: dict[str, Any], where: str, engine: str, graphs: dict[str, tuple[Graph | Sizes, bool]],
    layout: dict[str, Any], folder: Path, iterations: int | None,
) -> SpecRun:  # fmt: skip
    """The run in one ``[[runs]]`` entry, under an engine; error messages begin with `where`."""
    toml.known(given, RUN_KEYS, where)
    name = toml.one_of(given, "graph", tuple(graphs), where)
    if "program" not in given:
        raise ParameterError(f"{where}program is missing; add its name")
    called, parameters = program_of(given["program"])
    program = build(called, find(called, folder), parameters)
    graph, directed = graphs[name]
    sizes = Sizes(graph.n, graph.m, weighted=graph.edge_dtype is not None) if isinstance(graph, Graph) else graph
    vertices, edges = sizes.vertices, sizes.edges
    if given.get("active") == RUN:
        if not isinstance(graph, Graph):
            raise ParameterError(f'{where}active = "{RUN}" needs a graph with a source; give shares, or a source')
        bound = bind(program, graph)
        found = activities(bound, graph, check_simulated(engine, folder))
        count = toml.count({"iterations": max(len(found), 1)} | given, "iterations", 1, where)
        active = found[: count if iterations is None else min(count, iterations)]
    else:
        try:
            bound = bind_for_types(program, sizes.weighted)
        except UnknownVertexError:
            problem = f"graph {name!r} is given by numbers, and has no vertices to name"
            raise ParameterError(f"{where}{problem}; write 0 for a vertex of {called}, such as its source") from None
        check_shares(given, bound, where)
        count = toml.count({"iterations": 10} | given, "iterations", 1, where)
        shares = itertools.islice(shares_of(given, where), count if iterations is None else min(count, iterations))
        active = in_order(Activity(max(round(some * vertices), 1), round(leave * edges)) for some, leave in shares)
    published = given.get("published", {})
    if not isinstance(published, dict) or set(published) - set(DEVICES):
        raise ParameterError(f"{where}published={published!r}: give seconds by device, {', '.join(DEVICES)}")
    of = graph if isinstance(graph, Graph) else (vertices, edges)
    workload = workload_of(bound, of, active, synchronous=True, directed=directed, layout=layout_of(layout, edges))
    if sizes.lists is not None:
        workload = replace(workload, known_shape=replace(workload.shape, lists=sizes.lists))
    known = {key: toml.positive(published, key, f"{where}published: ") for key in published}
    return SpecRun(name, program, engine, workload, known)


def check_shares(given: dict[str, Any], bound: BoundProgram, where: str) -> None:
    """Refuse a program that begins with a frontier, such as a search, if the spec does not say how large that becomes.

    If all its vertices counted as active, all would count as reached, and pulls would have nothing left to visit.
    """
    if "active" not in given and "frontier" in bound.arguments:
        found = f', or active = "{RUN}" for a graph with a source' if bound.is_relaxation else ""
        raise ParameterError(
            f"{where}active is missing: {bound.name} begins with a few active vertices, and the simulation does not "
            f"know how many there are later; add active = [...], their share in each iteration{found}"
        )


def layout_of(given: dict[str, Any], edges: int) -> Layout:
    """The ``[layout]`` table, for a graph with `edges` edges."""
    pages, where = toml.count({"pages": 0} | given, "pages", 0, "layout: "), "layout: "
    return Layout(
        edge_bytes=toml.positive(given, "edge_bytes", where) if "edge_bytes" in given else None,
        vertex_bytes=toml.positive(given, "vertex_bytes", where) if "vertex_bytes" in given else None,
        on_disks=toml.flag(given, "on_disks", False),
        keep=toml.flag(given, "keep", True),
        page_edges=max(edges // pages, 1) if pages else None,
    )


def shares_of(given: dict[str, Any], where: str) -> Iterator[tuple[float, float]]:
    """For each iteration, the share of active vertices, and the share of the edges that lead from them; the same if one
    is given.

    After the last ones listed, each share is `fade` times the previous one.
    """
    listed_shares = toml.listed(given.get("active", 1.0))
    if not listed_shares:
        raise ParameterError(f"{where}active is an empty list; give at least one share")
    given_pairs = [one if isinstance(one, list) and len(one) == 2 else [one, one] for one in listed_shares]
    pairs = [tuple(toml.share({"active": one}, "active", 1.0, where) for one in pair) for pair in given_pairs]
    fade, (some, leave) = toml.share(given, "fade", 1.0, where), pairs[-1]
    yield from ((some, leave) for some, leave in pairs)
    while True:
        some, leave = some * fade, leave * fade
        yield some, leave
