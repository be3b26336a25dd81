"""``garaph run-many`` runs a program from several sources at once."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..apps import registry as programs
from ..errors import ParameterError, printable
from ..output import Progress
from ..program import VertexProgram
from ..system.sizes import counted, show_seconds
from . import show
from .options import AsJson, Directed, Format, NoWeights, Quiet, Smallest, Symmetrize, Threads
from .outputs import check_outputs
from .run import check_order, parameters, program_names
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..output.many import ResultTable

Option = typer.Option


# wide: typer derives the command's options from its signature.
# long: most lines declare these options.
def run_many(
    program: Annotated[
        str,
        typer.Argument(
            help="A program of the library (see `garaph apps`), or file.py:ClassName.", autocompletion=program_names
        ),
    ],
    graph: Annotated[Path, typer.Argument(help="A graph directory, or a file of edges.")],
    sources: Annotated[list[str] | None, typer.Argument(help="The source vertices.")] = None,
    sources_from: Annotated[
        Path | None, Option(metavar="FILE", help="Take the sources from a text file, one a line.")
    ] = None,
    iterations: Annotated[int | None, Option(help="Maximum number of iterations; else until all converge.")] = None,
    parameter: Annotated[
        list[str] | None, Option("--parameter", "-p", help="NAME=VALUE, for any of the program's parameters.")
    ] = None,
    threads: Threads = None,
    memory: Annotated[
        str | None, Option(metavar="SIZE", help="Memory for graph and run, such as 2GiB, as for `garaph run`.")
    ] = None,
    device: Annotated[str, Option(help="auto, cpu, gpu or hybrid (both at once).")] = "auto",
    verify: Annotated[bool, Option("--verify", help="Check each answer by the properties that define it.")] = False,
    top: Annotated[int, Option(help="How many vertices to print for each source.")] = 3,
    smallest: Smallest = False,
    output: Annotated[
        Path | None, Option(help="Write FILE.parquet: the ids, and a column of values for each source.")
    ] = None,
    as_json: AsJson = False,
    undirected: Directed = False,
    symmetrize: Symmetrize = False,
    no_weights: NoWeights = False,
    format: Format = None,
    quiet: Quiet = False,
) -> None:
    """Run a program from several sources at once, and print the vertices with the largest values for each.

    A pass over the edges serves all sources. A source takes the place of the program's only parameter that is a vertex,
    or of the personalization of PageRank.

    Examples:

      garaph run-many SSSP graph/ 6 17 20 --output distances.parquet

      garaph run-many PageRank data/debian-sid-deps.tsv.xz vim emacs-nox --top 5
    """
    from ..io.load import LoadOptions, load
    from ..runtime.many import run_many as run

    check_order(program, graph)
    check_outputs({"--output": output}, program, graph)
    if output is not None and output.suffix != ".parquet":
        raise ParameterError(f"--output {output}: the name must end in .parquet")
    if top < 0:
        raise ParameterError(f"--top {top}: give a number of vertices, 0 or more")
    names = names_of(sources or [], sources_from)
    chosen = programs_from(programs.find(program), parameter or [], names)
    loading = LoadOptions(undirected, symmetrize, format, memory=memory, weights=False if no_weights else None)
    started = time.perf_counter()
    with Progress(quiet) as progress:
        loaded = load(graph, loading, threads, progress)
        found = run(
            chosen, loaded, iterations=iterations, device=device, threads=threads, verify=verify, on_event=progress
        )
    table = found.named(names)
    if output is not None:
        table.to_parquet(output)
    seconds = time.perf_counter() - started
    if as_json:
        print_json(document(table, top, smallest, seconds))
        return
    show_table(table, top, smallest)
    say(f"{counted(len(names), 'source')} in {show_seconds(seconds)}" + "; all answers verified" * verify)
    if output is not None:
        say(f"wrote {len(loaded.ids):,} rows to {output}")


def names_of(given: list[str], file: Path | None) -> list[str]:
    """The sources, as text: the `given` ones, and those of a file."""
    names = [*given, *lines_of(file)] if file is not None else given
    if not names:
        raise ParameterError("there is no source; name vertices after the graph, or a file of them with --sources-from")
    twice, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ParameterError(f"the source {twice!r} comes {times} times; name each once")
    return names


def lines_of(file: Path) -> list[str]:
    """The lines of a text file that are not empty."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text in UTF-8"
        raise ParameterError(f"--sources-from {file}: {reason}; give a text file with a vertex a line") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def programs_from(kind: type[VertexProgram], given: list[str], sources: list[str]) -> list[VertexProgram]:
    """A program for each source, which takes the place of the parameter that `source_parameter` finds."""
    from ..runtime.many import source_parameter

    name, others = source_parameter(kind), parameters(kind, None, None, given)
    if name in others:
        raise ParameterError(f"-p {name}=...: the sources take its place; leave it out")

    def text(source: str) -> str:
        return json.dumps({source: 1.0}) if name == "personalization" else source

    return [programs.build(kind, others | {name: text(source)}) for source in sources]


def show_table(table: ResultTable, count: int, smallest: bool) -> None:
    """Print the vertices with the largest values for each source."""
    for source, result in table.items() if count else ():
        say(f"from {printable(str(source))}:")
        show.top(result, count, smallest)


def document(table: ResultTable, count: int, smallest: bool, seconds: float) -> dict[str, Any]:
    """The object that ``--json`` prints."""
    best = [{"source": source, "top": result.top(count, smallest=smallest)} for source, result in table.items()]
    return {"sources": best, "seconds": seconds}
