"""What every reader and writer of graph files shares: the `Format` protocol, its data, checks and small helpers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError, GaraphError, GraphError, ParameterError, printable
from ...system.memory import available_memory
from ...system.sizes import show_bytes
from .columns import USUAL, ColumnNames

if TYPE_CHECKING:
    from ...graph.graph import Graph

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class EdgeList:
    """The edges of a file, in the file's order.

    Attributes
    ----------
    sources, targets : ndarray of integers or pyarrow.ChunkedArray of strings, shape (m,)
        The ids in the file.
    weights : ndarray, shape (m,), optional
        Edge values, of any numeric dtype.
    n : int, optional
        If given, the vertices are 0 to n - 1, and these are their ids.
    directed : bool, optional
        None if the file does not say.
    vertices : ndarray of integers or pyarrow.ChunkedArray of strings, optional
        If the file lists its vertices: the ids of all, each once. Some may have no edge.
    """

    sources: Any
    targets: Any
    weights: Array | None = None
    n: int | None = None
    directed: bool | None = None
    vertices: Any = None


@dataclass(frozen=True)
class ReadOptions:
    """What the caller of `read` wants from a file.

    Attributes
    ----------
    weights : bool, optional
        True: the file must have edge values. False: do not read them. None: read them if there are any.
    directed : bool, optional
        None: what the file says.
    threads : int
        Number of threads that a reader may use.
    memory : int, optional
        Bytes of memory that the graph may take while it is made. None: all that is free.
    columns : ColumnNames
        The columns of a table that hold the edges.
    """

    weights: bool | None = None
    directed: bool | None = None
    threads: int = 1
    memory: int | None = None
    columns: ColumnNames = USUAL

    def __post_init__(self) -> None:
        if self.weights is False and self.columns.weight is not None:
            raise ParameterError(
                "edge values are both named (weight_column) and left out (no weights); drop one option"
            )


Reader = Callable[[Path, ReadOptions, events.Listener], "EdgeList | Graph"]
Streamer = Callable[[Path, ReadOptions, events.Listener], Generator[EdgeList, None, None]]
Writer = Callable[["Graph", Path, events.Listener], None]


@dataclass(frozen=True)
class FormatFidelity:
    """What of a graph survives being written in a format and read back.

    Attributes
    ----------
    ids : str
        ``"any"``, ``"integers"``, or ``"none"``: vertices become 0 to n - 1 (or 1 to n) in internal order.
    weights : str
        ``"any"``, ``"integers"`` (others are refused), ``"required"`` (integers, and none are refused too) or
        ``"none"`` (left out).
    direction : str
        ``"both"``: the file says which it is; ``"one"``: the reader must be told ``directed=False`` for an undirected
        graph; ``"undirected"``: directed graphs are refused.
    isolated : bool
        Vertices without edges survive.
    """

    ids: str
    weights: str
    direction: str
    isolated: bool


class Buffers(NamedTuple):
    """Memory that reading a file takes beside the edges.

    Attributes
    ----------
    nbytes : int
    purpose, otherwise : str
        What it is for, and what to do other than to allow more; for messages.
    """

    nbytes: int
    purpose: str
    otherwise: str

    def check(self, path: Path, allowed: int) -> None:
        """Raise `FormatError` if it is more than what is `allowed`."""
        if self.nbytes > allowed:
            problem = f"{self.purpose} take {show_bytes(self.nbytes, up=True)} of memory"
            within = f"{show_bytes(allowed)} may be used; allow more (memory, --memory), or {self.otherwise}"
            raise FormatError(path, f"{problem}, and {within}")


@dataclass(frozen=True)
class Format:
    """A kind of graph file.

    Attributes
    ----------
    name : str
        As in ``read(path, format=name)``.
    suffixes : tuple of str
        Suffixes of the format's file names, in lower case.
    magic : bytes or tuple of bytes
        The first bytes of such a file, at most 16; empty if they do not identify it.
    description : str
        One line for ``garaph formats``.
    read : callable
        ``read(path, options, listener)`` returns an `EdgeList`, or a `Graph` if the file holds adjacency. It raises
        `FormatError` if anything is wrong with the file.
    keeps : FormatFidelity
    write : callable, optional
        ``write(graph, path, listener)`` writes the whole file or nothing (`system.files.write_whole`). It raises
        `GraphError` if the format cannot hold the graph.
    claims : callable, optional
        ``claims(path)`` returns whether a file is of this format; for suffixes that several formats share. At most one
        of these formats has no such function: it is used for files that no other format claims, and for writing.
    compresses : bool
        Whether files may be compressed, with a second suffix .gz, .xz or .zst.
    stream : callable, optional
        ``stream(path, options, listener)`` yields the edges in batches, so that files may be larger than memory.
        Batches have neither `n` nor `vertices`. Their ids may differ in integer type, their weights may be int64 or
        float64.
    streams_again : bool
        Whether reading a file again is as fast as reading a binary copy of its edges.
    names_columns : bool
        Whether files may have names of columns, so that the user can name those to read.
    buffers : callable, optional
        ``buffers(path, options)`` returns the memory that reading takes beside the edges, as `Buffers`.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: bytes | tuple[bytes, ...]
    description: str
    read: Reader
    keeps: FormatFidelity
    write: Writer | None = None
    claims: Callable[[Path], bool] | None = None
    compresses: bool = False
    stream: Streamer | None = None
    streams_again: bool = False
    names_columns: bool = False
    buffers: Callable[[Path, ReadOptions], Buffers] | None = None

    def check_options(self, path: Path, options: ReadOptions) -> None:
        """Raise `ParameterError` if `options` are not for this format."""
        if options.columns and not self.names_columns:
            raise ParameterError(
                f"{path}: columns of {self.name} files have no names; leave --source-column, "
                "--target-column and --weight-column out"
            )


MAX_VERTICES, MAX_EDGES = 1 << 32, 1 << 48
"""Most vertices and edges of a file, as of a graph directory (`storage.manifest`): vertices have numbers of 32 bits."""
SPARE_VERTICES, VERTICES_PER_EDGE = 1 << 20, 64
"""A file may declare this many vertices, plus so many per edge; more are taken for damage (see `check_vertices`)."""
MIXED_SIGNS = "ids below 0 and above 2^63 - 1 in one file; no integer type holds both: renumber them, or use names"


@contextmanager
def malformed(path: Path, problem: str) -> Iterator[None]:
    """Turn any exception of the body into a `FormatError` about `path`, except the package's own exceptions."""
    try:
        yield
    except GaraphError:
        raise
    except OSError as error:
        if error.strerror:
            problem = f"{error.strerror}; make sure that it can be read"
        else:
            problem = f"{problem} ({first_line(error)})"
        raise FormatError(path, problem) from error
    except Exception as error:  # libraries raise exceptions of every type for damaged files
        raise FormatError(path, f"{problem} ({first_line(error)})") from error


def first_line(error: Exception) -> str:
    """The first line of an exception's message, shortened; its type if the message is empty."""
    lines = str(error).splitlines() or [""]
    return shortened(lines[0]) or type(error).__name__


def shortened(text: str, limit: int = 80) -> str:
    """`text` for a message: unprintable characters are escaped, and it has at most about `limit` characters."""
    text = printable(text[:limit])
    return text if len(text) < limit else text[: limit - 4] + " ..."


def check_memory(path: Path, nbytes: int, purpose: str, allowed: int | None = None) -> None:
    """Raise `FormatError` if `nbytes` for a `purpose` exceed the memory `allowed`, or free; call it before allocating.

    See `ReadOptions.memory`.
    """
    if allowed is not None and nbytes > allowed:
        problem = f"{purpose} take {show_bytes(nbytes, up=True)}, and {show_bytes(allowed)} of memory may be used"
        raise FormatError(path, f"{problem}; allow more (memory, --memory)")
    available = available_memory()
    if nbytes > available:
        raise FormatError(
            path,
            f"{purpose} take {show_bytes(nbytes, up=True)}, but {show_bytes(available)} of memory are free; "
            "check that the file is what it should be, or use a machine with more memory",
        )


def check_vertices(path: Path, n: int, m: int) -> None:
    """Raise `FormatError` if a file declares far more vertices than its edges can have: the number is damaged."""
    if n > SPARE_VERTICES + VERTICES_PER_EDGE * m:
        raise FormatError(path, f"{n:,} vertices, but {m:,} edges; check that the file is what it should be")


def narrowed(ids: Array) -> Array:
    """`ids` as uint32 if they all fit, else unchanged; it halves the memory."""
    if ids.dtype not in (np.int64, np.uint64) or not len(ids) or int(ids.min()) < 0 or int(ids.max()) >= 2**32:
        return ids
    return ids.astype(np.uint32)


def joined(pieces: list[Array]) -> Array:
    """Concatenate `pieces` and empty the list, so that their memory is free before the next column is joined."""
    column = np.concatenate(pieces)
    pieces.clear()
    return column


def joined_edges(batches: list[EdgeList]) -> EdgeList:
    """All edges of the batches that a format's `stream` yields; empties the list.

    Raises
    ------
    GraphError
        If no integer type holds all ids.
    """
    if not batches:
        return EdgeList(np.zeros(0, np.int64), np.zeros(0, np.int64))
    integers, weighted = isinstance(batches[0].sources, np.ndarray), batches[0].weights is not None
    pieces: list[list[Any]] = [
        [batch.sources for batch in batches],
        [batch.targets for batch in batches],
        [batch.weights for batch in batches],
    ]
    batches.clear()  # so that joining one column frees its pieces before the next is joined
    weights = joined(pieces[2]) if weighted else None
    sources, targets = (joined_integers(ids) if integers else joined_strings(ids) for ids in pieces[:2])
    return EdgeList(sources, targets, weights)


def joined_integers(pieces: list[Array]) -> Array:
    """Concatenate integer ids of several types, into uint64 if any piece has that type."""
    if any(piece.dtype == np.uint64 for piece in pieces):
        if any(piece.dtype == np.int64 and len(piece) and int(piece.min()) < 0 for piece in pieces):
            raise GraphError(MIXED_SIGNS)
        pieces[:] = [piece.astype(np.uint64, copy=False) for piece in pieces]
    return joined(pieces)


def joined_strings(pieces: list[Any]) -> Any:
    """Arrow string arrays, chunked or not, as one chunked array."""
    import pyarrow as pa

    chunks = [chunk for piece in pieces for chunk in (piece.chunks if isinstance(piece, pa.ChunkedArray) else [piece])]
    return pa.chunked_array(chunks, chunks[0].type if chunks else pa.string())


def first_outside(numbers: Array, low: int, high: int) -> int | None:
    """The position of the first of `numbers` that is not in [low, high]; None if all are."""
    if not len(numbers) or low <= int(numbers.min()) <= int(numbers.max()) <= high:
        return None
    return int(np.argmax((numbers < low) | (numbers > high)))
