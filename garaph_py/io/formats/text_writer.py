"""Write edge lists as text, one edge per line, with the user's ids. Arrow turns columns into lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import GraphError
from ...graph.edges import Batch
from ...graph.graph import Graph
from ...graph.ids import StringIds
from ...system.files import write_whole
from .batches import edge_batches, need_edges, user_columns
from .format import shortened
from .streams import COMPRESSED_SUFFIXES, LONGEST_LINE, compressing

Array = npt.NDArray[Any]

UNWRITABLE = r"^$|^[#% ]| $|[\t\n\r\x00]"
"""Names that cannot be written: they would end the field or the line, or make the line a comment."""
NUMBER = r"^-?[0-9]+$"
SAME_AS_NUMBER = r"^(0|-?[1-9][0-9]{0,17})$"
"""Names of digits that stay the same when they are read as a number and written again; 007 does not."""


def write_text(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write lines ``source target [weight]``: with commas and a header for .csv, else with tabs.

    If ids are names, the file always has a header, so that a reader cannot take the first edge for one. Fractions have
    the fewest digits that are read back as the same float64.

    Raises
    ------
    GraphError
        If there are no edges, or names that a line of text cannot hold.
    """
    need_edges(graph)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED_SUFFIXES else path
    separator = "," if plain.suffix.lower() == ".csv" else "\t"
    first = None
    if isinstance(graph.ids, StringIds):
        check_names(graph.ids, separator)
        first = first_name(graph, graph.ids)

    def write(file: IO[bytes]) -> None:
        with compressing(file, path) as stream:
            if separator == "," or isinstance(graph.ids, StringIds):
                names = ["source", "target", "weight"][: 2 if graph.edge_dtype is None else 3]
                stream.write(separator.join(names).encode() + b"\n")
            for batch in moved_up(first, edge_batches(graph, listener)):
                columns = user_columns(graph, batch)
                stream.write(lines(columns if batch.values is None else [*columns, decimal(batch.values)], separator))

    write_whole(path, write)


def check_names(ids: StringIds, separator: str) -> None:
    """Refuse names that a reader of text would change."""
    import pyarrow.compute as pc

    pattern = UNWRITABLE if separator == "\t" else f'{UNWRITABLE}|[,"]'
    refused = pc.or_(
        pc.match_substring_regex(ids.arrow, pattern), pc.greater(pc.binary_length(ids.arrow), LONGEST_LINE // 4)
    )
    place = pc.index(refused, True).as_py()
    if place >= 0:
        raise GraphError(
            f"vertex {shortened(ids.arrow[place].as_py())!r} has a name that is empty, longer than a line or has tabs, "
            "line ends, outer blanks, a leading # or % or (.csv) commas or quotes; write Parquet or Arrow"
        )


def first_name(graph: Graph, ids: StringIds) -> tuple[int, Batch] | None:
    """The first edge with a name that is no number, and its position; None if all names are numbers.

    The caller writes this edge first, so that a reader does not take the ids for integers.

    Raises
    ------
    GraphError
        If all names are numbers, and some, like 007, would be read as another one.
    """
    import pyarrow.compute as pc

    numbers = pc.match_substring_regex(ids.arrow, NUMBER).to_numpy(zero_copy_only=False)
    passed = 0
    for batch in edge_batches(graph):
        named = np.flatnonzero(~(numbers[batch.sources] & numbers[batch.targets]))
        if len(named):
            return passed + int(named[0]), batch.select(named[:1])
        passed += len(batch.sources)
    changed = pc.index(pc.match_substring_regex(ids.arrow, SAME_AS_NUMBER), False).as_py()
    if changed >= 0:
        raise GraphError(
            f"all names are digits, and {shortened(ids.arrow[changed].as_py())!r} would not come back as it is; write "
            "Parquet or Arrow"
        )
    return None


def moved_up(first: tuple[int, Batch] | None, batches: Iterable[Batch]) -> Iterator[Batch]:
    """`batches`, with the edge `first` before all others."""
    if first is None:
        yield from batches
        return
    number, edge = first
    yield edge
    for batch in batches:
        count = len(batch.sources)
        yield batch.select(np.arange(count) != number) if 0 <= number < count else batch
        number -= count


def decimal(values: Array) -> Any:
    """`values` as Arrow strings; floats always have a fraction or an exponent, so that 1.0 is not read back as 1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.dtype.kind != "f":
        return pa.array(values)
    strings = pa.array(values.astype(np.float64, copy=False)).cast(pa.large_string())
    return pc.if_else(pc.match_substring_regex(strings, NUMBER), joined([strings, ""], ".0"), strings)


def joined(columns: list[Any], separator: str) -> Any:
    """Join the rows of Arrow arrays, strings or numbers, to one string each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    string = pa.large_string()
    texts = [pa.scalar(column, string) if isinstance(column, str) else column.cast(string) for column in columns]
    return pc.binary_join_element_wise(*texts, pa.scalar(separator, string))


def lines(columns: list[Any], separator: str = "") -> Any:
    """Text (bytes or a buffer) with one line for each row of `columns`."""
    import pyarrow.compute as pc

    if not len(columns[-1]):
        return b""
    text = joined([joined(columns, separator) if len(columns) > 1 else columns[0], ""], "\n")
    return text.buffers()[2][: pc.sum(pc.binary_length(text)).as_py()]  # the buffer may be longer than the text
