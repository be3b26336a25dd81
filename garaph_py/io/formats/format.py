"""What a reader of graph files is given and gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError, GaraphError
from ...system.memory import available_memory

if TYPE_CHECKING:
    from ...graph.graph import Graph

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class EdgeList:
    """The edges of a file, in the file's order.

    Attributes
    ----------
    sources, targets : ndarray of integers or pyarrow.ChunkedArray of strings, shape (m,)
        The ids the file gives.
    weights : ndarray, shape (m,), optional
        Edge values, of any numeric dtype.
    n : int, optional
        When given, ids are 0 to n - 1 and every one of these vertices exists.
    directed : bool, optional
        None when the file does not say.
    vertices : ndarray of integers or pyarrow.ChunkedArray of strings, optional
        Ids of all vertices, each once, where the file lists them: some may have no edge.
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
        True: the file must have them. False: leave them. None: take them if they are there.
    directed : bool, optional
        The caller's word on it; None: what the file says.
    threads : int
        Threads a reader may use.
    """

    weights: bool | None = None
    directed: bool | None = None
    threads: int = 1


Reader = Callable[[Path, ReadOptions, events.Listener], "EdgeList | Graph"]
Streamer = Callable[[Path, ReadOptions, events.Listener], Iterator[EdgeList]]
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


@dataclass(frozen=True)
class Format:
    """A kind of graph file.

    Attributes
    ----------
    name : str
        As in ``read(path, format=name)``.
    suffixes : tuple of str
        File names that mean this format, in lower case.
    magic : bytes or tuple of bytes
        How such a file begins, in at most 16 bytes; empty when nothing tells it.
    description : str
        One line for a person.
    read : callable
        ``read(path, options, listener)`` gives an `EdgeList` or, when the file holds sorted adjacency already, a
        `Graph`; whatever is wrong with the file is a `FormatError`.
    keeps : Keeps
    write : callable, optional
        ``write(graph, path, listener)`` writes the whole file or nothing (`files.write_whole`); a graph that the format
        cannot hold is a `GraphError`.
    claims : callable, optional
        ``claims(path)`` tells whether a file is of this format, for a suffix that several formats have. At most one of
        them goes without: it takes what no other claims, and is written where only the suffix says what to write.
    compresses : bool
        Whether files may be compressed, with a second suffix .gz, .xz or .zst.
    stream : callable, optional
        ``stream(path, options, listener)`` gives the same as `read` a batch at a time, where files may be larger than
        memory. Of a batch neither `n` nor `vertices` is given; ids of batches may differ in their integer type, and
        weights in being int64 or float64.
    edge_bytes : int
        What an edge takes in such a file, about, and rather less; 0 where nothing is streamed.
    streams_again : bool
        Whether a file is read a second time as fast as a binary copy of its edges would be.
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
    edge_bytes: int = 0
    streams_again: bool = False


SPARE_VERTICES = 1 << 20
VERTICES_PER_EDGE = 64
ENDPOINT_NAMES = (("source", "target"), ("src", "dst"), ("from", "to"))
WEIGHT_NAMES = ("weight", "value", "w")


def endpoint_columns(names: Sequence[str]) -> tuple[int, int] | None:
    """Which columns are source and target by name; None when no known pair of names is there."""
    lower = [name.strip().lower() for name in names]
    for source, target in ENDPOINT_NAMES:
        if source in lower and target in lower:
            return lower.index(source), lower.index(target)
    return None


def weight_column(names: Sequence[str], source: int, target: int) -> int | None:
    """The column with a known name for weights, else the third unless it is an endpoint, else None."""
    lower = [name.strip().lower() for name in names]
    for name in WEIGHT_NAMES:
        if name in lower and lower.index(name) not in (source, target):
            return lower.index(name)
    return 2 if len(names) > 2 and 2 not in (source, target) else None


@contextmanager
def malformed(path: Path, problem: str) -> Iterator[None]:
    """Turn whatever a library raises over the contents of `path` into a `FormatError`."""
    try:
        yield
    except GaraphError:
        raise
    except OSError as error:
        raise FormatError(path, error.strerror or f"{problem} ({first_line(error)})") from error
    except Exception as error:  # libraries raise of every kind over hostile bytes
        raise FormatError(path, f"{problem} ({first_line(error)})") from error


def first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return shortened(lines[0]) or type(error).__name__


def shortened(text: str, limit: int = 80) -> str:
    """`text` for a message: printable, and not longer than a line."""
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[:limit])
    return text if len(text) < limit else text[: limit - 4] + " ..."


def check_memory(path: Path, nbytes: int, purpose: str) -> None:
    """Refuse, before it is allocated, what this machine cannot hold."""
    available = available_memory()
    if nbytes > available:
        raise FormatError(
            path,
            f"{purpose} take {nbytes / 2**30:.1f} GiB, but {available / 2**30:.1f} GiB of memory are free; "
            "check that the file is what it should be, or use a machine with more memory",
        )


def check_vertices(path: Path, n: int, m: int) -> None:
    """Refuse, before it is believed, a number of vertices that a few bytes declare and next to no edge is there for."""
    if n > SPARE_VERTICES + VERTICES_PER_EDGE * m:
        raise FormatError(path, f"{n:,} vertices, but {m:,} edges; check that the file is what it should be")


def narrowed(ids: Array) -> Array:
    """`ids` as uint32 where they fit, to halve the memory that a long list takes."""
    if ids.dtype not in (np.int64, np.uint64) or not len(ids) or int(ids.min()) < 0 or int(ids.max()) >= 2**32:
        return ids
    return ids.astype(np.uint32)


def joined(pieces: list[Array]) -> Array:
    """The column that `pieces` make up. The list is emptied: they are freed before the next column is joined."""
    column = np.concatenate(pieces)
    pieces.clear()
    return column
