"""The kinds of experiments: running a program, importing a file, timing pages on a GPU, and counting a graph.

The settings of a kind are the parameters of the functions that it measures, read from their signatures.
"""

from __future__ import annotations

import inspect
import tempfile
import time
import types
import typing
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import events
from ..dispatch.policy import GaraphPolicy
from ..errors import ParameterError
from ..executor.cpu.nearby import has_nearby_sources
from ..executor.gpu import device as gpu_device
from ..executor.gpu.gather import REPLICATED
from ..executor.modes import GPU
from ..graph import Graph
from ..graph.build import rebuilt
from ..graph.order import ORDERS
from ..graph.shape import Shape
from ..io.read import read
from ..output.history import History
from ..output.stats import Stats
from ..program import VertexProgram
from ..program.sources import sources_of
from ..runtime import options
from ..runtime import run as runtime
from ..runtime.options import RunOptions
from ..storage import directory as store
from . import budget, page_times, sources, ways
from .graphs import GraphName

Row = dict[str, Any]

ITERATIONS = "iterations"
"""The table of the parts of a run."""

SCALARS = (bool, int, float, str)
"""Types of settings that a TOML file can express."""
CHOICES = options.CHOICES | {"order": ORDERS}
EACH_WRITES = "each measurement would write it anew; leave it out, and run one combination with `garaph run --{name}`"
PAGES = 33
"""The pages of Garaph's Figure 8."""
KEEPS = "writing checkpoints would be measured, too, and no measurement goes on from another; leave it out"
REFUSED = {
    "trace": EACH_WRITES,
    "report": EACH_WRITES,
    "checkpoint": KEEPS,
    "checkpoint_every": KEEPS,
    "resume": f"{KEEPS}; `garaph experiment --resume` continues an experiment",
    "debug": "plain Python would be measured; leave it out",
}
"""Options of a run that make no sense in an experiment, and why."""


@dataclass(frozen=True)
class Parameter:
    """A setting: the types of its values, its default, and its allowed values (empty if all are allowed)."""

    types: tuple[type, ...]
    default: Any = None
    choices: Collection[str] = ()


def column_type(allowed: tuple[type, ...]) -> type:
    """The type of a column for values of the `allowed` types: str if there are several."""
    return allowed[0] if len(allowed) == 1 else str


@dataclass(frozen=True)
class Combination:
    """One combination of settings, which is measured several times.

    Attributes
    ----------
    number : int
    settings : dict
        All settings, including defaults; each has a column in the results.
    given : dict
        The settings that the spec sets.
    graph : GraphName
    program : VertexProgram or None
    picks : tuple of Pick
        The sources of the program that are chosen when the graph is there.
    """

    number: int
    settings: Row
    given: Row
    graph: GraphName
    program: VertexProgram | None = None
    picks: tuple[sources.Pick, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of experiment.

    Attributes
    ----------
    parameters : dict
        The settings, by name.
    columns : dict
        The types of the measured columns, by name.
    prepare : callable
        ``prepare(graph name, folder, on_event)`` makes the object that all measurements on a graph share; it writes
        files to `folder` only.
    measure : callable
        ``measure(combination, prepared, folder)`` measures once, and returns a row and the rows of its parts.
    forget : callable
        ``forget(prepared)`` gives up what measurements have kept in it.
    parts : str
        The name of the second table, which has the parts of each measurement.
    part_columns : dict
        The types of the columns of a part, by name.
    check : callable
        ``check(combination)`` raises the error that a measurement would, as far as that is known without the graph.
    refused : dict
        Settings that make no sense, and why.
    """

    parameters: dict[str, Parameter]
    columns: dict[str, type]
    prepare: Callable[[GraphName, Path, events.Listener], Any]
    measure: Callable[[Combination, Any, Path], tuple[Row, list[Row]]]
    parts: str = ITERATIONS
    part_columns: dict[str, type] = field(default_factory=dict)
    forget: Callable[[Any], None] = lambda prepared: None
    check: Callable[[Combination], None] = lambda combination: None
    refused: dict[str, str] = field(default_factory=dict)


def scalars(hint: Any) -> tuple[type, ...]:
    """The types in a type hint that are in `SCALARS`."""
    union = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    return tuple(kind for kind in union if kind in SCALARS)


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The keyword-only parameters of `function` that a TOML file can set."""
    hints = typing.get_type_hints(function)
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        allowed = scalars(hints[name])
        if parameter.kind is parameter.KEYWORD_ONLY and allowed:
            found[name] = Parameter(allowed, parameter.default, CHOICES.get(name, ()))
    return found


OF_RUN = {name: parameter for name, parameter in parameters_of(RunOptions).items() if name not in REFUSED}
OF_READ, OF_SAVE = parameters_of(read), parameters_of(store.save)


def iteration_column(name: str) -> str:
    """The name of a column of `Stats.columns` in the results; it differs from the names of all settings."""
    return "iteration" if name == "number" else f"{name}_used" if name in OF_RUN else name


def columns_of_iterations() -> dict[str, type]:
    """The types of the columns of `Stats.columns` and of pages by way, by the columns' names in the results."""
    hints = typing.get_type_hints(events.Iteration) | {"edges_per_second": float}
    names = Stats(History(), False, 0.0, 0).columns()
    types = {iteration_column(name): column_type(scalars(hints[name])) for name in names}
    return types | dict.fromkeys(ways.COLUMNS, int)


@dataclass(frozen=True)
class Prepared:
    """A graph, and what each combination has of its own: a copy of the graph, and the program with its sources."""

    graph: Graph
    own: dict[int, tuple[Graph, VertexProgram]] = field(default_factory=dict)

    @cached_property
    def shape(self) -> Shape:
        """The shape of the graph's lists, which simulations need."""
        return Shape.of(self.graph._arrays.in_edges)


def prepare_run(name: GraphName, folder: Path, on_event: events.Listener) -> Prepared:
    """Load the graph that measurements share."""
    return Prepared(name.load(on_event, folder))


def forget_runs(prepared: Prepared) -> None:
    """Give up what runs have kept of the graph, in memory and on GPUs."""
    for graph, _ in prepared.own.values():
        graph.release()


def check_run(combination: Combination) -> None:
    """Refuse options that contradict each other, and a device that is missing."""
    if RunOptions(**budget.without_share(combination.given)).needs_gpu:
        gpu_device.find()


def measure_run(combination: Combination, prepared: Prepared, folder: Path) -> tuple[Row, list[Row]]:
    """Run a program once."""
    assert combination.program is not None
    if combination.number not in prepared.own:
        # A graph keeps arrays that runs make, such as tiles, for later runs. So each combination gets its own graph.
        program = sources.chosen(combination.program, combination.picks, prepared.graph)
        prepared.own[combination.number] = prepared.graph._replace(), program
    graph, program = prepared.own[combination.number]
    run_options = RunOptions(**budget.sized(combination.given, program, graph))
    started = time.perf_counter()
    stats = runtime.execute(program, graph, run_options).stats
    total = time.perf_counter() - started
    starts = sources_of(program, graph)
    notes = (stats.note, sources.remark(starts, stats, graph.n, named=not combination.picks))
    done, edge_bytes = len(stats.history), budget.read_bytes(program, graph)
    moved = ways.moved_bytes(stats.iterations)
    row = {
        "seconds": stats.seconds,
        "compile_seconds": stats.compile_seconds,
        "placing_seconds": sum(stats.placing.values()),
        "total_seconds": total,
        "iterations_done": done,
        "seconds_per_iteration": stats.seconds / done if done else None,
        "converged": stats.converged,
        "vertices": graph.n,
        "graph_edges": graph.m,
        "graph_weighted": graph.edge_dtype is not None,
        "graph_directed": graph.directed,
        "edges": stats.edges,
        "edges_per_second": stats.edges / stats.seconds if stats.seconds else None,
        "to_device": moved,
        "transfer_over_edges": None if moved is None or not edge_bytes else moved / edge_bytes,
        "from_device": sum(iteration.from_device for iteration in stats.iterations),
        "from_disk": sum(iteration.from_disk for iteration in stats.iterations),
        "gpu_memory_used": run_options.gpu_bytes,
        "device_used": stats.device,
        "threads_used": stats.threads,
        "encoding_used": stats.encoding,
        **{f"graph_{name}": value for name, value in asdict(prepared.shape).items()},
        "graph_nearby": has_nearby_sources(graph._arrays),
        "source": ", ".join(source.vertex for source in starts) or None,
        "source_edges": sum(source.edges for source in starts) if starts else None,
        "note": "; ".join(filter(None, notes)) or None,
    }
    columns = {iteration_column(name): column for name, column in stats.columns().items()}
    each = zip(zip(*columns.values(), strict=True), stats.iterations, strict=True)
    return row, [dict(zip(columns, values, strict=True)) | ways.pages_by_way(one) for values, one in each]


def prepare_import(name: GraphName, folder: Path, on_event: events.Listener) -> Path:
    """The file to import."""
    return name.file(folder, on_event)


def measure_import(combination: Combination, path: Path, folder: Path) -> tuple[Row, list[Row]]:
    """Read a file and save it as a graph directory, once."""
    given = combination.given
    with tempfile.TemporaryDirectory(dir=folder) as place:
        started = time.perf_counter()
        graph = read(path, **{name: given[name] for name in OF_READ if name in given})
        graph = graph.symmetrized(given.get("threads")) if combination.graph.symmetric else graph
        built = time.perf_counter()
        store.save(graph, Path(place) / "graph", **{name: given[name] for name in OF_SAVE if name in given})
        ended = time.perf_counter()
        stored = store.info(Path(place) / "graph")
    row = {
        "seconds": ended - started,
        "read_seconds": built - started,
        "write_seconds": ended - built,
        "vertices": graph.n,
        "graph_edges": graph.m,
        "edges_per_second": graph.m / (ended - started),
        "file_bytes": path.stat().st_size,
        "stored_bytes": stored.stored_bytes,
        "encoding_used": stored.arrays["in_sources"].encoding[0],
    }
    return row, []


@dataclass(frozen=True)
class Orders:
    """A graph, and its copies with the vertices in another order."""

    graph: Graph
    made: dict[str, Graph] = field(default_factory=dict)

    def of(self, order: str) -> Graph:
        """The graph in an order of its vertices."""
        if order not in self.made:
            self.made[order] = self.graph if order == ORDERS[0] else rebuilt(self.graph, order=order)
        return self.made[order]


def prepare_pages(name: GraphName, folder: Path, on_event: events.Listener) -> Orders:
    """Load the graph that measurements share."""
    return Orders(name.load(on_event))


def check_pages(combination: Combination) -> None:
    """Refuse factors that there are not, and a GPU that is missing."""
    settings = combination.settings
    RunOptions(device=GPU, gather=REPLICATED, replication=settings["replication"])
    if settings["pages"] < 1:
        raise ParameterError(f"pages={settings['pages']}: give 1 or more")
    gpu_device.find()


def measure_pages(combination: Combination, prepared: Orders, folder: Path) -> tuple[Row, list[Row]]:
    """Time each page of a graph once."""
    settings = combination.settings
    graph = prepared.of(settings["order"])
    return page_times.measure(
        graph, settings["replication"], settings["pages"], settings["all_vertices"], settings["work_items"]
    )


def prepare_graph(name: GraphName, folder: Path, on_event: events.Listener) -> Graph:
    """Load a graph."""
    return name.load(on_event)


def measure_graph(combination: Combination, graph: Graph, folder: Path) -> tuple[Row, list[Row]]:
    """The numbers of a graph."""
    largest = {name: int(degrees.max(initial=0)) for name, degrees in
               (("largest_in_degree", graph.in_degrees), ("largest_out_degree", graph.out_degrees))}  # fmt: skip
    average = graph.m / graph.n if graph.n else 0.0
    return {"vertices": graph.n, "graph_edges": graph.m, **largest, "average_degree": average}, []


GRAPH = {"graph": Parameter((str,))}
KINDS = {
    "run": Kind(
        {"program": Parameter((str, dict))} | GRAPH | OF_RUN,
        {
            "seconds": float, "compile_seconds": float, "placing_seconds": float, "total_seconds": float,
            "iterations_done": int, "seconds_per_iteration": float, "converged": bool, "vertices": int,
            "graph_edges": int, "graph_weighted": bool, "graph_directed": bool, "edges": int,
            "edges_per_second": float, "to_device": int, "transfer_over_edges": float, "from_device": int,
            "from_disk": int, "gpu_memory_used": int,
            "device_used": str, "threads_used": int, "encoding_used": str,
            "graph_lists": int, "graph_turns": int, "graph_near": float, "graph_far": float, "graph_irregular": float,
            "graph_imbalance": float, "graph_nearby": bool,
            "source": str, "source_edges": int, "note": str, "error": str,
        },
        prepare_run,
        measure_run,
        ITERATIONS,
        columns_of_iterations(),
        forget_runs,
        check_run,
        {name: why.format(name=name) for name, why in REFUSED.items()},
    ),
    "import": Kind(
        GRAPH | OF_READ | OF_SAVE,
        {
            "seconds": float, "read_seconds": float, "write_seconds": float, "vertices": int, "graph_edges": int,
            "edges_per_second": float, "file_bytes": int, "stored_bytes": int, "encoding_used": str, "error": str,
        },
        prepare_import,
        measure_import,
    ),
    "pages": Kind(
        GRAPH
        | {"order": OF_READ["order"], "replication": OF_RUN["replication"]}
        | {"pages": Parameter((int,), PAGES)}
        | {name: Parameter((bool,), getattr(GaraphPolicy, name)) for name in ("all_vertices", "work_items")},
        {
            "seconds": float, "slowest_page_over_fastest": float, "mean_factor": float, "factors": str,
            "pages_made": int, "vertices": int, "graph_edges": int, "error": str,
        },
        prepare_pages,
        measure_pages,
        "page_times",
        {"page": int, "seconds": float, "page_edges": int, "largest_in_degree": int},
        check=check_pages,
    ),
    "graphs": Kind(
        GRAPH,
        {
            "vertices": int, "graph_edges": int, "largest_in_degree": int, "largest_out_degree": int,
            "average_degree": float, "error": str,
        },
        prepare_graph,
        measure_graph,
    ),
}  # fmt: skip
