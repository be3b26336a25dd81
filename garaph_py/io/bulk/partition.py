"""Write a partition of a graph on disk: a graph directory for each part, one after the other, out of core."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import partial

import numpy as np
import xxhash

from ... import events
from ...codec.arrays import PACKED
from ...errors import GraphError
from ...graph.adjacency import Adjacency
from ...graph.arrays import GraphArrays
from ...graph.graph import Graph
from ...graph.ids import VertexIds
from ...graph.part import Cuts
from ...storage.directory import read_manifest, save
from ...storage.files import GraphDirectory
from ...storage.partition import (
    NAME,
    VERTICES,
    PartEntry,
    Partition,
    part_name,
    place_bytes,
    place_name,
    serialize,
)  # fmt: skip
from ...storage.stored_part import TABLE_BYTES, StoredPart
from ...storage.write import HERE, Destination, PathLike, creating, make_directory, sync_directory, write_file
from ...system.sizes import show_bytes
from .part import write_part


# wide: what and where, and how much memory and threads it may take
def write_partition(
    graph: Graph, path: PathLike, out: PathLike, cuts: Cuts, memory: int, *, encoding: str, threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Partition:  # fmt: skip
    """Write the parts of a graph on disk, atomically: if this fails or is killed, there is no directory `out`.

    Parameters
    ----------
    graph : Graph
        The graph in the directory `path`, with its edges on disk.
    out : path-like
        The directory to make; its parent must exist.
    cuts : Cuts
    memory : int
        Bytes of memory that this may take, with those of `graph`.
    encoding : str
        How the parts store edges: see `storage.directory.save`.

    Raises
    ------
    ParameterError
        If `out` exists already, or a file cannot be written; `DiskFullError` if the disk has too little room.
    GraphError
        If the vertices alone take more than `memory`.
    DamagedGraphError
        If the graph is damaged.
    """
    arrays = graph._arrays
    with creating(out, HERE) as place, GraphDirectory(path) as folder:
        manifest = read_manifest(folder)
        valued, parts = arrays.edge_dtype is not None, list[PartEntry]()
        vertices_id = write_vertices(inside(place, VERTICES), graph.directed, graph.ids)
        for part in range(cuts.parts):
            stored = StoredPart(folder, manifest, "in", valued, cuts, part)
            found = stored.place()
            left = memory - graph.nbytes - graph.ids.nbytes - found.nbytes - TABLE_BYTES * graph.n
            if left <= 0:
                raise GraphError(
                    f"the vertices of part {part} take more than the {show_bytes(memory)} of memory that may be used; "
                    "allow more (memory, --memory)"
                )
            where = f"part {part + 1} of {cuts.parts}: "
            written = write_part(
                stored, found, inside(place, part_name(part)), left, encoding=encoding, threads=threads,
                on_event=partial(tell, on_event, where),
            )  # fmt: skip
            contents = place_bytes(found)
            write_file(place.folder / place_name(part), contents)
            parts.append(PartEntry(
                str(written.graph_id), written.vertices, written.edges, len(found.pieces),
                xxhash.xxh3_64_intdigest(contents),
            ))  # fmt: skip
        partition = Partition(
            str(place.graph_id), graph.n, graph.m, graph.directed, arrays.edge_dtype,
            arrays.value_limits if valued and graph.m else None, vertices_id, cuts.vertices, tuple(parts),
        )  # fmt: skip
        write_file(place.folder / NAME, serialize(partition))
    return partition


def inside(place: Destination, name: str) -> Destination:
    """A new directory of its own within the one that is being made."""
    folder = place.folder / name
    make_directory(folder)
    return Destination(folder, (folder,), HERE, uuid.uuid4())


def write_vertices(place: Destination, directed: bool, ids: VertexIds) -> str:
    """Write the graph directory that has the vertices' ids, and no edges; its id."""
    none = Adjacency(np.zeros(len(ids) + 1, np.int64), np.zeros(0, np.uint32))
    save(Graph(GraphArrays(none, replaced(none) if directed else none, ids)), place, encoding=PACKED)
    sync_directory(place.folder)
    return str(place.graph_id)


def replaced(edges: Adjacency) -> Adjacency:
    """The same edges in another object: a graph whose sides are one object is undirected."""
    return Adjacency(edges.offsets, edges.neighbours)


def tell(on_event: events.Listener, where: str, event: events.Event) -> None:
    """Pass on a record of progress, with the part to which it belongs."""
    on_event(replace(event, name=where + event.name) if isinstance(event, events.Step) else event)
