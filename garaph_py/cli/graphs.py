"""``garaph import``, ``generate``, ``info``, ``restripe`` and ``verify``: graphs on disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import Interrupted, ParameterError
from ..output import Progress
from ..system.sizes import show_number
from .options import (
    AsJson,
    Directed,
    Disks,
    DropParallel,
    DropSelfLoops,
    Encoding,
    Format,
    Memory,
    NoWeights,
    Order,
    Quiet,
    SourceColumn,
    Symmetrize,
    TargetColumn,
    Threads,
    WeightColumn,
)  # fmt: skip
from .outputs import check_apart
from .partition import describe
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..storage.manifest import Manifest

Option = typer.Option


# wide: typer reads the options of the command from its signature.
def import_(
    edges: Annotated[Path, typer.Argument(help="A file of edges: text, Parquet, Arrow, .npz.")],
    out: Annotated[Path, typer.Argument(help="The graph directory to make.")],
    undirected: Directed = False,
    symmetrize: Symmetrize = False,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    weight_column: WeightColumn = None,
    no_weights: NoWeights = False,
    drop_self_loops: DropSelfLoops = False,
    drop_parallel: DropParallel = False,
    order: Order = "none",
    encoding: Encoding = "auto",
    disk: Disks = None,
    format: Format = None,
    memory: Memory = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Turn a file of edges into a graph directory.

    A graph directory opens at the disk's speed. Text, .npy, Parquet and Arrow files may be larger than memory.

    Examples:

      garaph import data/debian-sid-deps.tsv.xz debian-graph

      garaph import twitter.tsv.zst twitter --memory 4GiB --disk /mnt/nvme0 --disk /mnt/nvme1
    """
    from ..io.bulk.build import ImportOptions
    from ..io.bulk.import_ import import_file
    from ..io.formats import ColumnNames
    from ..storage.write import HERE

    check_apart(out, edges, str(out))
    options = ImportOptions(
        False if undirected else None,
        symmetrize,
        drop_self_loops,
        drop_parallel,
        order,
        encoding,
        weights=False if no_weights else None,
        format=format,
        columns=ColumnNames(source_column, target_column, weight_column),
    )
    with saying_if_written(out), Progress(quiet) as progress:
        manifest = import_file(
            edges,
            out,
            options,
            disks=disk or HERE,
            memory=memory,
            threads=threads,
            on_event=progress,
        )
    summary(out, manifest, as_json)


# wide: typer reads the options of the command from its signature.
def generate(
    kind: Annotated[str, typer.Argument(help="rmat (Graph500's Kronecker graphs) or uniform.")],
    out: Annotated[Path, typer.Argument(help="The graph directory to make.")],
    scale: Annotated[int, Option(help="2^scale vertices.")],
    edge_factor: Annotated[int, Option(help="Edges per vertex.")] = 16,
    seed: Annotated[int, Option(help="The same seed makes the same graph.")] = 1,
    undirected: Annotated[bool, Option("--undirected", help="Every edge counts in both directions.")] = False,
    weights: Annotated[str | None, Option(metavar="LOW:HIGH", help="Integer edge values between these.")] = None,
    order: Order = "none",
    encoding: Encoding = "auto",
    disk: Disks = None,
    memory: Memory = None,
    threads: Threads = None,
    as_json: AsJson = False,
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
    with saying_if_written(out), Progress(quiet) as progress:
        edges = makers[kind](scale, edge_factor, seed=seed, weights=weight_range(weights))
        options = ImportOptions(not undirected, order=order, encoding=encoding)
        manifest = write_random(
            edges, out, options, disks=disk or HERE, memory=memory, threads=threads, on_event=progress
        )
    summary(out, manifest, as_json)


@contextlib.contextmanager
def saying_if_written(out: Path) -> Iterator[None]:
    """Turn an interrupt after the graph was written into an error that says so."""
    before = os.path.lexists(out)
    try:
        yield
    except KeyboardInterrupt:
        if before or not out.is_dir():
            raise
        raise Interrupted(f"interrupted after {out} was written; the graph is complete") from None


def summary(graph: Path, manifest: Manifest, as_json: bool) -> None:
    """Print a line that describes a new graph directory, or what `info` prints as JSON."""
    if as_json:
        print_json(document(graph, manifest))
        return
    from ..graph.words import in_words

    say(f"{graph}: {in_words(manifest.vertices, manifest.edges, manifest.directed, manifest.edge_dtype)}")


def document(graph: Path, manifest: Manifest) -> dict[str, Any]:
    """What a graph directory holds, as JSON has it; sizes are in bytes."""
    arrays = {
        name: {
            "dtype": array.dtype, "encoding": array.encoding[0], "blocks": array.blocks, "bytes": array.stored_bytes,
            "bytes_per_edge": manifest.bytes_per_edge[name],
        }
        for name, array in manifest.arrays.items()
    }  # fmt: skip
    return {
        "graph": graph, "version": manifest.version, "id": manifest.graph_id, "generation": manifest.generation,
        "vertices": manifest.vertices, "ids": manifest.ids, "edges": manifest.edges, "directed": manifest.directed,
        "edge_dtype": manifest.edge_dtype, "disks": manifest.disks, "k": manifest.k, "bytes": manifest.stored_bytes,
        "arrays": arrays,
    }  # fmt: skip


def weight_range(text: str | None) -> tuple[int, int] | None:
    """The bounds in ``LOW:HIGH``."""
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        return int(low), int(high)
    except ValueError:
        raise ParameterError(f"--weights {text!r}: write LOW:HIGH, two integers") from None


def info(graph: Annotated[Path, typer.Argument(help="A graph directory.")], as_json: AsJson = False) -> None:
    """Print what a graph directory holds.

    Example:

      garaph info debian-graph
    """
    from ..storage import directory as store
    from ..storage.partition import is_partition, read_partition

    if is_partition(graph):
        describe(graph, read_partition(graph), as_json)
        return
    manifest = store.info(graph)
    if as_json:
        print_json(document(graph, manifest))
        return
    values = "none" if manifest.edge_dtype is None else str(manifest.edge_dtype)
    say(f"{graph}: version {manifest.version}, id {manifest.graph_id}, generation {manifest.generation}")
    say(f"  vertices    {manifest.vertices:,} ({manifest.ids} ids)")
    stored = "stored (undirected: those between two vertices twice)"
    say(f"  edges       {manifest.edges:,} {'directed' if manifest.directed else stored}")
    say(f"  edge values {values}")
    for disk in manifest.disks if manifest.disks != (".",) else ():
        say(f"  disk        {disk}")
    if manifest.k is not None:
        say(f"  k           {manifest.k:.1f} (sequential over random read speed)")
    say(f"  {'array':<12} {'dtype':<8} {'encoding':<8} {'blocks':>8} {'bytes':>16} {'bytes/edge':>10}")
    for name, array in manifest.arrays.items():
        say(
            f"  {name:<12} {array.dtype!s:<8} {array.encoding[0]:<8} {array.blocks:>8,} {array.stored_bytes:>16,} "
            f"{show_number(manifest.bytes_per_edge[name]):>10}"
        )
    say(f"  {'total':<38} {manifest.stored_bytes:>16,} {show_number(sum(manifest.bytes_per_edge.values())):>10}")


def restripe(
    graph: Annotated[Path, typer.Argument(help="A graph directory.")],
    disk: Annotated[
        list[Path],
        Option(
            "--disk", metavar="DIR", help="A disk to use from now on; repeatable. DIR . is the graph directory itself."
        ),
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Spread a graph's data over exactly these disks.

    The command needs room for the new data beside the old. If interrupted, it leaves the graph as it was.

    Example:

      garaph restripe twitter --disk /mnt/nvme0 --disk /mnt/nvme1 --disk /mnt/nvme2
    """
    from ..storage.restripe import restripe

    with Progress(quiet) as progress:
        manifest = restripe(graph, disk, on_event=progress)
    if as_json:
        print_json(document(graph, manifest))
        return
    say(f"{graph}: on {', '.join(manifest.disks)}")


def verify(
    graph: Annotated[Path, typer.Argument(help="A graph directory.")],
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Bring an undamaged graph to the current version of the format.")
    ] = False,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check every block of a graph directory or of a partition.

    The command names the file and the block of any damage. It also checks that the out-edges are the in-edges reversed,
    which opening a graph does not check.

    With --upgrade, it brings the graph to the current version of the format, in which a run over edges on disk can read
    a part of a block, and need not read the whole block first.

    Example:

      garaph verify debian-graph
    """
    from ..storage import directory as store
    from ..storage import upgrade as store_upgrade

    with Progress(quiet) as progress:
        damage = store.verify(graph, threads=threads, on_event=progress)
        if upgrade and not damage:
            store_upgrade.upgrade(graph, on_event=progress)
    if as_json:
        print_json({"graph": graph, "whole": not damage, "problems": list(map(str, damage))})
    else:
        for problem in damage:
            say(str(problem))
        say(f"{graph}: {len(damage)} problem{'s' * (len(damage) > 1)}" if damage else f"{graph}: whole")
    if damage:
        raise typer.Exit(1)
