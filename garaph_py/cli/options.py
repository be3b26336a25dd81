"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Option = typer.Option
Threads = Annotated[int | None, Option(help="Number of threads; by default one per core that this process may use.")]
Quiet = Annotated[
    bool, Option("--quiet", "-q", help="Print only results, warnings and errors: no progress, no table of iterations.")
]
Smallest = Annotated[
    bool,
    Option("--smallest", help="Print the smallest values, such as the nearest vertices, without unreached vertices."),
]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]
Directed = Annotated[bool, Option("--undirected", help="Count every edge of the file in both directions.")]
Symmetrize = Annotated[
    bool,
    Option(
        "--symmetrize",
        help="Make the graph undirected, for programs that gather over both directions. The edges u -> v and v -> u "
        "become one edge if their values are equal.",
    ),
]
NoWeights = Annotated[bool, Option("--no-weights", help="Leave edge values out.")]
SourceColumn = Annotated[str | None, Option(metavar="NAME", help="The name of the column of sources in a table.")]
TargetColumn = Annotated[str | None, Option(metavar="NAME", help="The name of the column of targets in a table.")]
WeightColumn = Annotated[str | None, Option(metavar="NAME", help="The name of the column of edge values in a table.")]
DropSelfLoops = Annotated[bool, Option("--drop-self-loops", help="Leave out edges from a vertex to itself.")]
DropParallel = Annotated[bool, Option("--drop-parallel", help="Keep only the first of parallel edges.")]
Encoding = Annotated[
    str,
    Option(
        help="How a graph directory stores edges: raw, packed (about half the bytes), or auto: packed if the raw "
        "arrays take more than half of the machine's memory."
    ),
]
Order = Annotated[
    str, Option(help="Internal order of vertices: by degree (descending), hub (HyTGraph's hubs first), or none.")
]
Memory = Annotated[
    str | None,
    Option(
        metavar="SIZE",
        help="Memory to use, such as 2GiB; by default four fifths of the available memory. Larger graphs use "
        "temporary files beside the graph directory, on the first --disk, or in the directory TMPDIR.",
    ),
]
Disks = Annotated[
    list[Path] | None,
    Option(
        "--disk",
        metavar="DIR",
        help="Spread the data over the disks of these directories; repeatable. DIR . is the graph directory itself.",
    ),
]


def format_names(incomplete: str) -> list[str]:
    """The formats whose names begin so, for the shell's completion."""
    from ..io.formats import FORMATS

    return [format.name for format in FORMATS if format.name.startswith(incomplete)]


Format = Annotated[
    str | None, Option(help="The file's format, if its name does not imply it.", autocompletion=format_names)
]
