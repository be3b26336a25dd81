"""`run_many`: runs one program from many sources, with a column of each vertex's value for each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from .. import events
from ..apps.ranks import RankProgram
from ..errors import ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.many import ResultTable
from ..program import VertexId, VertexProgram
from ..program.fields import hints
from ..system.arguments import check_listener, explained
from .many_blocks import in_blocks
from .options import Options, RunOptions
from .run import OF_OPTIONS, check_program, joined
from .verify import verifier_of

REFUSED = ("trace", "checkpoint_every")
"""Options of files about one run."""


@partial(explained, elsewhere=OF_OPTIONS)
# wide: the options that many runs need, as in `run`.
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
        The program. Each source replaces its only `VertexId` parameter or, in a program with a personalization, such as
        `PageRank`, the personalization. You may give the class if the source is all that it needs. Instead of
        `sources`, you may give a list of programs of one class, which may differ in any parameter.
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
    Programs whose `result` asks for ``parent``, or that define `prepare` or `gather_out`, run one after the other.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 2], [1, 2, 0])
    >>> gp.run_many(gp.apps.PageRank(damping=0.85), graph, sources=[0, 2]).values.round(3)
    array([[0.389, 0.33 ],
           [0.33 , 0.281],
           [0.281, 0.389]])
    """
    chosen = joined(options, iterations=iterations, device=device, threads=threads, verify=verify)
    check_listener(on_event)
    check_graph(graph, "run_many")
    check_options(chosen)
    programs, names = programs_of(program, sources)
    if programs and verify:
        verifier_of(programs[0])  # refuses programs without one
    chosen = replace(chosen, sync=True)
    done = list(in_blocks(programs, graph, chosen, on_event))
    results = [result for block in done for result in block.results]
    rows = [block.rows for block in done if block.rows is not None]
    return ResultTable(names, graph.ids, results, rows if len(rows) == len(done) else ())


def check_options(options: RunOptions) -> None:
    """Refuse options that mean something for one run only."""
    for name in REFUSED:
        if getattr(options, name) is not None:
            raise ParameterError(f"options={name}: run_many writes no files; use run for one source")
    if not options.fetch:
        raise ParameterError("options=fetch: run_many makes a table, which is on the host; leave fetch=False out")
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
    is_one = isinstance(sources, (str, bytes)) or getattr(sources, "ndim", 1) == 0
    if sources is None or is_one or not isinstance(sources, Iterable):
        raise ParameterError(f"run_many(sources={sources!r}): give a list of vertices, or a list of programs instead")
    names = [item.item() if getattr(item, "ndim", None) == 0 else item for item in sources]
    try:
        counts = Counter(names)
    except TypeError:  # a list or an array is among them
        raise ParameterError("run_many(sources=...): give a flat list of vertices") from None
    if len(counts) < len(names):
        raise ParameterError(f"run_many(sources=...): {counts.most_common(1)[0][0]!r} comes twice")
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
