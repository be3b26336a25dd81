"""The manifest of a graph directory: JSON with a checksum. `parse` checks every field."""

from __future__ import annotations

import json
import os
import re
import uuid
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import xxhash

from ..codec.arrays import PACKED
from ..codec.codecs import Limits
from ..errors import DamagedGraphError, FormatError
from ..graph.adjacency import EDGE_DTYPES
from .blocks import (
    BLOCK_ENCODINGS,
    EDGES,
    MAX_BLOCK_BYTES,
    MIN_BLOCK_BYTES,
    VALUES,
    StoredArray,
    StoredFile,
    known_encodings,
)

NAME = "manifest.json"
FORMAT = "garaph graph"
VERSION, VERSIONS = 3, (1, 2, 3)
"""The version that is written, and those that are read. Versions 1 and 2 have no limits of edge values, and version 1
has no sums and records of edges."""
MAX_BYTES = 1 << 20
"""Maximal bytes of a manifest."""
MAX_VERTICES = 1 << 32
"""Most vertices: their numbers have 32 bits."""
MAX_COUNT = 1 << 48
"""Upper bound on every other count: edges, elements, generations."""
MAX_DISKS = 64
"""Most disks of a graph: more than machines have, and few enough for their names to fit `MAX_BYTES`."""
MAX_DISK_BYTES = 1024
"""Maximal bytes of a directory's name. `MAX_DISKS` such names fit in a manifest, even if JSON escapes every byte."""

INT64, UINT64, UINT32, UINT8 = map(np.dtype, (np.int64, np.uint64, np.uint32, np.uint8))
KEYS = (
    *("format", "version", "graph_id", "generation", "vertices", "edges", "directed", "ids", "disks", "k"),
    *("edge_hashes", "arrays", "checksum"),
)
MAY_LACK, MAY_LACK_ARRAYS = ("k", "edge_hashes"), ("out_values",)  # keys that older manifests lack
ARRAY_KEYS = ("dtype", "length", "encoding", "block_bytes", "blocks", "stored_bytes", "data", "index", "index_checksum")
BESIDE = {"sums": ("sums", "sums_checksum"), "records": ("records", "records_checksum")}
"""The keys of each of the files about parts of blocks (storage/parts.py)."""
FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
HEX64 = re.compile(r"[0-9a-f]{16}")
SEAL = re.compile(rb'([0-9a-f]{16})"\n}\n')
SEAL_BYTES = 20
"""Length of the end of a manifest: the digits of the checksum, and the characters after them."""


class EdgeHashes(NamedTuple):
    """The hashes of the in-edges and of the out-edges, which are equal: see `graph.edge_hash`."""

    into: int
    out: int


@dataclass(frozen=True)
class Manifest:
    """The description of a graph directory.

    Attributes
    ----------
    graph_id : uuid.UUID
        Random; a new one whenever a graph is saved.
    generation : int
        Number of times that the arrays were rewritten; with `graph_id` it is part of every block's checksum.
    vertices, edges : int
        Counts; an undirected edge between two vertices is stored, and counted, twice.
    directed : bool
    ids : str
        ``"range"``, ``"integer"`` or ``"string"``: see `garaph_py.graph.ids`.
    disks : tuple of str
        Directories that hold the blocks; ``"."`` is the graph directory itself.
    arrays : dict of str to StoredArray
    k : float or None
        Ratio of sequential to random read speed of the disks; None if it was not measured.
    edge_hashes : EdgeHashes or None
        None if the graph was saved before they were introduced.
    version : int
        Version of the format.
    """

    graph_id: uuid.UUID
    generation: int
    vertices: int
    edges: int
    directed: bool
    ids: str
    disks: tuple[str, ...]
    arrays: dict[str, StoredArray]
    k: float | None = None
    edge_hashes: EdgeHashes | None = None
    version: int = VERSION

    @property
    def edge_dtype(self) -> np.dtype[Any] | None:
        """Type of the edge values, or None when the graph has none."""
        return self.arrays["in_values"].dtype if "in_values" in self.arrays else None

    @property
    def stored_bytes(self) -> int:
        """Bytes of all arrays on disk, without the block indexes."""
        return sum(array.stored_bytes for array in self.arrays.values())

    @property
    def bytes_per_edge(self) -> dict[str, float]:
        """Stored bytes of each array over the number of edges (0 for a graph without edges)."""
        return {name: array.stored_bytes / self.edges if self.edges else 0.0 for name, array in self.arrays.items()}


def serialize(manifest: Manifest) -> bytes:
    """The bytes of the manifest file, with its checksum."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": manifest.version,
        "graph_id": str(manifest.graph_id),
        "generation": manifest.generation,
        "vertices": manifest.vertices,
        "edges": manifest.edges,
        "directed": manifest.directed,
        "ids": manifest.ids,
        "disks": list(manifest.disks),
        "k": manifest.k,
    }
    if manifest.edge_hashes is not None:
        into, out = manifest.edge_hashes
        document["edge_hashes"] = {"in": f"{into:016x}", "out": f"{out:016x}"}
    document["arrays"] = {name: array_document(array, manifest.version) for name, array in manifest.arrays.items()}
    return seal(document)


def array_document(array: StoredArray, version: int) -> dict[str, Any]:
    document: dict[str, Any] = {
        "dtype": array.dtype.name,
        "length": array.length,
        "encoding": {"name": array.encoding[0], "version": array.encoding[1]},
        "block_bytes": array.block_bytes,
        "blocks": array.blocks,
        "stored_bytes": array.stored_bytes,
        "data": array.data,
        "index": array.index,
        "index_checksum": f"{array.index_checksum:016x}",
    } | {
        key: value
        for name, keys in BESIDE.items()
        if (file := getattr(array, name)) is not None
        for key, value in zip(keys, (file.name, f"{file.checksum:016x}"), strict=True)
    }
    if has_limits(array.name, version):
        document["limits"] = limits_document(array.limits, array.dtype)
    return document


def limits_document(limits: Limits | None, dtype: np.dtype[Any]) -> list[str] | None:
    """The limits of edge values of this type, as two texts: digits, or C99's hexadecimal floats."""
    if limits is None:
        return None
    return [str(int(limit)) if dtype.kind in "iu" else float(limit).hex() for limit in limits]


def seal(document: dict[str, Any]) -> bytes:
    """`document` as JSON text that ends in the checksum of everything before the checksum's own digits."""
    head = json.dumps(document | {"checksum": ""}, indent=2).encode().removesuffix(b'"\n}')
    return head + f'{xxhash.xxh3_64_intdigest(head):016x}"\n}}\n'.encode()


def parse(data: bytes | bytearray, path: str | os.PathLike[str]) -> Manifest:
    """The manifest in `data`, the contents of the file `path`.

    Raises
    ------
    DamagedGraphError
        If it is not JSON or its checksum does not match.
    FormatError
        If the version or an encoding is unknown, or a field is missing, superfluous, of the wrong type, out of range
        or contradicts another.
    """
    document = load_json(data, path)
    if type(document) is not dict or document.get("format") != FORMAT:
        raise FormatError(path, f"not the manifest of a graph directory: its format is not {FORMAT!r}")
    version = document.get("version")
    if type(version) is not int or version not in VERSIONS:
        problem = f"format version {shown(version)} is not known, only {VERSIONS[0]} to {VERSION}"
        raise FormatError(path, f"{problem}; upgrade garaph_py, or import the graph again")
    sealed = SEAL.fullmatch(data[-SEAL_BYTES:])
    if sealed is None or int(sealed[1], 16) != xxhash.xxh3_64_intdigest(data[:-SEAL_BYTES]):
        raise DamagedGraphError(path, "its checksum does not match; restore the file, or import the graph again")
    return read_document(document, path)


def load_json(data: bytes | bytearray, path: str | os.PathLike[str]) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key occurs twice")
        return dict(pairs)

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a number")

    try:
        return json.loads(data.decode(), object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as error:
        offset, problem = len(error.doc[: error.pos].encode()), error.msg
    except UnicodeDecodeError as error:
        offset, problem = error.start, "not UTF-8"
    except RecursionError:
        offset, problem = 0, "nested too deeply"
    except ValueError as error:
        offset, problem = 0, str(error)
    problem = f"not valid JSON ({problem}); restore the file, or import the graph again"
    raise DamagedGraphError(path, problem, offset=offset)


class Fields:
    """Reads the members of one JSON object, checking type and range."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        where: str,
        members: Any,
        keys: tuple[str, ...],
        may_lack: tuple[str, ...] = (),
    ) -> None:
        self.path, self.where, self.members = path, where, members
        if type(members) is not dict:
            raise self.error(f"not an object but {shown(members)}")
        missing, extra = sorted(set(keys) - set(members) - set(may_lack)), sorted(set(members) - set(keys))
        if missing or extra:
            raise self.error(f"missing keys {shown(missing)}, unknown keys {shown(extra)}")

    def error(self, problem: str) -> FormatError:
        return FormatError(self.path, f"{self.where}{problem}; import the graph again")

    def integer(self, key: str, low: int, high: int) -> int:
        value = self.members[key]
        if type(value) is not int or not low <= value <= high:
            raise self.error(f"{key} is {shown(value)}, not a whole number from {low} to {high}")
        return value

    def boolean(self, key: str) -> bool:
        value = self.members[key]
        if type(value) is not bool:
            raise self.error(f"{key} is {shown(value)}, not true or false")
        return value

    def text(self, key: str, allowed: re.Pattern[str] | tuple[str, ...], meaning: str) -> str:
        value = self.members[key]
        if type(value) is not str or not (value in allowed if isinstance(allowed, tuple) else allowed.fullmatch(value)):
            raise self.error(f"{key} is {shown(value)}, not {meaning}")
        return value


def read_document(document: dict[str, Any], path: str | os.PathLike[str]) -> Manifest:
    fields = Fields(path, "", document, KEYS, MAY_LACK)
    try:
        graph_id = uuid.UUID(fields.text("graph_id", re.compile(r"[0-9a-f-]{36}"), "a UUID"))
    except ValueError:
        raise fields.error(f"graph_id is {shown(document['graph_id'])}, not a UUID") from None
    manifest = Manifest(
        graph_id=graph_id,
        generation=fields.integer("generation", 0, MAX_COUNT),
        vertices=fields.integer("vertices", 0, MAX_VERTICES),
        edges=fields.integer("edges", 0, MAX_COUNT),
        directed=fields.boolean("directed"),
        ids=fields.text("ids", ("range", "integer", "string"), "range, integer or string"),
        disks=read_disks(fields),
        arrays={},
        k=read_k(fields),
        edge_hashes=read_edge_hashes(fields),
        version=document["version"],
    )
    members = document["arrays"]
    wanted = expected_arrays(manifest, type(members) is dict and "in_values" in members)
    entries = Fields(path, "arrays: ", members, tuple(wanted), MAY_LACK_ARRAYS).members
    for name, (dtypes, length) in wanted.items():
        if name in entries:
            manifest.arrays[name] = read_array(name, entries[name], dtypes, length, path, manifest.version)
    arrays = manifest.arrays
    if "out_values" in arrays and arrays["out_values"].dtype != manifest.edge_dtype:
        raise fields.error("arrays: in_values and out_values differ in type")
    files = [name for array in manifest.arrays.values() for name in array.files]
    if len({NAME, *files}) != len(files) + 1:
        raise fields.error("two arrays name the same file")
    return manifest


def read_disks(fields: Fields) -> tuple[str, ...]:
    disks = fields.members["disks"]
    if type(disks) is not list or not 1 <= len(disks) <= MAX_DISKS:
        raise fields.error(f"disks is {shown(disks)}, not a list of 1 to {MAX_DISKS} directories")
    for number, disk in enumerate(disks):
        if type(disk) is not str or not (disk == "." or is_plain_absolute(disk)):
            raise fields.error(f'disk {number} is {shown(disk)}, not "." or an absolute directory without . and ..')
        if disk in disks[:number]:
            raise fields.error(f"disk {number} is {shown(disk)}, which is listed twice")
    return tuple(disks)


def is_plain_absolute(directory: str) -> bool:
    """Whether `directory` is an absolute path in its shortest form, and no longer than a manifest allows."""
    try:
        length = len(os.fsencode(directory))
    except UnicodeEncodeError:
        return False
    plain = directory.startswith("/") and not directory.startswith("//") and os.path.normpath(directory) == directory
    return plain and "\0" not in directory and length <= MAX_DISK_BYTES


def read_k(fields: Fields) -> float | None:
    k = fields.members.get("k")
    if k is None:
        return None
    if type(k) not in (int, float) or not 1 <= k <= MAX_COUNT:
        raise fields.error(f"k is {shown(k)}, not null or a number from 1 to {MAX_COUNT}")
    return float(k)


def read_edge_hashes(fields: Fields) -> EdgeHashes | None:
    if "edge_hashes" not in fields.members:
        return None
    hashes = Fields(fields.path, "edge_hashes: ", fields.members["edge_hashes"], ("in", "out"))
    into, out = (int(hashes.text(key, HEX64, "16 hexadecimal digits"), 16) for key in ("in", "out"))
    if into != out:
        raise hashes.error("in and out differ, so the out-edges are not the in-edges reversed")
    return EdgeHashes(into, out)


def expected_arrays(manifest: Manifest, values: bool) -> dict[str, tuple[tuple[np.dtype[Any], ...], int | None]]:
    """The arrays that a graph must have: their allowed types, and their length if it follows from the counts."""
    n, m = manifest.vertices, manifest.edges
    arrays: dict[str, tuple[tuple[np.dtype[Any], ...], int | None]] = {
        "in_offsets": ((INT64,), n + 1),
        "in_sources": ((UINT32,), m),
    }
    if values:
        arrays["in_values"] = (EDGE_DTYPES, m)
    if manifest.directed:
        arrays |= {"out_offsets": ((INT64,), n + 1), "out_targets": ((UINT32,), m)}
        if values:
            arrays["out_values"] = (EDGE_DTYPES, m)
    if manifest.ids == "integer":
        arrays["ids"] = ((INT64, UINT64), n)
    if manifest.ids == "string":
        arrays |= {"id_offsets": ((INT64,), n + 1), "id_bytes": ((UINT8,), None)}
    return arrays


def read_array(
    name: str, members: Any, dtypes: tuple[np.dtype[Any], ...], length: int | None, path: str | os.PathLike[str],
    version: int,
) -> StoredArray:  # fmt: skip
    where = f"arrays: {name}: "
    encoded = type(members) is dict and type(members.get("encoding")) is dict and members["encoding"].get("name")
    beside = files_beside(name, version, encoded == PACKED)
    limited = ("limits",) if has_limits(name, version) else tuple[str]()
    fields = Fields(path, where, members, (*ARRAY_KEYS, *(key for file in beside for key in BESIDE[file]), *limited))
    names = tuple(dtype.name for dtype in dtypes)
    encoding = Fields(path, f"{where}encoding: ", members["encoding"], ("name", "version")).members
    kind = encoding["name"], encoding["version"]
    if type(kind[0]) is not str or type(kind[1]) is not int or kind not in BLOCK_ENCODINGS:
        problem = f"{where}encoding {shown(kind[0])} version {shown(kind[1])} is not known, only {known_encodings()}"
        raise FormatError(path, f"{problem}; upgrade garaph_py, or import the graph again")
    more: dict[str, Any] = {file: read_file_beside(fields, *BESIDE[file]) for file in beside}
    array = StoredArray(
        name=name,
        dtype=np.dtype(fields.text("dtype", names, " or ".join(names))),
        length=fields.integer("length", *((0, MAX_COUNT) if length is None else (length, length))),
        encoding=kind,
        block_bytes=fields.integer("block_bytes", MIN_BLOCK_BYTES, MAX_BLOCK_BYTES),
        stored_bytes=fields.integer("stored_bytes", 0, 16 * MAX_COUNT),
        data=fields.text("data", FILE_NAME, "a plain file name"),
        index=fields.text("index", FILE_NAME, "a plain file name"),
        index_checksum=int(fields.text("index_checksum", HEX64, "16 hexadecimal digits"), 16),
        **more,
    )
    if array.block_bytes % MIN_BLOCK_BYTES:
        raise fields.error(f"block_bytes is {array.block_bytes}, not a multiple of {MIN_BLOCK_BYTES}")
    if unfit := BLOCK_ENCODINGS[kind](name, array.dtype).unfit(array.block_bytes):
        raise fields.error(unfit)
    fields.integer("blocks", array.blocks, array.blocks)
    if limited:
        array = replace(array, limits=limits_in(fields, array.dtype))
        if (array.limits is None) != (array.length == 0):
            raise fields.error("limits are null, or there is no value")
    return array


def files_beside(name: str, version: int, is_packed: bool) -> tuple[str, ...]:
    """The files about parts of blocks that an array has: only arrays of edges do, since version 2."""
    return ("sums", "records")[: 1 + is_packed] if version > 1 and name in EDGES else ()


def has_limits(name: str, version: int) -> bool:
    """Whether the manifest has the limits of an array: only those of edge values, since version 3."""
    return version > 2 and name in VALUES


def limits_in(fields: Fields, dtype: np.dtype[Any] | None) -> Limits | None:
    """The limits of the edges' values."""
    given = fields.members["limits"]
    if given is None:
        return None
    try:
        if dtype is None or type(given) is not list or list(map(type, given)) != [str, str]:
            raise ValueError("not two texts")
        least, most = (dtype.type(int(text) if dtype.kind in "iu" else float.fromhex(text)) for text in given)
        if not (least <= most or (least != least and most != most)):
            raise ValueError("not in order")
    except (ValueError, TypeError, OverflowError):
        raise fields.error("limits are not null or two numbers of the type of the edges' values") from None
    return Limits(least, most)


def read_file_beside(fields: Fields, name: str, checksum: str) -> StoredFile:
    return StoredFile(
        fields.text(name, FILE_NAME, "a plain file name"),
        int(fields.text(checksum, HEX64, "16 hexadecimal digits"), 16),
    )


def shown(value: object) -> str:
    """`value` for an error message, shortened because a hostile file may contain anything."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
