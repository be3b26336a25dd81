"""`PartReader`: reads a worker's parts of a graph on disk, in the form that its memory allows."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ClusterError, FormatError, GaraphError
from ..graph.part import Cuts, Part
from ..graph.place import Place
from ..io.bulk.part import write_part
from ..storage.blocks import EDGES
from ..storage.directory import open as open_graph
from ..storage.directory import read_manifest
from ..storage.files import GraphDirectory
from ..storage.partition import NAME, part_name, place_name, read_partition, read_place
from ..storage.remote import Wanted, copy
from ..storage.stored_part import StoredPart
from ..system.sizes import show_bytes
from ..system.urls import is_url
from .memory import LIMIT_SHARE, PROCESS, needs

Array = npt.NDArray[Any]


class Within(NamedTuple):
    """Where a part is in an undivided graph on disk, as plain data.

    Attributes
    ----------
    direction : str
        Which of the graph's edges are the in-edges, ``"in"`` or ``"out"``.
    valued : bool
        Whether the edges have values.
    cuts : ndarray of int64, shape (parts + 1,)
        The first vertex of each part.
    pieces : ndarray of int64, shape (k, 2)
        Of `Cuts.pieces`, those of the part.
    """

    direction: str
    valued: bool
    cuts: Array
    pieces: Array


class Where(NamedTuple):
    """Where a worker finds a part of a graph on disk, as plain data.

    Attributes
    ----------
    path : str
        The directory of the graph or the partition, or its URL.
    id : str
        The id of the graph or the partition that must be there.
    part : int
    value_bytes, parameter_bytes : int
        Bytes of a vertex's value, and of the program's parameters for it.
    within : Within or None
        None if the part has a directory of its own, in a partition.
    """

    path: str
    id: str
    part: int
    value_bytes: int
    parameter_bytes: int
    within: Within | None = None


class PartReader:
    """Reads the parts of one worker.

    Parameters
    ----------
    address : str
        The worker's.
    threads : int
    limit : int
        Its memory limit in bytes; 0 if it has none.
    folder : str or None
        A directory on a local disk, for parts that do not fit in memory; None for the system's.
    """

    def __init__(self, address: str, threads: int, limit: int, folder: str | None) -> None:
        self.address, self.threads, self._folder = address, threads, folder
        self._room = int(limit * LIMIT_SHARE) - PROCESS if limit else None
        self._taken: dict[int, int] = {}
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def read(self, wanted: Sequence[Sequence[Any]]) -> dict[int, tuple[Part, str, int]]:
        """The parts that are wanted, their encodings, and the least memory that each needs.

        Each is wanted as a `Where`. The memory that is left is divided equally among them.

        Raises
        ------
        ClusterError
            If this worker does not see the graph, or has too little memory for the vertices of a part.
        """
        parts: dict[int, tuple[Part, str, int]] = {}
        moved = bool(self._taken)
        for left, fields in zip(range(len(wanted), 0, -1), wanted, strict=True):
            where = Where(*fields)
            room = None if self._room is None else (self._room - sum(self._taken.values())) // left
            try:
                read = self._open(where, room, moved) if where.within is None else self._read(where, room, moved)
                part, self._taken[where.part], least = read
                parts[where.part] = part, part.graph.encoding, least
            except ClusterError:
                raise
            except FormatError as error:
                raise ClusterError(
                    f"the worker {self.address} cannot read the graph: {error}; each worker must see the same "
                    "directory at the same path, for example by NFS"
                ) from error
            except GaraphError as error:
                raise ClusterError(f"the worker {self.address} cannot take its part: {error}") from error
        return parts

    def keep(self, parts: Collection[int]) -> None:
        """Count the memory of these parts alone; others have left."""
        self._taken = {part: nbytes for part, nbytes in self._taken.items() if part in parts}

    def close(self) -> None:
        """Remove what was written to the local disk."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def _read(self, where: Where, room: int | None, moved: bool) -> tuple[Part, int, int]:
        """A part, the bytes of memory that it takes, and the least that it needs.

        A part that has `moved` here gets the least in any case.
        """
        assert where.within is not None
        within = Within(*where.within)
        unread = tuple(f"{name}." for name in EDGES if not name.startswith(within.direction))
        with GraphDirectory(self._local(where.path, lambda name: not name.startswith(unread))) as folder:
            manifest = read_manifest(folder)
            self._check_id(where.path, str(manifest.graph_id), where.id)
            cuts = Cuts(within.cuts, within.pieces)
            stored = StoredPart(folder, manifest, within.direction, within.valued, cuts, where.part)
            place = stored.place()
            sizes = np.int64(stored.edges), np.int64(len(place.numbers)), place.n
            need = needs(*sizes, stored.value_dtype, where.value_bytes, where.parameter_bytes)
            in_memory = int(max(need.raw, need.loading))
            least = min(in_memory, int(need.on_disk))
            if room is None or in_memory <= room:
                return stored.load(place, self.threads), int(need.raw), least
            room = self._checked(room, least, moved)
            part = self._on_local_disk(stored, place, room - int(need.writing), room - int(need.running))
            return part, room, least

    def _open(self, where: Where, room: int | None, moved: bool) -> tuple[Part, int, int]:
        """The same for a part that is a graph directory already, which it opens as on one machine."""
        needed = NAME, place_name(where.part), f"{part_name(where.part)}/"
        whole = self._local(where.path, lambda name: name.startswith(needed))
        partition = read_partition(whole)
        self._check_id(where.path, partition.id, where.id)
        place, expected = read_place(whole, partition, where.part), partition.parts[where.part]
        sizes = np.int64(expected.edges), np.int64(expected.vertices), place.n
        need = needs(*sizes, partition.edge_dtype, where.value_bytes, where.parameter_bytes)
        memory: int | None = None
        if room is not None:
            room = self._checked(room, int(need.opened), moved)
            memory = room - int(need.running)
        path = whole / part_name(where.part)
        graph = open_graph(path, memory=memory, threads=self.threads)
        if (graph.directory, graph.n, graph.m) != (expected.graph_id, expected.vertices, expected.edges):
            raise FormatError(path, "not the part that the partition names; copy it again")
        taken = int(need.raw) if room is None or not graph.on_disk else room
        return Part(graph, place).on(graph), taken, int(need.opened)

    def _check_id(self, path: str, found: str, expected: str) -> None:
        if found != expected:
            raise ClusterError(
                f"the worker {self.address} has another graph at {path}: {found}, not {expected}; have all workers see "
                "the directory that the client has opened"
            )

    def _checked(self, room: int, least: int, moved: bool) -> int:
        """The memory for a part that needs at least `least` bytes; a part that has `moved` here gets that in any
        case."""
        if least > room and not moved:
            raise ClusterError(
                f"the worker {self.address} needs {show_bytes(least, up=True)} for the vertices of a part, even with "
                f"its edges on disk, and may use {show_bytes(max(room, 0))}; take more workers, or give each more "
                "memory (memory_limit)"
            )
        return max(room, least)

    def _on_local_disk(self, stored: StoredPart, place: Place, writing: int, running: int) -> Part:
        """The part from a graph directory on the local disk, packed in memory if it fits there.

        `writing` and `running` are the bytes of memory that sorting its edges may take, and its graph with a run.
        """
        path = self._local_disk() / str(place.part)
        if not path.exists():
            write_part(stored, place, path, writing, threads=self.threads)
        graph = open_graph(path, memory=running, threads=self.threads)
        return Part(graph, place).on(graph)

    def _local(self, path: str, wanted: Wanted) -> Path:
        """Where a graph's files are on this machine; of one at a URL, those that are `wanted` are copied first."""
        if not is_url(path):
            return Path(path)
        folder = self._local_disk() / "copy"
        folder.mkdir(exist_ok=True)
        copy(path, folder, wanted)
        return folder

    def _local_disk(self) -> Path:
        """A directory on the local disk that goes with the run."""
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="garaph-", dir=self._folder)
        return Path(self._temporary.name)
