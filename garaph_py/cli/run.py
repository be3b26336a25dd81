"""``garaph run`` and ``garaph apps``."""

from __future__ import annotations

import inspect
import json
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..apps import registry as programs
from ..errors import ParameterError
from ..output import Progress
from ..program import VertexId, VertexProgram
from ..program.bind import hints
from ..system.files import check_place
from . import show
from .options import Directed, Format, Quiet, Symmetrize, Threads
from .recovery import flushed, saying_how_to_resume, saying_what_is_written
from .request import Request
from .terminal import say

Option = typer.Option


# wide: typer derives the command's options from its signature.
# long: most lines declare these options.
def run(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="A program of the library (see `garaph apps`), or file.py:ClassName.")],
    graph: Annotated[Path, typer.Argument(help="A graph directory, or a file of edges.")],
    source: Annotated[str | None, Option(help="The source vertex, for programs that have one.")] = None,
    iterations: Annotated[int | None, Option(help="Maximum number of iterations; else until it converges.")] = None,
    tolerance: Annotated[float | None, Option(help="The program's tolerance.")] = None,
    parameter: Annotated[
        list[str] | None, Option("--parameter", "-p", help="NAME=VALUE, for every other parameter; repeatable.")
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
    engine: Annotated[str, Option(help="auto, or garaph: the paper's rules to the letter.")] = "auto",
    mode: Annotated[str, Option(help="auto, pull or notify-pull; with engine auto also push or pull-tiled.")] = "auto",
    sync: Annotated[
        bool | None,
        Option("--sync/--async", help="New values are visible in the next iteration, or at once; by default as suits."),
    ] = None,
    encoding: Annotated[
        str,
        Option(
            help="How edges are held in memory: raw, packed (half the bytes) or auto: packed if raw exceeds --memory."
        ),
    ] = "auto",
    device: Annotated[
        str, Option(help="auto, cpu, gpu or hybrid (both at once); auto takes both for large graphs.")
    ] = "auto",
    gpu_memory: Annotated[
        str | None, Option(metavar="SIZE", help="GPU memory to use, such as 6GiB; by default nine tenths of the free.")
    ] = None,
    streams: Annotated[int, Option(help="Maximum number of pages in flight on the GPU.")] = 4,
    gather: Annotated[
        str, Option(help="How the GPU sums: replicated, segmented, packed, or auto (decided by measurement).")
    ] = "auto",
    replication: Annotated[
        str, Option(help="Copies of a sum in a GPU's shared memory: custom, calibrated, 1, 2, 4, 8, 16 or 32.")
    ] = "custom",
    deterministic: Annotated[
        bool, Option("--deterministic", help="The same bits in every run on the same device.")
    ] = False,
    top: Annotated[int, Option(help="How many vertices to print.")] = 10,
    output: Annotated[Path | None, Option(help="Write all values to FILE.parquet, .csv or .npy.")] = None,
    raw_names: Annotated[
        bool,
        Option("--raw-names", help="Put no ' before names in FILE.csv that a spreadsheet would take for formulas."),
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
        Option(metavar="N|TIME", help="Interval: iterations, or 30s, 5min, 1h; by default 2 % of the run's time."),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue from the newest checkpoint, if there is one.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object instead of text.")] = False,
    verify: Annotated[bool, Option("--verify", help="Check the answer by the properties that define it.")] = False,
    check: Annotated[
        str, Option(help="Look for NaN and infinity: finite (after every iteration), off, or auto (where it is cheap).")
    ] = "auto",
    debug: Annotated[
        bool, Option("--debug", help="Run in plain Python and stop at the first number that goes wrong; small graphs.")
    ] = False,
    undirected: Directed = False,
    symmetrize: Symmetrize = False,
    format: Format = None,
    quiet: Quiet = False,
) -> None:
    """Run a vertex program and print the vertices with the largest values.

    Examples:

      garaph run PageRank data/debian-sid-deps.tsv.xz --top 10

      garaph run SSSP graph/ --source 6 --verify --output distances.parquet

      garaph run my_program.py:MyProgram edges.csv -p rate=0.5 --iterations 20

      garaph run PageRank graph/ --device gpu --gpu-memory 6GiB
    """
    from ..executor.gpu.device import find as find_device
    from ..io.load import LoadOptions, load
    from ..runtime import run as runtime
    from ..runtime.options import RunOptions

    kind = programs.find(program)
    chosen = programs.build(kind, parameters(kind, source, tolerance, parameter or []))
    write = writer(output, raw_names)
    for name, path in (("--trace", trace), ("--report", report)):
        if path is not None:
            check_place(path, name)
    if top < 0:
        raise ParameterError(f"--top {top}: give a number of vertices, 0 or more")
    options = RunOptions(
        iterations=iterations, engine=engine, mode=mode, sync=sync, threads=threads, device=device,
        gpu_memory=gpu_memory, streams=streams, gather=gather, replication=replication, deterministic=deterministic,
        verify=verify, trace=trace, report=report, checkpoint=checkpoint, checkpoint_every=checkpoint_every,
        resume=resume, check=check, debug=debug,
    )  # fmt: skip
    if device == "gpu":
        find_device()  # if there is none, fail before the graph is read, not after
    started = time.perf_counter()
    request = None if checkpoint is None else Request.of(context).record()
    outputs = {"output": output, "trace": trace, "report": report}
    with saying_how_to_resume(checkpoint), saying_what_is_written(outputs, checkpoint):
        with Progress(quiet) as progress:
            loaded = load(graph, LoadOptions(undirected, symmetrize, format, encoding, memory), threads, progress)
            read_seconds = time.perf_counter() - started
            result = runtime.execute(chosen, loaded, options, saying_that_it_compiles(progress, quiet), request)
        with result:
            if write is not None:
                write(result, output)
            seconds = read_seconds, time.perf_counter() - started
            with flushed(result):
                if as_json:
                    print(json.dumps(show.document(result, loaded, top, read_seconds), allow_nan=False))
                else:
                    say(f"{result.program} on {str(loaded)[8:-1]} ({graph})")
                    show.answer(result, seconds, top, quiet, verify)
                    show.written(result, output, trace, report)


def apps() -> None:
    """List the programs of the library and their parameters.

    Example:

      garaph apps
    """
    from .. import apps as library

    for name in sorted(library.__all__):
        kind: type[VertexProgram] = getattr(library, name)
        signature = str(inspect.signature(kind)).removesuffix(" -> None")
        summary = (kind.__doc__ or "").strip().splitlines()[0]
        print(f"{name}\n    {summary}\n    parameters: {plain(signature)}")


def plain(signature: str) -> str:
    """A dataclass signature without type annotations: ``damping=0.85, dangling='redistribute'``."""
    parts = []
    for parameter in signature.strip("()").split(", "):
        name, _, rest = parameter.partition(":")
        default = rest.partition(" = ")[2]
        parts.append(f"{name}={default}" if default else name)
    return ", ".join(parts)


def parameters(
    kind: type[VertexProgram], source: str | None, tolerance: float | None, more: list[str]
) -> dict[str, str]:
    """The program's parameters as text, by name; `more` are the parameters given as NAME=VALUE."""
    given = {}
    for item in more:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ParameterError(f"--parameter {item!r}: write NAME=VALUE")
        given[name] = value
    if source is not None:
        given[source_parameter(kind)] = source
    if tolerance is not None:
        given["tolerance"] = repr(tolerance)
    return given


def source_parameter(kind: type[VertexProgram]) -> str:
    """The parameter that ``--source`` sets: the only parameter that is a vertex, or else ``source``."""
    vertices = [name for name, hint in hints(kind).items() if hint == VertexId]
    return vertices[0] if len(vertices) == 1 else "source"


def writer(output: Path | None, raw_names: bool) -> Any:
    """The function that writes a result to `output`, by its suffix. Refuses an invalid name, before the run."""
    from ..output.result import Result

    if raw_names and (output is None or output.suffix != ".csv"):
        raise ParameterError("--raw-names is only for --output FILE.csv")
    if output is None:
        return None
    to_csv = partial(Result.to_csv, raw=raw_names)
    writers: dict[str, Any] = {".parquet": Result.to_parquet, ".csv": to_csv, ".npy": Result.to_npy}
    if output.suffix not in writers:
        raise ParameterError(f"--output {output}: the name must end in {', '.join(writers)}")
    check_place(output, "--output")
    return writers[output.suffix]


def saying_that_it_compiles(progress: Progress, quiet: bool) -> Any:
    """A listener: `progress`, plus one line on standard error if the program has to be compiled."""
    from .. import events

    said: list[bool] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Step) and event.unit == "functions" and not said and not quiet:
            said.append(True)
            say("compiling, once; later runs load it from disk", error=True)
        progress(event)

    return listen
