"""``garaph partition``: a graph on disk in parts, for a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output import Progress
from .options import AsJson, Encoding, Quiet, Threads
from .outputs import check_apart
from .terminal import print_json, say

if TYPE_CHECKING:
    from ..storage.partition import Partition

Option = typer.Option


# wide: typer reads the options of the command from its signature.
def partition(
    graph: Annotated[Path, typer.Argument(help="A graph directory.")],
    out: Annotated[Path, typer.Argument(help="The directory to make, with a graph directory for each part.")],
    parts: Annotated[int, Option(help="How many parts: one for each worker, or more.")],
    encoding: Encoding = "auto",
    memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="Memory to use, such as 2GiB; by default four fifths of the available memory. Larger parts use "
            "temporary files beside the new directory, or in the directory TMPDIR.",
        ),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Cut a graph directory into parts for the workers of a cluster.

    The parts have about equally many edges. The memory must hold the vertices and one part at a time, but not all
    edges. If interrupted, the command leaves nothing behind.

    Examples:

      garaph partition twitter twitter.parts --parts 8

      garaph run PageRank twitter.parts --cluster tcp://scheduler:8786
    """
    from ..cluster.partition import partition as make

    check_apart(out, graph, str(out))
    with Progress(quiet) as progress:
        made = make(graph, out, parts, encoding=encoding, memory=memory, threads=threads, on_event=progress)
    describe(out, made, as_json)


def describe(path: Path, partition: Partition, as_json: bool) -> None:
    """Print what a partition holds."""
    owned = [int(last) - int(first) for first, last in zip(partition.cuts, partition.cuts[1:], strict=False)]
    if as_json:
        print_json({
            "partition": path, "id": partition.id, "vertices": partition.vertices, "edges": partition.edges,
            "directed": partition.directed, "edge_dtype": partition.edge_dtype,
            "parts": [
                {"vertices": own, "mirrors": part.vertices - own, "edges": part.edges}
                for part, own in zip(partition.parts, owned, strict=True)
            ],
        })  # fmt: skip
        return
    from ..graph.words import in_words

    words = in_words(partition.vertices, partition.edges, partition.directed, partition.edge_dtype)
    say(f"{path}: {words}, in {len(partition.parts)} part{'s' * (len(partition.parts) > 1)}")
    say(f"  {'part':>5} {'vertices':>14} {'mirrors':>14} {'edges':>16}")
    for number, (part, own) in enumerate(zip(partition.parts, owned, strict=True)):
        say(f"  {number:>5} {own:>14,} {part.vertices - own:>14,} {part.edges:>16,}")
