"""LDBC Graphalytics: three files side by side. X.v lists vertices, X.e edges, and X.properties describes both.

The name of any of the three means the graph. X.v or X.properties may be missing; X.e alone is a text edge list.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError, GraphError, ParameterError
from ...graph.columns import numbers_of
from ...graph.edges import user_ids
from ...graph.graph import Graph
from ...graph.ids import StringIds
from ...system.files import write_whole
from .batches import edge_batches, edge_count, user_columns
from .format import EdgeList, Format, FormatFidelity, ReadOptions, check_memory, malformed, shortened
from .layout import INTEGER
from .streams import COMPRESSED_SUFFIXES, line_blocks
from .text import BLOCK, line_count, read_text
from .text_writer import decimal, lines

EDGES, VERTICES, PROPERTIES = SUFFIXES = (".e", ".v", ".properties")
LONGEST_PROPERTIES = 1 << 20
"""Most bytes of X.properties."""
PROPERTY = re.compile(r"([^\s=:]+)\s*[=:]?\s*(.*)")
NAME = re.compile(r"[^\s=:]+")
TYPES = {"int": np.dtype(np.int64), "real": np.dtype(np.float64)}
VERTICES_AT_ONCE = 1 << 17
"""Vertices of X.v that are written at a time."""


class Properties:
    """The contents of X.properties; what it does not say is None.

    Attributes
    ----------
    directed : bool
    weight : dtype
        Type of the first edge property; None if edges have no property.
    vertices, edges : int, optional
        Their numbers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with malformed(path, "not readable"), open(path, "rb") as file:
            data = file.read(LONGEST_PROPERTIES + 1)
        if len(data) > LONGEST_PROPERTIES:
            raise FormatError(path, f"more than {LONGEST_PROPERTIES:,} bytes; this is no list of a graph's properties")
        self._found: dict[str, tuple[str, int]] = {}
        for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
            text = line.strip()
            if text and text[0] not in "#!" and (match := PROPERTY.fullmatch(text)):
                if match[1] in self._found:
                    raise FormatError(path, f"{shortened(match[1])} is given twice; remove one", line=number)
                self._found[match[1]] = match[2], number
        owners = [key for key in self._found if key.startswith("graph.") and key.endswith(".directed")]
        if len(owners) != 1:
            raise FormatError(path, f"{len(owners)} lines graph.NAME.directed, not one; this is no Graphalytics graph")
        self._prefix = owners[0].removesuffix("directed")
        self.directed = self._choice("directed", {"true": True, "false": False})
        for kind, suffix in (("vertex-file", VERTICES), ("edge-file", EDGES)):
            self._choice(kind, {path.with_suffix(suffix).name: None})
        self.weight = None
        if self._value("edge-properties.names"):
            self.weight = self._choice("edge-properties.types", TYPES, TYPES["real"], ",")
        self.vertices, self.edges = self._count("meta.vertices"), self._count("meta.edges")

    def _value(self, key: str) -> str:
        return self._found.get(self._prefix + key, ("", 0))[0]

    def _choice(self, key: str, choices: dict[str, Any], default: Any = None, separator: str | None = None) -> Any:
        text, line = self._found.get(self._prefix + key, ("", 0))
        if not line:
            return default
        chosen = text.split(separator)[0].strip() if separator else text
        if chosen not in choices:
            problem = f"{key} is {shortened(chosen)!r}; {' or '.join(choices)} is possible here"
            raise FormatError(self.path, problem, line=line)
        return choices[chosen]

    def _count(self, key: str) -> int | None:
        text, line = self._found.get(self._prefix + key, ("", 0))
        if not line:
            return None
        if not re.fullmatch("[0-9]{1,18}", text):
            raise FormatError(self.path, f"{key} is {shortened(text)!r}, not a number", line=line)
        return int(text)

    def check_count(self, key: str, said: int | None, there: int) -> None:
        if said is not None and said != there:
            _, line = self._found[self._prefix + key]
            problem = f"{key} is {said:,}, but there are {there:,}; fetch or make the files again"
            raise FormatError(self.path, problem, line=line)


def read_graphalytics(path: Path, options: ReadOptions, listener: events.Listener) -> EdgeList:
    """Read X.e, and X.v and X.properties if they exist; see `FORMAT`."""
    edge_path, vertex_path, property_path = companions(path)
    if not edge_path.is_file():
        raise FormatError(edge_path, "no such file, which has the edges of a Graphalytics graph; put it there")
    said = Properties(property_path) if property_path.is_file() else None
    wanted = options.weights
    if said is not None and wanted is not False:
        if wanted and said.weight is None:
            raise FormatError(property_path, "no edge-properties.names, so edges have no weights; read it without")
        wanted = said.weight is not None
    vertices = read_vertices(vertex_path, options.memory) if vertex_path.is_file() else None
    left = options.memory if options.memory is None or vertices is None else options.memory - vertices.nbytes
    found = read_text(edge_path, replace(options, weights=wanted, memory=left), listener)
    if not isinstance(found.sources, np.ndarray) or not isinstance(found.targets, np.ndarray):
        raise FormatError(edge_path, "its first edge has names, but vertices of Graphalytics are integers")
    weights = found.weights
    if said is not None:
        said.check_count("meta.edges", said.edges, len(found.sources))
        if vertices is not None:
            said.check_count("meta.vertices", said.vertices, len(vertices))
        if wanted and said.weight is not None:
            weights = weights_as(said.weight, weights, edge_path)
    directed = None if said is None else said.directed
    return EdgeList(found.sources, found.targets, weights, directed=directed, vertices=vertices)


def companions(path: Path) -> tuple[Path, Path, Path]:
    """The paths of X.e, X.v and X.properties; `path` is one of them, or X."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSED_SUFFIXES:
        raise FormatError(path, "compressed; decompress the files of a Graphalytics graph first")
    base = path.with_suffix("") if suffix in SUFFIXES else path
    edges, vertices, properties = (base.with_name(base.name + suffix) for suffix in SUFFIXES)
    return edges, vertices, properties


def weights_as(dtype: np.dtype[Any], weights: Any, path: Path) -> npt.NDArray[Any]:
    if weights is None:  # there is no edge
        return np.zeros(0, dtype)
    if dtype.kind == "i" and weights.dtype.kind == "f":
        raise FormatError(path, "weights are fractions, but the type in .properties is int; write real there")
    return np.asarray(weights, dtype)


def read_vertices(path: Path, memory: int | None) -> npt.NDArray[Any]:
    """The ids in X.v, one per line; they may take `memory` bytes."""
    parts, line = [np.zeros(0, np.int64)], 1
    with malformed(path, "not readable"):
        file = open(path, "rb")  # noqa: SIM115 - closed by the next line
    with file:
        for block in line_blocks(path, file, BLOCK):
            parts.append(vertex_ids(path, block, line))
            line += line_count(block)
            if memory is not None:  # the parts, and the array that is made of them
                check_memory(path, 16 * line, "its vertices", memory)
    ids = np.concatenate(parts)
    if not (ids[1:] > ids[:-1]).all():
        ascending = np.sort(ids)
        twice = ascending[1:][ascending[1:] == ascending[:-1]]
        if len(twice):
            raise FormatError(path, f"vertex {twice[0]} is listed twice; remove one")
    return ids


def vertex_ids(path: Path, block: bytes, line: int) -> npt.NDArray[np.int64]:
    """The ids in `block`, which begins with line `line`."""
    import pyarrow as pa
    from pyarrow import csv

    if not block.strip():
        return np.zeros(0, np.int64)
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=["id"]),
            csv.ParseOptions(quote_char=False),
            csv.ConvertOptions(column_types={"id": pa.int64()}, null_values=[]),
        )
    except pa.ArrowInvalid:
        for number, text in enumerate(block.split(b"\n"), line):
            name = text.decode("utf-8", "backslashreplace")
            if name and not (INTEGER.fullmatch(name) and len(name) <= 20 and -(2**63) <= int(name) < 2**63):
                problem = "not a vertex id, which is one 64-bit integer"
                raise FormatError(path, problem, line=number, text=shortened(name)) from None
        raise FormatError(path, "not a list of 64-bit integers, one a line") from None
    return numbers_of(table["id"])


def has_companions(path: Path) -> bool:
    """Whether `path` is X.e, and X.v or X.properties is beside it."""
    return path.suffix.lower() == EDGES and any(companion.is_file() for companion in companions(path)[1:])


def write_graphalytics(graph: Graph, path: Path, listener: events.Listener) -> None:
    """Write X.e, X.v and X.properties; X is `path` without any of these suffixes."""
    if isinstance(graph.ids, StringIds):
        raise GraphError("vertices have names, but those of Graphalytics are integers; write another format")
    edge_path, vertex_path, property_path = companions(path)
    name = edge_path.stem
    if not NAME.fullmatch(name):
        raise ParameterError(f"{path}: a Graphalytics graph has a name without blanks, = and :; choose another")

    def write_vertices(file: IO[bytes]) -> None:
        for start in range(0, graph.n, VERTICES_AT_ONCE):
            vertices = np.arange(start, min(start + VERTICES_AT_ONCE, graph.n))
            file.write(lines([user_ids(graph.ids, vertices)]))

    def write_edges(file: IO[bytes]) -> None:
        for batch in edge_batches(graph, listener):
            columns = user_columns(graph, batch)
            file.write(lines(columns if batch.values is None else [*columns, decimal(batch.values)], " "))

    properties = {
        "vertex-file": vertex_path.name,
        "edge-file": edge_path.name,
        "meta.vertices": graph.n,
        "meta.edges": edge_count(graph),
        "directed": str(bool(graph.directed)).lower(),
    }
    if graph.edge_dtype is not None:
        kind = "real" if graph.edge_dtype.kind == "f" else "int"
        properties |= {"edge-properties.names": "weight", "edge-properties.types": kind}
    text = "".join(f"graph.{name}.{key} = {value}\n" for key, value in properties.items())

    def write_properties(file: IO[bytes]) -> None:
        file.write(text.encode(errors="surrogateescape"))  # a name may have any bytes

    write_whole(edge_path, write_edges)  # first the file that is likeliest to fail, while the others are unchanged
    write_whole(vertex_path, write_vertices)
    write_whole(property_path, write_properties)


FORMAT = Format(
    "graphalytics",
    (PROPERTIES, VERTICES, EDGES),
    b"",
    "LDBC Graphalytics: X.v, X.e and X.properties side by side",
    read_graphalytics,
    FormatFidelity(ids="integers", weights="any", direction="both", isolated=True),
    write_graphalytics,
    has_companions,
)
