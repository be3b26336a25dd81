"""``garaph convert`` converts a graph between file formats; ``garaph formats`` lists the formats."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from ..output import Progress
from .options import (
    AsJson,
    Directed,
    DropParallel,
    DropSelfLoops,
    Encoding,
    NoWeights,
    Quiet,
    SourceColumn,
    Symmetrize,
    TargetColumn,
    Threads,
    WeightColumn,
    format_names,
)  # fmt: skip
from .outputs import check_apart
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..graph import Graph
    from ..io.collect import BuildOptions
    from ..io.formats import Format, ReadOptions

Option = typer.Option
DIRECTORY = "directory"
COLUMNS = ("format", "suffix", "", "ids", "weights", "direction", "isolated", "what it is")


# wide: typer derives the command's options from its signature.
def convert(
    source: Annotated[Path, typer.Argument(metavar="A", help="A graph directory, or a file of edges.")],
    target: Annotated[
        Path, typer.Argument(metavar="B", help="The file to make or replace; without suffix a new graph directory.")
    ],
    from_: Annotated[
        str | None,
        Option("--from", help="The format of A, if its name does not imply it.", autocompletion=format_names),
    ] = None,
    to: Annotated[
        str | None,
        Option(
            "--to", help="The format of B, or directory, if its name does not imply it.", autocompletion=format_names
        ),
    ] = None,
    undirected: Directed = False,
    symmetrize: Symmetrize = False,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    weight_column: WeightColumn = None,
    no_weights: NoWeights = False,
    drop_self_loops: DropSelfLoops = False,
    drop_parallel: DropParallel = False,
    encoding: Encoding = "auto",
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Convert a graph from one format into another.

    The command says what the new format does not keep.

    Examples:

      garaph convert data/debian-sid-deps.tsv.xz debian.parquet

      garaph convert road.mtx.gz road.graph --undirected --drop-self-loops --drop-parallel

      garaph convert twitter.adj twitter --to directory

      garaph convert twitter twitter-packed --encoding packed
    """
    from ..io.collect import BuildOptions
    from ..io.formats import ColumnNames, ReadOptions
    from ..native.threads import ThreadPool
    from ..storage import directory as store
    from ..storage import fit
    from ..storage.write import creating

    check_apart(target, source, str(target))
    fit.check_encoding(encoding)
    format = None if to == DIRECTORY or (to is None and not target.suffix) else file_format(target, to)
    if format is not None and encoding != fit.AUTO:
        raise ParameterError(f"{target} is not a graph directory; --encoding is only for these")
    directed, columns = False if undirected else None, ColumnNames(source_column, target_column, weight_column)
    reading = ReadOptions(False if no_weights else None, directed, ThreadPool(threads).size, columns=columns)
    building = BuildOptions(directed, symmetrize, drop_self_loops, drop_parallel)
    with Progress(quiet) as progress, ExitStack() as stack:
        place = stack.enter_context(creating(target)) if format is None else None  # before any work
        graph = graph_of(source, from_, reading, building, progress)
        if place is not None:
            store.save(graph, place, encoding=encoding, on_event=progress)
        if format is not None:
            from ..io.write import write

            write(graph, target, format=format.name, on_event=progress)
    lost = [] if format is None else losses(graph, format)
    if as_json:
        size = {"vertices": graph.n, "edges": graph.m, "directed": graph.directed}
        print_json({"target": target} | size | {"edge_dtype": graph.edge_dtype, "not_kept": lost})
        return
    say(f"{target}: {str(graph)[8:-1]}")
    for loss in lost:
        say(f"  not kept: {loss}")


def graph_of(
    source: Path, format: str | None, reading: ReadOptions, building: BuildOptions, progress: Progress
) -> Graph:
    """The graph in a graph directory or a file of edges; `format` is needed if the file's name does not imply it."""
    from ..graph.build import without_values
    from ..io.formats import format_of
    from ..io.read import built, check_file, is_graph_directory, read_graph

    if not is_graph_directory(source):
        return read_graph(check_file(source), format_of(source, format), reading, building, progress)
    from ..storage import directory as store

    if building.directed is False or format is not None or reading.columns:
        raise ParameterError(f"{source} is a graph directory; --undirected, --from and names of columns are for files")
    graph = store.open(source, threads=reading.threads, on_event=progress)
    graph = without_values(graph) if reading.weights is False else graph
    return built(source, graph, building, reading.threads, progress)


def file_format(target: Path, name: str | None) -> Format:
    """The format to write. Refuses a name without a format, before anything is read."""
    from ..io.formats import writable

    if target.is_dir():
        raise ParameterError(f"{target} is a directory; give the name of a file")
    return writable(target, name)


def losses(graph: Graph, format: Format) -> list[str]:
    """The properties of `graph` that a file of that format does not keep, as text for the user."""
    found = []
    if format.keeps.ids == "none" and graph.ids.kind != "range":
        found.append("vertex ids; the file numbers vertices as the graph does inside")
    if format.keeps.weights == "none" and graph.edge_dtype is not None:
        found.append("edge values")
    if format.keeps.direction == "one" and not graph.directed:
        found.append("that edges are undirected; read it with --undirected")
    alone = int(((graph.in_degrees + graph.out_degrees) == 0).sum())
    if alone and not format.keeps.isolated:
        found.append(f"{alone:,} vertices without edges")
    return found


def formats(as_json: AsJson = False) -> None:
    """List the formats of graph files, and what each keeps.

    Example:

      garaph formats
    """
    from ..io.formats import FORMATS

    if as_json:
        print_json({"formats": [about(format) for format in FORMATS]})
        return
    rows = [COLUMNS, *map(cells, FORMATS)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    say("A graph directory (garaph import, or convert to a name without suffix) keeps everything.")
    say("direction one: give --undirected to read an undirected graph; isolated: vertices without edges.")


def about(format: Format) -> dict[str, Any]:
    """What there is to know of a format, as JSON has it."""
    compressed = [".gz", ".xz", ".zst"] if format.compresses else []
    facts = {"name": format.name, "suffixes": format.suffixes, "compressed": compressed}
    return facts | {"writes": format.write is not None, "keeps": asdict(format.keeps), "what": format.description}


def cells(format: Format) -> tuple[str, ...]:
    """A row of the table of formats: a cell for each of `COLUMNS`."""
    return (
        format.name,
        " ".join(format.suffixes) + " (.gz .xz .zst)" * format.compresses,
        "reads, writes" if format.write else "reads",
        format.keeps.ids,
        format.keeps.weights,
        format.keeps.direction,
        "kept" if format.keeps.isolated else "lost",
        format.description,
    )
