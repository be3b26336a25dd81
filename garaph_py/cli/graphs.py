"""``garaph import``, ``generate``, ``info``, ``restripe`` and ``verify``: graphs on disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import events
from ..errors import GraphError, Interrupted, ParameterError
from ..graph import Graph
from ..output import Progress

if TYPE_CHECKING:
    from ..storage.manifest import Manifest

Option = typer.Option
Threads = Annotated[int | None, Option(help="Threads to use; else every core this process may use.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress, no table of iterations.")]
Directed = Annotated[bool, Option("--undirected", help="Every edge of the file counts in both directions.")]
Symmetrize = Annotated[
    bool, Option("--symmetrize", help="Add the reverse of every edge: for programs that gather over both directions.")
]
NoWeights = Annotated[bool, Option("--no-weights", help="Leave edge values out.")]
DropSelfLoops = Annotated[bool, Option("--drop-self-loops", help="Leave out edges from a vertex to itself.")]
DropParallel = Annotated[bool, Option("--drop-parallel", help="Of parallel edges keep the first.")]
Encoding = Annotated[
    str,
    Option(
        help="How a graph directory stores edges: raw, packed (about half the bytes), or auto: packed if the raw "
        "arrays take more than half of the machine's memory."
    ),
]
Memory = Annotated[
    str | None,
    Option(
        help="Memory that may be used, such as 2GiB; else four fifths of what is available. Larger graphs go by "
        "way of temporary files beside the graph directory, or on the first --disk."
    ),
]
Disks = Annotated[
    list[Path] | None,
    Option(
        "--disk",
        metavar="DIR",
        help="Spread the data over the disks these directories are on; repeatable. . is the graph directory itself.",
    ),
]
Format = Annotated[str | None, Option(help="The file's format, when its name does not tell.")]


def load(
    path: Path,
    *,
    undirected: bool,
    symmetrize: bool,
    format: str | None,
    encoding: str,
    memory: str | None,
    threads: int | None,
    on_event: events.Listener,
) -> Graph:
    """The graph at `path`, a directory or a file; for ``encoding="auto"`` packed if its arrays exceed `memory`."""
    from ..storage import directory as store
    from ..storage import fit

    fit.check_encoding(encoding)
    limit = fit.memory_limit(memory)
    if path.is_dir():
        if undirected or format is not None:
            raise ParameterError(f"{path} is a graph directory; --undirected and --format are for files")
        graph = store.open(path, encoding=encoding, memory=limit, threads=threads, on_event=on_event)
        if not symmetrize:
            return graph
        if graph.on_disk:
            raise GraphError(
                f"--symmetrize: the edges of {path} stay on disk, and this takes all of them in memory; import them "
                "once more with --symmetrize, or allow more (--memory)"
            )
    else:
        from ..io.read import read

        directed = False if undirected else None
        graph = read(path, directed=directed, format=format, threads=threads, on_event=on_event)
    return fit.fitted(graph.symmetrized(threads) if symmetrize else graph, path, encoding, limit, threads)


def import_(
    edges: Annotated[Path, typer.Argument(help="A file of edges: text, Parquet, Arrow, .npz.")],
    out: Annotated[Path, typer.Argument(help="The graph directory to make.")],
    undirected: Directed = False,
    symmetrize: Symmetrize = False,
    no_weights: NoWeights = False,
    drop_self_loops: DropSelfLoops = False,
    drop_parallel: DropParallel = False,
    order: Annotated[
        str, Option(help="Number the vertices inside by degree (descending), hub (HyTGraph's hubs first), or none.")
    ] = "none",
    encoding: Encoding = "auto",
    disk: Disks = None,
    format: Format = None,
    memory: Memory = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Turn a file of edges into a graph directory, which opens at the disk's speed.

    Edges may be more than fit the memory: in text, .npy, Parquet and Arrow.

    Examples:

      garaph import data/debian-sid-deps.tsv.xz debian-graph

      garaph import twitter.tsv.zst twitter --memory 4GiB --disk /mnt/nvme0 --disk /mnt/nvme1
    """
    from ..io.bulk.build import ImportOptions
    from ..io.bulk.import_ import import_file
    from ..storage.write import HERE

    options = ImportOptions(
        False if undirected else None,
        symmetrize,
        drop_self_loops,
        drop_parallel,
        order,
        encoding,
        weights=False if no_weights else None,
        format=format,
    )
    with told_if_written(out), Progress(quiet) as progress:
        manifest = import_file(
            edges,
            out,
            options,
            disks=disk or HERE,
            memory=memory,
            threads=threads,
            on_event=progress,
        )
    print(f"{out}: {summary(manifest)}")


def generate(
    kind: Annotated[str, typer.Argument(help="rmat (Graph500's Kronecker graphs) or uniform.")],
    out: Annotated[Path, typer.Argument(help="The graph directory to make.")],
    scale: Annotated[int, Option(help="2^scale vertices.")],
    edge_factor: Annotated[int, Option(help="Edges per vertex.")] = 16,
    seed: Annotated[int, Option(help="The same seed makes the same graph.")] = 1,
    undirected: Annotated[bool, Option("--undirected", help="Every edge counts in both directions.")] = False,
    weights: Annotated[str | None, Option(help="LOW:HIGH, integer edge values between these.")] = None,
    encoding: Encoding = "auto",
    disk: Disks = None,
    memory: Memory = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Generate a random graph into a graph directory.

    Example:

      garaph generate rmat kron16 --scale 16 --undirected --weights 1:255
    """
    from ..graph import generate as generators
    from ..io.bulk.build import ImportOptions
    from ..io.bulk.import_ import write_random
    from ..storage.write import HERE

    makers = {"rmat": generators.random_rmat, "uniform": generators.random_uniform}
    if kind not in makers:
        raise ParameterError(f"there is no generator {kind!r}; choose from {', '.join(makers)}")
    with told_if_written(out), Progress(quiet) as progress:
        edges = makers[kind](scale, edge_factor, seed=seed, weights=weight_range(weights))
        options = ImportOptions(not undirected, encoding=encoding)
        manifest = write_random(
            edges, out, options, disks=disk or HERE, memory=memory, threads=threads, on_event=progress
        )
    print(f"{out}: {summary(manifest)}")


@contextlib.contextmanager
def told_if_written(out: Path) -> Iterator[None]:
    """Turn an interrupt that came when the graph was there already into an error that says so."""
    before = os.path.lexists(out)
    try:
        yield
    except KeyboardInterrupt:
        if before or not out.is_dir():
            raise
        raise Interrupted(f"interrupted when {out} had been written; it is whole") from None


def summary(manifest: Manifest) -> str:
    """One line on a graph directory."""
    kind = "directed" if manifest.directed else "undirected"
    values = "" if manifest.edge_dtype is None else f", {manifest.edge_dtype} values"
    return f"{manifest.vertices:,} vertices, {manifest.edges:,} {kind} edges{values}"


def weight_range(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        return int(low), int(high)
    except ValueError:
        raise ParameterError(f"--weights {text!r}: write LOW:HIGH, two integers") from None


def info(graph: Annotated[Path, typer.Argument(help="A graph directory.")]) -> None:
    """Print what a graph directory holds.

    Example:

      garaph info debian-graph
    """
    from ..storage import directory as store

    manifest = store.info(graph)
    values = "none" if manifest.edge_dtype is None else str(manifest.edge_dtype)
    print(f"{graph}: version {manifest.version}, id {manifest.graph_id}, generation {manifest.generation}")
    print(f"  vertices    {manifest.vertices:,} ({manifest.ids} ids)")
    print(f"  edges       {manifest.edges:,} {'directed' if manifest.directed else 'undirected, both directions'}")
    print(f"  edge values {values}")
    for disk in manifest.disks if manifest.disks != (".",) else ():
        print(f"  disk        {disk}")
    if manifest.k is not None:
        print(f"  k           {manifest.k:.1f} (speed of reading on over that at random places)")
    print(f"  {'array':<12} {'dtype':<8} {'encoding':<8} {'blocks':>8} {'bytes':>16} {'bytes/edge':>10}")
    for name, array in manifest.arrays.items():
        print(
            f"  {name:<12} {array.dtype!s:<8} {array.encoding[0]:<8} {array.blocks:>8,} {array.stored_bytes:>16,} "
            f"{manifest.bytes_per_edge[name]:>10.2f}"
        )
    print(f"  {'total':<38} {manifest.stored_bytes:>16,} {sum(manifest.bytes_per_edge.values()):>10.2f}")


def restripe(
    graph: Annotated[Path, typer.Argument(help="A graph directory.")],
    disk: Annotated[
        list[Path],
        Option("--disk", metavar="DIR", help="A disk to use from now on; repeatable. . is the graph directory itself."),
    ],
    quiet: Quiet = False,
) -> None:
    """Spread a graph's data over exactly these disks: with more of them, fewer, or others.

    It needs room for the new data beside the old. Interrupted, it leaves the graph as it was.

    Example:

      garaph restripe twitter --disk /mnt/nvme0 --disk /mnt/nvme1 --disk /mnt/nvme2
    """
    from ..storage.restripe import restripe

    with Progress(quiet) as progress:
        manifest = restripe(graph, disk, on_event=progress)
    print(f"{graph}: on {', '.join(manifest.disks)}")


def verify(
    graph: Annotated[Path, typer.Argument(help="A graph directory.")], threads: Threads = None, quiet: Quiet = False
) -> None:
    """Check every block of a graph directory; name file, block and offset of any damage.

    Example:

      garaph verify debian-graph
    """
    from ..storage import directory as store

    with Progress(quiet) as progress:
        damage = store.verify(graph, threads=threads, on_event=progress)
    for problem in damage:
        print(problem)
    print(f"{graph}: {len(damage)} problem{'s' * (len(damage) > 1)}" if damage else f"{graph}: whole")
    if damage:
        raise typer.Exit(1)
