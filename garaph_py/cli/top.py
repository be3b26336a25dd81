"""``garaph top`` ranks the values that ``garaph run --output`` has written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import show
from .options import AsJson, Smallest
from .terminal import print_json, say


def top(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="FILE.parquet, .csv, .npy or .arrow of `garaph run --output`.")
    ],
    k: Annotated[int, typer.Option("-k", "--top", metavar="K", help="How many vertices to print.")] = 10,
    smallest: Smallest = False,
    as_json: AsJson = False,
) -> None:
    """Print the largest values in a file that a run has written.

    The command ranks the vertices by the first column of values. A NumPy file holds no ids: its vertices are numbered
    from 0.

    Examples:

      garaph top ranks.parquet -k 3

      garaph top distances.csv --smallest
    """
    from ..output.saved import read_result

    result = read_result(file)
    if as_json:
        print_json({"file": file, "by": result.names[0], "top": result.top(k, smallest=smallest)})
    else:
        show.top(result, k, smallest)
        if smallest and file.suffix != ".parquet":
            say(f"note: a {file.suffix} file does not tell which vertices are unreached; a .parquet file does")
