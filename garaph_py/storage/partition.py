"""A partition: a graph as a directory with a graph directory for each of its parts (docs/format.md).

Beside each part's directory is its place file: what the undivided graph knows of its vertices. A manifest has the ids
and checksums of all of them; the directory `vertices` has the ids of the undivided graph's vertices.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from ..codec.codecs import Limits
from ..errors import DamagedGraphError, FormatError
from ..graph.adjacency import EDGE_DTYPES, Adjacency
from ..graph.arrays import GraphArrays
from ..graph.graph import Graph
from ..graph.place import Place
from .files import GraphDirectory
from .fit import check_fits
from .manifest import (
    HEX64,
    MAX_COUNT,
    MAX_VERTICES,
    SEAL,
    SEAL_BYTES,
    Fields,
    limits_document,
    limits_in,
    load_json,
    seal,
)
from .partitioned_edges import PartitionedEdges

Array = npt.NDArray[Any]

NAME = "partition.json"
FORMAT = "garaph partition"
VERSION = 1
"""The version of the manifest that is written and read."""
VERTICES = "vertices"
"""The graph directory with the ids of the vertices; it has no edges."""
MOST_PARTS = 1 << 16
"""Most parts of a graph: more than the machines of any cluster, few enough for tables with a row for each."""
PART_BYTES = 512
"""The most bytes of a manifest for each part; as many again for what all parts share."""
KEYS = ("format", "version", "id", "vertices", "edges", "directed", "edge_dtype", "limits", "vertices_id", "cuts",
        "parts", "checksum")  # fmt: skip
PART_KEYS = ("id", "vertices", "edges", "pieces", "place_checksum")
PLACE = (("numbers", np.dtype("<u4")), ("in_degrees", np.dtype("<i8")), ("out_degrees", np.dtype("<i8")))
"""The arrays of a place file with a number for each vertex, in their order there; the pieces follow."""
PIECE = 2
"""Numbers of a piece: its first edge and its first vertex."""
PART = re.compile(r"part-\d+/")
"""How the name of a file in a part's graph directory (`part_name`) begins."""


class PartEntry(NamedTuple):
    """What the manifest says of a part.

    Attributes
    ----------
    graph_id : str
        The id of its graph directory.
    vertices, edges : int
        Its vertices, with its mirrors, and its in-edges.
    pieces : int
        The bounds of pieces in its place file.
    place_checksum : int
        The XXH3 of its place file.
    """

    graph_id: str
    vertices: int
    edges: int
    pieces: int
    place_checksum: int


class Partition(NamedTuple):
    """The manifest of a partition.

    Attributes
    ----------
    id : str
        Random; a new one for each partition.
    vertices, edges : int
        Those of the undivided graph.
    directed : bool
    edge_dtype : dtype or None
        The type of the edges' values, if they have some.
    limits : Limits or None
        The limits of the edges' values, if there are some.
    vertices_id : str
        The id of the graph directory with the vertices' ids.
    cuts : ndarray of int64, shape (parts + 1,)
        The first vertex of each part.
    parts : tuple of PartEntry
    """

    id: str
    vertices: int
    edges: int
    directed: bool
    edge_dtype: np.dtype[Any] | None
    limits: Limits | None
    vertices_id: str
    cuts: Array
    parts: tuple[PartEntry, ...]


def part_name(part: int) -> str:
    """The name of a part's graph directory."""
    return f"part-{part}"


def is_for_client(name: str) -> bool:
    """Whether a client needs this file of a partition's directory, or of any other: all but the graphs of parts."""
    return PART.match(name) is None


def place_name(part: int) -> str:
    """The name of a part's place file."""
    return f"part-{part}.place"


def is_partition(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is the directory of a partition."""
    return os.path.lexists(os.path.join(path, NAME))


def serialize(partition: Partition) -> bytes:
    """The bytes of the manifest file."""
    dtype = partition.edge_dtype
    return seal({
        "format": FORMAT, "version": VERSION, "id": partition.id, "vertices": partition.vertices,
        "edges": partition.edges, "directed": partition.directed, "edge_dtype": None if dtype is None else dtype.name,
        "limits": None if dtype is None else limits_document(partition.limits, dtype),
        "vertices_id": partition.vertices_id, "cuts": partition.cuts.tolist(),
        "parts": [
            {"id": part.graph_id, "vertices": part.vertices, "edges": part.edges, "pieces": part.pieces,
             "place_checksum": f"{part.place_checksum:016x}"}
            for part in partition.parts
        ],
    })  # fmt: skip


def read_partition(path: str | os.PathLike[str]) -> Partition:
    """The manifest of the partition in the directory `path`.

    Raises
    ------
    FormatError
        If it is not one, or a field is missing, of the wrong type, or out of range.
    DamagedGraphError
        If its checksum does not match.
    """
    file = Path(path) / NAME
    with GraphDirectory(path) as folder:
        handle, size = folder.open(NAME)
        if size > (MOST_PARTS + 1) * PART_BYTES:
            raise FormatError(file, f"{size} bytes long, more than a manifest has; partition the graph again")
        data = folder.read(NAME, size, handle)
    document = load_json(data, file)
    if type(document) is not dict or (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise FormatError(file, f"not version {VERSION} of a {FORMAT}; upgrade garaph_py, or partition the graph again")
    sealed = SEAL.fullmatch(data[-SEAL_BYTES:])
    if sealed is None or int(sealed[1], 16) != xxhash.xxh3_64_intdigest(data[:-SEAL_BYTES]):
        raise DamagedGraphError(file, "its checksum does not match; restore the file, or partition the graph again")
    return parsed(document, file)


def parsed(document: dict[str, Any], file: Path) -> Partition:
    """The manifest that a `document` of JSON describes; every field is checked."""
    fields = Fields(file, "", document, KEYS)
    n, m = fields.integer("vertices", 0, MAX_VERTICES), fields.integer("edges", 0, MAX_COUNT)
    cuts, parts, name = document["cuts"], document["parts"], document["edge_dtype"]
    dtypes = {dtype.name: dtype for dtype in EDGE_DTYPES}
    if name is not None and (type(name) is not str or name not in dtypes):
        raise fields.error(f"edge_dtype is not null or one of {', '.join(dtypes)}")
    dtype = None if name is None else dtypes[name]
    if type(parts) is not list or not 1 <= len(parts) <= MOST_PARTS:
        raise fields.error(f"parts is not a list of 1 to {MOST_PARTS}")
    whole = type(cuts) is list and len(cuts) == len(parts) + 1 and all(type(cut) is int for cut in cuts)
    if not whole or cuts != sorted(cuts) or (cuts[0], cuts[-1]) != (0, n):
        raise fields.error("cuts are not ascending numbers of vertices, one more than parts")
    return Partition(
        identity(fields, "id"), n, m, fields.boolean("directed"), dtype, limits_in(fields, dtype),
        identity(fields, "vertices_id"), np.array(cuts, np.int64),
        tuple(entry(Fields(file, f"part {part}: ", members, PART_KEYS), n, m) for part, members in enumerate(parts)),
    )  # fmt: skip


def entry(fields: Fields, n: int, m: int) -> PartEntry:
    """What the manifest says of one part."""
    edges = fields.integer("edges", 0, m)
    return PartEntry(
        identity(fields, "id"), fields.integer("vertices", 0, n), edges, fields.integer("pieces", 1, edges + n + 2),
        int(fields.text("place_checksum", HEX64, "16 hexadecimal digits"), 16),
    )  # fmt: skip


def identity(fields: Fields, key: str) -> str:
    """The id of a graph directory or partition."""
    text = fields.members[key]
    try:
        return str(uuid.UUID(text))
    except (ValueError, TypeError, AttributeError):
        raise fields.error(f"{key} is not a UUID") from None


def place_bytes(place: Place) -> bytes:
    """The contents of a part's place file."""
    columns = [getattr(place, name).astype(dtype).tobytes() for name, dtype in PLACE]
    return b"".join((*columns, place.pieces.astype("<i8").tobytes()))


def read_place(path: str | os.PathLike[str], partition: Partition, part: int) -> Place:
    """The place of a part, from the partition in the directory `path`; the whole of it is checked.

    Raises
    ------
    DamagedGraphError
        If it does not match the manifest.
    """
    expected, file = partition.parts[part], Path(path) / place_name(part)
    with GraphDirectory(path) as folder, ExitStack() as closing:
        handle, size = folder.open(file.name, closing)
        needed = expected.vertices * sum(dtype.itemsize for _, dtype in PLACE) + expected.pieces * PIECE * 8
        if size != needed:
            raise damaged(file, f"{size} bytes long, not {needed}")
        data = folder.read(file.name, size, handle)
    if len(data) != size or xxhash.xxh3_64_intdigest(data) != expected.place_checksum:
        raise damaged(file, "its checksum does not match the manifest")
    columns, begin = list[Array](), 0
    for _, dtype in PLACE:
        columns.append(np.frombuffer(data, dtype, expected.vertices, begin))
        begin += columns[-1].nbytes
    pieces = np.frombuffer(data, "<i8", offset=begin).reshape(-1, PIECE)
    columns.append(pieces)
    place = Place(part, partition.vertices, partition.edges, partition.directed, partition.cuts, *columns)
    if problem := wrong(place, expected):
        raise damaged(file, problem)
    return place


def wrong(place: Place, expected: PartEntry) -> str | None:
    """What cannot be in a place; None if nothing."""
    numbers, pieces, (first, last) = place.numbers, place.pieces, place.own
    if len(numbers) and (int(numbers[-1]) >= place.n or not (numbers[1:] > numbers[:-1]).all()):
        return "vertices are out of order or of range"
    if last - first != place.cuts[place.part + 1] - place.cuts[place.part]:
        return "it does not have all own vertices"
    degrees = np.concatenate((place.in_degrees, place.out_degrees))
    if len(degrees) and (degrees.min() < 0 or degrees.max() > place.m):
        return "a degree is out of range"
    if int(place.in_degrees[first:last].sum()) != expected.edges:
        return "the own vertices do not have as many in-edges as the part"
    bounds = tuple(pieces[0].tolist()), tuple(pieces[-1].tolist())
    if bounds != ((0, first), (expected.edges, last)) or (np.diff(pieces, axis=0) < 0).any():
        return "pieces of work are out of order or of range"
    return None


def damaged(file: Path, problem: str) -> DamagedGraphError:
    return DamagedGraphError(file, f"{problem}; copy it again, or partition the graph again")


def graph_of(path: str | os.PathLike[str], limit: int, vertices: Callable[[Path], Graph]) -> Graph:
    """The undivided graph of the partition in the directory `path`; its edges can only be read by a cluster's workers.

    Parameters
    ----------
    limit : int
        Bytes of memory that the graph's arrays may take.
    vertices : callable
        ``vertices(path)`` opens a graph directory.

    Raises
    ------
    FormatError
        If a file is damaged.
    TooLargeError
        If offsets and ids take more than `limit`.
    """
    partition = read_partition(path)
    sides = 1 + partition.directed
    check_fits(path, "offsets, which are the least of", 8 * sides * (partition.vertices + 1), limit)
    without = vertices(Path(path) / VERTICES)
    if without.directory != partition.vertices_id or without.n != partition.vertices:
        raise DamagedGraphError(Path(path) / VERTICES, "not the vertices of this partition; copy it again")
    offsets = np.zeros((sides, partition.vertices + 1), np.int64)
    for part in range(len(partition.parts)):
        place = read_place(path, partition, part)
        own, some = slice(*place.own), slice(int(partition.cuts[part]) + 1, int(partition.cuts[part + 1]) + 1)
        for side, degrees in zip(offsets, (place.in_degrees, place.out_degrees), strict=False):
            side[some] = degrees[own]
    np.cumsum(offsets, axis=1, out=offsets)
    if (offsets[:, -1] != partition.edges).any():
        raise DamagedGraphError(Path(path) / NAME, "the parts do not have as many edges as the graph; copy it again")
    edges = [PartitionedEdges(os.path.abspath(path), partition.edges, np.dtype(np.uint32))]
    if partition.edge_dtype is not None:
        edges.append(PartitionedEdges(os.path.abspath(path), partition.edges, partition.edge_dtype, partition.limits))
    into, *out = (Adjacency(side, *edges) for side in offsets)
    return Graph(GraphArrays(into, out[0] if out else into, without.ids, limit), partition.id)


def problems_of(
    path: str | os.PathLike[str], verify: Callable[[Path], list[FormatError]], info: Callable[[Path], Any]
) -> list[FormatError]:
    """All damage in the partition in the directory `path`.

    Parameters
    ----------
    verify, info : callable
        ``verify(path)`` finds the damage of a graph directory, and ``info(path)`` is its manifest.
    """
    try:
        partition = read_partition(path)
    except FormatError as error:
        return [error]
    problems = verify(Path(path) / VERTICES)
    for part, expected in enumerate(partition.parts):
        folder = Path(path) / part_name(part)
        try:
            read_place(path, partition, part)
            found = verify(folder)
            if not found and not is_part(info(folder), expected):
                found = [DamagedGraphError(folder, "not the part that the manifest names; copy it again")]
            problems += found
        except FormatError as error:
            problems.append(error)
    return problems


def is_part(manifest: Any, expected: PartEntry) -> bool:
    """Whether a graph directory is a part that the partition's manifest describes."""
    found = str(manifest.graph_id), manifest.vertices, manifest.edges
    return found == (expected.graph_id, expected.vertices, expected.edges)
