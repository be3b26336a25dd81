"""Write a part of a graph on disk as a graph directory of its own, out of core."""

from __future__ import annotations

from collections.abc import Iterator

from ... import events
from ...codec.arrays import RAW
from ...graph.place import Place
from ...storage.manifest import Manifest
from ...storage.stored_part import StoredPart
from ...storage.write import Destination, PathLike
from ..formats.format import EdgeList
from .build import ImportOptions, write_external
from .scan import EdgeSource, KnownCounts


# wide: what and where, and how much memory and threads it may take
def write_part(
    part: StoredPart, place: Place, out: PathLike | Destination, memory: int, *, encoding: str = RAW,
    threads: int | None = None, on_event: events.Listener = events.ignore,
) -> Manifest:  # fmt: skip
    """Write the graph of a part, whose ids are the numbers that vertices have there. If this fails, nothing is left.

    Parameters
    ----------
    part : StoredPart
    place : Place
        Its `StoredPart.place`.
    out : path-like or Destination
        The directory to make; its parent must exist.
    memory : int
        Bytes of memory that sorting may take, beside the place and the table of places.
    encoding : str
        See `storage.directory.save`.

    Raises
    ------
    ParameterError, GraphError
        As `write_external` does.
    DamagedGraphError
        If the undivided graph is damaged.
    """
    dtype = part.value_dtype

    def batches(listener: events.Listener) -> Iterator[EdgeList]:
        return (EdgeList(batch.sources, batch.targets, batch.values) for batch in part.batches(place))

    source = EdgeSource(batches, True, known=KnownCounts(len(place.numbers), part.edges, dtype))
    if dtype is not None and dtype.kind in "iu" and dtype.itemsize > 4:
        encoding = RAW  # the range of its values is not known
    options = ImportOptions(directed=True, encoding=encoding)
    return write_external(source, out, options, memory, threads=threads, on_event=on_event)
