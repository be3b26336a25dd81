"""`run_many`: runs one program from many sources, with a column of each vertex's value for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..apps.ranks import RankProgram
from ..errors import ParameterError
from ..executor.memory import vertex_bytes
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.many import ResultTable
from ..output.result import Result
from ..program import BoundProgram, VertexId, VertexProgram, bind, oriented
from ..program.bind import scalars
from ..program.columns import MOST_COLUMNS, column_of, joined, may_join
from ..program.fields import hints
from ..system.arguments import check_listener, explained
from ..system.memory import available_memory
from .options import Options, RunOptions, check_run_options
from .result import result_of
from .run import OF_OPTIONS, carry_out, check_program, encoded, execute
from .run import joined as joined_options
from .verify import verifier_of

Array = npt.NDArray[Any]
Make = Callable[[], Result]



@dataclass(frozen=True)
class Block:
    """What programs that ran together have reported: what makes each one's result; and all as rows, if there are."""

    results: list[Make]
    rows: Array | None = None


MEMORY_SHARE = 0.5
"""The share of the memory left that the values of the columns may take: the table needs about as much again."""
REFUSED = ("trace", "checkpoint_every")
"""Options of files about one run."""


@partial(explained, elsewhere=OF_OPTIONS)
def run_many(
    program: VertexProgram | type[VertexProgram] | Sequence[VertexProgram],
    graph: Graph,
    sources: Iterable[Any] | None = None,
    *,
    iterations: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    verify: bool = False,
    options: Options | None = None,
    on_event: events.Listener = events.ignore,
) -> ResultTable:
    """Run a vertex program from many sources at once.

    The value of a vertex becomes a row with up to 16 columns, one for each source. A pass over the edges then serves
    all of them, and one access to memory finds the values of a neighbour in all columns. The program needs no change:
    its functions are applied column by column. Runs are synchronous, and each column stops by itself, so it has the
    answer that `run` gives with ``sync=True``. More sources than fit into a row, or into memory, run in blocks.

    Parameters
    ----------
    program : VertexProgram, class, or sequence of VertexProgram
        The program. A source takes the place of its only `VertexId` parameter, or, for a program with a
        personalization, such as `PageRank`, of that one. A class does if it needs nothing but the source. Instead of
        `sources`, give a list of programs of one class, which may differ in any parameter.
    graph : Graph
    sources : iterable of vertex ids, optional
        The sources, each once; omitted for a list of programs.
    iterations, device, threads, options, on_event
        As for `run`.
    verify : bool
        Check the answer of each column.

    Returns
    -------
    ResultTable

    Raises
    ------
    ParameterError
        If the program has no parameter that a source could be, a source comes twice, or an option is for one run only.
    GraphError
        If a source is not in the graph.

    Notes
    -----
    Programs whose `result` asks for ``parent``, or that define `prepare`, run one after the other.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    >>> gp.run_many(gp.apps.PageRank(damping=0.85), graph, sources=[0, 2]).values.round(3)
    array([[0.389, 0.331],
           [0.331, 0.281],
           [0.281, 0.389]])
    """
    chosen = joined_options(options, iterations=iterations, device=device, threads=threads, verify=verify)
    check_listener(on_event)
    check_graph(graph, "run_many")
    check_options(chosen)
    programs, names = programs_of(program, sources)
    graph = oriented(programs[0], graph) if programs else graph
    chosen = replace(chosen, sync=True)
    done = [run_block(block, graph, chosen, on_event) for block in blocks(programs, graph)]
    results = [result for block in done for result in block.results]
    return ResultTable(names, graph.ids, results, done[0].rows if len(done) == 1 else None)


def check_options(options: RunOptions) -> None:
    """Refuse options that mean something for one run only."""
    for name in REFUSED:
        if getattr(options, name) is not None:
            raise ParameterError(f"options={name}: run_many writes no files; use run for one source")
    if options.sync is False:
        raise ParameterError("options=sync: run_many is synchronous, so that each column has the answer of its own run")


def programs_of(program: Any, sources: Iterable[Any] | None) -> tuple[list[VertexProgram], list[Any]]:
    """The programs to run, and what their columns are called.

    Raises
    ------
    ParameterError
        If `program` is none, or `sources` does not fit it.
    """
    if isinstance(program, Sequence) and not isinstance(program, str):
        if sources is not None:
            raise ParameterError("run_many takes one program with sources, or a list of programs without")
        programs = list(program)
        for each in programs:
            check_program(each, "run_many")
            if type(each) is not type(programs[0]):
                kinds = type(programs[0]).__name__, type(each).__name__
                raise ParameterError(f"run_many takes programs of one class, not {kinds[0]} and {kinds[1]}")
        return programs, list(range(len(programs)))
    is_class = isinstance(program, type) and issubclass(program, VertexProgram)
    if not is_class:
        check_program(program, "run_many")
    if sources is None or isinstance(sources, (str, bytes)) or not isinstance(sources, Iterable):
        raise ParameterError(f"run_many(sources={sources!r}): give a list of vertices, or a list of programs instead")
    names = [item.item() if hasattr(item, "item") else item for item in sources]
    try:
        twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    except ValueError:  # an array of arrays
        raise ParameterError("run_many(sources=...): give a flat list of vertices") from None
    if twice is not None:
        raise ParameterError(f"run_many(sources=...): {twice!r} comes twice")
    name = source_parameter(program if is_class else type(program))
    return [started_at(program, name, source) for source in names], names


def source_parameter(kind: type[VertexProgram]) -> str:
    """The name of the parameter that says where a program starts.

    Raises
    ------
    ParameterError
        If there is none, or more than one could be meant.
    """
    vertices = [name for name, hint in hints(kind).items() if hint == VertexId]
    if len(vertices) == 1:
        return vertices[0]
    if not vertices and issubclass(kind, RankProgram):
        return "personalization"
    has = f"has {len(vertices)} parameters" if vertices else "has no parameter"
    raise ParameterError(
        f"run_many: {kind.__name__} {has} that a source could be (annotated with gp.VertexId); give a list of programs"
    )


def started_at(program: Any, name: str, source: Any) -> VertexProgram:
    """`program`, an instance or a class, with `source` as its parameter `name`."""
    value = {source: 1.0} if name == "personalization" else source
    if isinstance(program, type):
        made: VertexProgram = program(**{name: value})
        return made
    given = {item.name: getattr(program, item.name) for item in fields(program) if item.init}
    started: VertexProgram = type(program)(**given | {name: value})
    return started


def blocks(programs: list[VertexProgram], graph: Graph) -> Iterator[list[VertexProgram]]:
    """The programs in blocks that run together: as many as fit a row and memory, and about equally many in each."""
    if not programs:
        return
    first = bind(programs[0], graph)
    width = width_of(first, graph) if may_join(first) else 1
    count = -(-len(programs) // width)
    for k in range(count):
        yield programs[k * len(programs) // count : (k + 1) * len(programs) // count]


def width_of(bound: BoundProgram, graph: Graph) -> int:
    """How many columns of such a program fit a row, and the memory that is left."""
    numbers = max(len(scalars(bound.value)), len(scalars(bound.accumulator)))
    data = 0 if bound.vertex_data is None else bound.vertex_data.itemsize
    column = graph.n * (2 * bound.value.itemsize + bound.reports.itemsize + data)
    memory = available_memory() if graph.memory is None else graph.memory - vertex_bytes(bound, graph, arrays=2)
    return max(1, min(MOST_COLUMNS // numbers, int(MEMORY_SHARE * memory / max(column, 1))))


def run_block(programs: list[VertexProgram], graph: Graph, options: RunOptions, on_event: events.Listener) -> Block:
    """Run programs together."""
    if len(programs) == 1:
        alone = execute(programs[0], graph, options, on_event)
        return Block([lambda: alone])
    columns = [bind(program, graph) for program in programs]
    bound = joined(columns)
    check_run_options(options, bound, graph)
    rows = carry_out(bound, encoded(graph, options), replace(options, verify=False), on_event, None)
    made: list[Make] = [partial(column_result, rows, column, c) for c, column in enumerate(columns)]
    if options.verify:
        for program, make in zip(programs, made, strict=True):
            verifier_of(program)(graph, make())
    return Block(made, as_matrix(rows.values, columns[0].reports))


def as_matrix(rows: Array, dtype: np.dtype[Any]) -> Array | None:
    """Rows with columns of the scalar `dtype` as a matrix, without a copy; None if columns are structures."""
    return None if dtype.names else rows.view(dtype).reshape(len(rows), -1)


def column_result(rows: Result, column: BoundProgram, number: int) -> Result:
    """The result of one column."""
    return result_of(column, rows.vertex_ids, column_of(rows.values, column.reports, number), rows.stats)
