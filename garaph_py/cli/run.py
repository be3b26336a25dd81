"""``garaph run`` and ``garaph apps``."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..apps import registry as programs
from ..errors import ParameterError, nearest
from ..output import Progress
from ..program import VertexId, VertexProgram
from ..program.fields import hints
from . import many
from .options import (
    AsJson,
    Directed,
    Format,
    NoWeights,
    Quiet,
    Smallest,
    SourceColumn,
    Symmetrize,
    TargetColumn,
    Threads,
    WeightColumn,
)  # fmt: skip
from .outputs import check_outputs, writer
from .recovery import saying_how_to_resume, saying_what_is_written
from .request import Request
from .single import Shown, Single
from .terminal import print_json, say

Option = typer.Option
NEAR = 0.8
"""How similar (`difflib`'s ratio, from 0 to 1) an option must be to an unknown one to be suggested."""


class RunCommand(TyperCommand):
    """The command, whose errors for options say how to give parameters of the program, several sources, and numbers."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if sum(one == "--source" or one.startswith("--source=") for one in args) > 1:
            raise typer.BadParameter(
                "given twice; give one vertex, or several with --sources A,B", param_hint="--source"
            )
        given = [*args]  # the parser removes what it has read
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if "valid integer" in error.message:
                error.message = "write a whole number"
            raise
        except Exception as error:
            if option := getattr(error, "option_name", ""):  # it is unknown, or lacks a value, or takes none
                known = [name for one in self.get_params(ctx) for name in (*one.opts, *one.secondary_opts)]
                near = [name for name in known if name.startswith(option)]
                near = near or [name for name in (nearest(option, known, NEAR),) if name is not None]
                error.possibilities = near  # type: ignore[attr-defined]
                name = option.removeprefix("--")
                if may_be_parameter(name, given) and not near:
                    error.message += f"; give a parameter of the program by -p {name}=..."  # type: ignore[attr-defined]
            raise


def may_be_parameter(name: str, args: list[str]) -> bool:
    """Whether the program among the arguments of the command has a parameter `name`, or is in a file."""
    from .. import apps as library

    given = next((library.__dict__.get(one, one) for one in args if one in library.__all__ or ".py:" in one), None)
    return name.isidentifier() and (isinstance(given, str) or (given is not None and name in hints(given)))


def check_order(program: str, graph: Path) -> None:
    """Refuse a graph in the place of the program."""
    if os.path.exists(program) and not graph.exists() and (":" in graph.name or program_names(graph.name)):
        raise ParameterError(f"{program} is not a program; the program comes first: garaph run {graph} {program}")


def program_names(incomplete: str) -> list[str]:
    """The library's programs whose names begin so, in upper or lower case, for the shell's completion."""
    from .. import apps as library

    return [name for name in sorted(library.__all__) if name.lower().startswith(incomplete.lower())]


# wide: typer derives the command's options from its signature.
# long: most lines declare these options.
def run(
    context: typer.Context,
    program: Annotated[
        str,
        typer.Argument(
            help="A program of the library (see `garaph apps`), or file.py:ClassName.", autocompletion=program_names
        ),
    ],
    graph: Annotated[Path, typer.Argument(help="A graph directory or its URL, or a file of edges.")],
    source: Annotated[
        str | None, Option(metavar="VERTEX", help="The source vertex, short for -p source=VERTEX.")
    ] = None,
    sources: Annotated[
        str | None,
        Option(
            metavar="A,B,C|@FILE",
            help="Run from each of these vertices, all at once; @FILE has one per line. The file of --output "
            "(.parquet, .csv or .arrow) then has a column for each vertex.",
        ),
    ] = None,
    iterations: Annotated[
        int | None, Option(help="Maximum number of iterations; by default until the run converges.")
    ] = None,
    tolerance: Annotated[float | None, Option(metavar="NUMBER", help="Short for -p tolerance=NUMBER.")] = None,
    parameter: Annotated[
        list[str] | None,
        Option("--parameter", "-p", metavar="NAME=VALUE", help="Set a parameter of the program; repeatable."),
    ] = None,
    threads: Threads = None,
    memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Memory for graph and run, such as 2GiB. A larger graph is packed in memory; if it is still too "
            "large, the edges of a graph directory stay on disk. By default the graph may take four fifths of the "
            "available memory.",
        ),
    ] = None,
    engine: Annotated[
        str,
        Option(
            help="auto; garaph: the paper's rules; on a GPU also emogi, etagraph, grus or hytgraph; switches as in "
            "emogi:align=no; or file.py:ClassName for a policy of your own."
        ),
    ] = "auto",
    mode: Annotated[
        str, Option(help="auto, pull or notify-pull; with engine auto also push, pull-tiled or components.")
    ] = "auto",
    sync: Annotated[
        bool | None,
        Option(
            "--sync/--async",
            help="Make new values visible in the next iteration, or at once; by default at once for monotone programs "
            "that run to convergence.",
        ),
    ] = None,
    encoding: Annotated[
        str,
        Option(
            help="How to hold edges in memory: raw, packed (half the bytes), or auto: packed if raw exceeds --memory."
        ),
    ] = "auto",
    device: Annotated[
        str,
        Option(help="auto, cpu, gpu or hybrid (both); auto takes the one that it expects to be fastest."),
    ] = "auto",
    gpus: Annotated[
        str | None,
        Option(
            metavar="N|all|0,1",
            help="How many GPUs, or which; by default one; with auto and hybrid as many as they expect to be fastest.",
        ),
    ] = None,
    gpu_memory: Annotated[
        str | None,
        Option(metavar="SIZE", help="GPU memory to use, such as 6GiB; by default nine tenths of what is free."),
    ] = None,
    streams: Annotated[int, Option(help="Maximum number of pages in flight on the GPU.")] = 4,
    gather: Annotated[
        str, Option(help="How the GPU sums: replicated, segmented, packed, or auto (decided by measurement).")
    ] = "auto",
    replication: Annotated[
        str, Option(help="Copies of a sum in a GPU's shared memory: custom, calibrated, 1, 2, 4, 8, 16 or 32.")
    ] = "custom",
    gpu_order: Annotated[
        str,
        Option(
            help="How the GPU numbers vertices: given (as the graph), hub (those with many out-edges first), or auto "
            "(hub once that pays). Results are in the graph's order either way."
        ),
    ] = "auto",
    deterministic: Annotated[
        bool, Option("--deterministic", help="Compute the same bits in every run on the same device.")
    ] = False,
    top: Annotated[int, Option(help="How many vertices to print.")] = 10,
    smallest: Smallest = False,
    output: Annotated[
        Path | None, Option(metavar="FILE", help="Write all values to FILE.parquet, .csv or .npy.")
    ] = None,
    raw_names: Annotated[
        bool,
        Option("--raw-names", help="Do not put ' before names in FILE.csv that a spreadsheet would take for formulas."),
    ] = False,
    trace: Annotated[
        Path | None, Option(metavar="FILE", help="Write a timeline of the run to FILE, for ui.perfetto.dev.")
    ] = None,
    report: Annotated[
        Path | None, Option(metavar="FILE.html", help="Write a page with the iterations, curves and a timeline.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        Option(metavar="DIR", help="Keep checkpoints in DIR until the end, for `garaph resume DIR`."),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        Option(
            metavar="N|TIME|page",
            help="Interval: a number of iterations, a time such as 30s, 5min or 1h, or page (with --async); by "
            "default, checkpoints take at most 2 % of the run's time.",
        ),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue from the newest checkpoint, if there is one.")] = False,
    as_json: AsJson = False,
    cluster: Annotated[
        str | None,
        Option(metavar="ADDRESS|local:N", help="Run on a Dask cluster: a scheduler's address, or N workers here."),
    ] = None,
    explain: Annotated[
        bool,
        Option("--explain", help="Do not run; say what stays in memory, what is read, and how long a run may take."),
    ] = False,
    verify: Annotated[bool, Option("--verify", help="Check the answer by the properties that define it.")] = False,
    check: Annotated[
        str, Option(help="Look for NaN and infinity: finite (after every iteration), off, or auto (where it is cheap).")
    ] = "auto",
    debug: Annotated[
        bool, Option("--debug", help="Run in plain Python, for small graphs, and stop at the first wrong number.")
    ] = False,
    undirected: Directed = False,
    symmetrize: Symmetrize = False,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    weight_column: WeightColumn = None,
    no_weights: NoWeights = False,
    format: Format = None,
    quiet: Quiet = False,
) -> None:
    """Run a program and print the vertices with the largest values.

    Examples:

      garaph run PageRank data/debian-sid-deps.tsv.xz --top 10

      garaph run SSSP graph/ --source 6 --verify --output distances.parquet

      garaph run my_program.py:MyProgram edges.csv -p rate=0.5 --iterations 20

      garaph run SSSP graph/ --sources 6,28,496 --output distances.parquet

      garaph run PageRank graph/ --device gpu --gpu-memory 6GiB

      garaph run PageRank graph/ --memory 3GiB --explain

      garaph run PageRank graph/ --cluster tcp://scheduler:8786
    """
    from ..executor.gpu.device import find as find_device
    from ..io.formats import ColumnNames
    from ..io.load import LoadOptions, load
    from ..runtime.gpus import numbers_of
    from ..runtime.options import RunOptions

    outputs = {"output": output, "trace": trace, "report": report}
    check_order(program, graph)
    check_outputs({f"--{name}": path for name, path in outputs.items()}, program, graph)
    kind = programs.find(program)
    given = parameters(kind, source, tolerance, parameter or [])
    request = None if checkpoint is None else Request.of(context).record()
    work: Single | many.Many
    if sources is None:
        work = Single(programs.build(kind, given), request, cluster)
    else:
        many.check_alone(
            {
                "--source": source, "--trace": trace, "--report": report, "--checkpoint": checkpoint,
                "--checkpoint-every": checkpoint_every, "--resume": resume, "--explain": explain, "--debug": debug,
                "--cluster": cluster,
            }
        )  # fmt: skip
        work = many.runs_of(kind, given, many.sources_in(sources))
    write = writer(output, raw_names, sources is not None)
    if explain and cluster is not None:
        raise ParameterError("--explain is about a run on this machine; leave --cluster out")
    if top < 0:
        raise ParameterError(f"--top {top}: give a number of vertices, 0 or more")
    columns = ColumnNames(source_column, target_column, weight_column)
    loading = LoadOptions(undirected, symmetrize, format, encoding, memory, columns, False if no_weights else None)
    options = RunOptions(
        iterations=iterations, engine=engine, mode=mode, sync=sync, threads=threads, device=device, gpus=gpus,
        gpu_memory=gpu_memory, streams=streams, gather=gather, replication=replication, gpu_order=gpu_order,
        deterministic=deterministic, verify=verify, trace=trace, report=report, checkpoint=checkpoint,
        checkpoint_every=checkpoint_every, resume=resume, check=check, debug=debug,
    )  # fmt: skip
    if device == "gpu":  # if one is missing, fail before the graph is read, not after
        for number in numbers_of(options.asked_gpus, 1):
            find_device(number)
    started = time.perf_counter()
    shown = Shown(graph, outputs, write, top, smallest, as_json, quiet, verify, started)
    with saying_how_to_resume(checkpoint), saying_what_is_written(outputs, checkpoint):
        with Progress(quiet) as progress:
            loaded = load(graph, loading, threads, progress)
            read_seconds = time.perf_counter() - started
            if explain:
                print_plan(work.program, loaded, options, as_json)
                return
            answer: Any = work.run(loaded, options, progress)
        work.finish(answer, loaded, shown, read_seconds)


def print_plan(program: VertexProgram, graph: Any, options: Any, as_json: bool) -> None:
    """Print what a run would do."""
    from ..runtime.explain import explain

    plan = explain(program, graph, options)
    if as_json:
        print_json(dataclasses.asdict(plan))
    else:
        for line in str(plan).splitlines():
            say(line)


def apps(as_json: AsJson = False) -> None:
    """List the programs of the library and their parameters.

    Example:

      garaph apps
    """
    from .. import apps as library

    programs = [about(getattr(library, name)) for name in sorted(library.__all__)]
    if as_json:
        print_json({"programs": programs})
        return
    for program in programs:
        each = [item["name"] + f"={item['default']!r}" * (not item["required"]) for item in program["parameters"]]
        print(f"{program['name']}\n    {program['summary']}\n    parameters: {', '.join(each) or 'none'}")


def about(kind: type[VertexProgram]) -> dict[str, Any]:
    """A program's name, the first line of its documentation, and its parameters with their defaults."""
    fields = [item for item in dataclasses.fields(kind) if item.init]  # type: ignore[arg-type]
    return {
        "name": kind.__name__,
        "summary": (kind.__doc__ or "").strip().splitlines()[0],
        "parameters": [
            {"name": item.name, "required": item.default is dataclasses.MISSING, "default": default(item.default)}
            for item in sorted(fields, key=lambda item: item.kw_only is True)
        ],
    }


def default(value: Any) -> Any:
    """A parameter's default as people write it; None if it has none."""
    return getattr(value, "__name__", value) if value is not dataclasses.MISSING else None


def parameters(
    kind: type[VertexProgram], source: str | None, tolerance: float | None, more: list[str]
) -> dict[str, str]:
    """The program's parameters as text, by name; `more` are the parameters given as NAME=VALUE."""
    options = []
    if source is not None:
        options.append((f"--source {source}", source_parameter(kind), source))
    if tolerance is not None:
        options.append((f"--tolerance {tolerance}", "tolerance", repr(tolerance)))
    for item in more:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ParameterError(f"--parameter {item!r}: write NAME=VALUE")
        options.append((f"-p {item}", name, value))
    given: dict[str, tuple[str, str]] = {}
    for option, name, value in options:
        if name in given:
            raise ParameterError(f"{given[name][0]} and {option} both set {name}; leave one out")
        given[name] = option, value
    return {name: value for name, (_, value) in given.items()}


def source_parameter(kind: type[VertexProgram]) -> str:
    """The parameter that ``--source`` sets: the only parameter that is a vertex, or else ``source``."""
    vertices = [name for name, hint in hints(kind).items() if hint == VertexId]
    return vertices[0] if len(vertices) == 1 else "source"
