"""From more edges than fit memory to a graph directory.

They are scanned twice (`graph/scan.py`): to number the vertices, and to give every edge to an
external sort (`graph/external.py`). What comes out of that is written block by block as it comes (`sinks.py`), and for
a directed graph given to a second sort with both ends exchanged, whose outcome are the out-edges. Only what belongs to
vertices is in memory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...codec.arrays import PACKED
from ...codec.blocks import KIND_OF
from ...codec.pack import NARROW
from ...errors import DiskFullError, GraphError, ParameterError
from ...graph.ids import IntegerIds, StringIds, VertexIds
from ...graph.order import check_order
from ...native import prepare
from ...native.threads import ThreadPool
from ...storage.encode import string_arrays
from ...storage.fit import AUTO, encoding_to_save
from ...storage.lock import FULL, reason
from ...storage.manifest import Manifest, expected_arrays
from ...storage.progress import Progress
from ...storage.write import HERE, PathLike, Place, creating, write_manifest
from ...system import interrupts
from ...system.sizes import show_bytes
from . import entries
from . import sort as external
from .entries import SLICE, Entries, add_edges, key_bits
from .scan import EdgeSource, NumberedEdges
from .sinks import SINK_BYTES, Output, Sink
from .sort import ExternalSort

Array = npt.NDArray[Any]
Piece = tuple[Array, "Array | None"]

LEAST_WORK = 16 << 20
"""Bytes without which sorting would be no more than reading and writing small pieces."""
READING = 32 << 20
"""Bytes that batches of edges take on their way, about."""
IN_SHARE = 0.6
"""Of the memory for sorting, what the in-edges have while the out-edges are collected."""
ORDER_BYTES = 48
"""That putting the vertices in an order takes for each: degrees, ranks, numbers."""
NEIGHBOURS = {"in": "in_sources", "out": "out_targets"}


@dataclass(frozen=True)
class ImportOptions:
    """What is to become of edges; see `graph.read.read`.

    Attributes
    ----------
    directed : bool
    symmetrize : bool
        Of a directed graph, add the reverse of every edge, as `Graph.symmetrized` does.
    drop_self_loops, drop_parallel : bool
    order : str
    encoding : str
        See `store.save`.
    """

    directed: bool = True
    symmetrize: bool = False
    drop_self_loops: bool = False
    drop_parallel: bool = False
    order: str = "none"
    encoding: str = AUTO


def write_external(
    source: EdgeSource,
    out: PathLike,
    wishes: ImportOptions,
    memory: int,
    *,
    disks: Sequence[PathLike] = HERE,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
    least_work: int = LEAST_WORK,
) -> Manifest:
    """Write edges as a new graph directory: all of it or, whatever happens, nothing.

    The directory is what `store.save` makes of the graph that `graph.read.read` would, block for block; but integer
    edge values that differ by 2^32 or more are never packed.

    Parameters
    ----------
    source : EdgeSource
    out : path-like
        The directory to make; its parent must exist.
    wishes : Wishes
    memory : int
        Bytes that it may take.
    disks : sequence of path-like
        See `store.save`. The first one has room for temporary files: 8 bytes and a value for each stored edge, twice
        if directed, and once more for each edge of a source that does not stream again.
    least_work : int
        Bytes of these that sorting needs.

    Raises
    ------
    ParameterError
        If `out` exists already, a disk cannot be used, or a file cannot be written; `DiskFullError` if there is not
        room enough.
    GraphError
        If vertices alone take more than `memory`, or there are no edges.
    """
    check_order(wishes.order)
    with interrupts.held(), ThreadPool(threads) as pool, creating(out, disks) as place:
        importing = Import(source, place, wishes, memory, pool, on_event, least_work)
        try:
            return importing.run()
        except (OSError, ParameterError) as error:
            explained = disk_error(error, place, importing.needs)
            if explained is error:
                raise
            raise explained from error


class Import:
    """One import to a place; the other parameters are those of `write_external`.

    Attributes
    ----------
    needs : dict of Path to int
        Bytes on each disk, at once, as far as is known; see `disk_needs`.
    """

    def __init__(
        self,
        source: EdgeSource,
        place: Place,
        wishes: ImportOptions,
        memory: int,
        pool: ThreadPool,
        on_event: events.Listener,
        least_work: int,
    ) -> None:
        self._source, self._place, self._wishes, self._memory = source, place, wishes, memory
        self._pool, self._on_event, self._least_work = pool, on_event, least_work
        self._spills = place.disks[0]
        self._stack = ExitStack()
        self.needs: dict[Path, int] = {}

    def run(self) -> Manifest:
        wishes = self._wishes
        with self._stack:
            reading, memory = self._source.reading, self._memory
            if reading and reading + self._least_work > memory:
                raise too_little("reading takes", reading, reading + self._least_work, memory)
            edges = NumberedEdges(self._source, self._spills, memory - reading, self._pool, self._on_event)
            self._stack.callback(edges.close)
            if not edges.edges and self._source.known is None:
                raise GraphError("no edges; it is empty, or has nothing but comments or a header")
            if wishes.order != "none":
                of_order = ORDER_BYTES * edges.ids.n
                if of_order > memory:
                    raise too_little("ordering the vertices takes", of_order, of_order + self._least_work, memory)
                edges.reorder(wishes.order, wishes.directed)
            self._plan(edges)
            manifest = Manifest(
                graph_id=self._place.graph_id,
                generation=0,
                vertices=self._n,
                edges=0,
                directed=self._directed,
                ids=edges.ids.kind,
                disks=self._place.listed,
                arrays={},
            )
            self._progress = Progress("writing graph", self._raw, self._on_event)
            self._output = Output(self._place, manifest, self._progress, self._pool)
            sort = self._sort(self._work, edges.edges * (2 - wishes.directed))
            done = 0
            for batch in edges.batches():
                self._add(sort, *batch, both=not wishes.directed, keep_loops=not wishes.drop_self_loops)
                done += len(batch[0])
                self._on_event(events.Step("distributing edges", done, edges.edges, "edges"))
            if done != edges.edges:
                raise GraphError("the file was changed while it was read; import it again")
            edges.close()
            count = self._write_edges(sort)
            self._write_ids(edges.ids)
        written = manifest.arrays  # in the order in which they were completed
        arrays = {name: written[name] for name in expected_arrays(manifest, "in_values" in written)}
        manifest = write_manifest(self._place, replace(manifest, edges=count, arrays=arrays))
        self._progress.finish()
        return manifest

    def _plan(self, edges: NumberedEdges) -> None:
        """What is written, what may be used for it, and whether there is room for it."""
        wishes, ids, self._dtype = self._wishes, edges.ids, edges.dtype
        self._n, self._width = ids.n, 0 if edges.dtype is None else edges.dtype.itemsize
        self._directed = wishes.directed and not wishes.symmetrize
        twice, width = wishes.directed, self._width  # whether a second sort follows
        most = edges.edges if self._directed else 2 * edges.edges
        of_vertices = 8 * (self._n + 1) + ids.nbytes
        self._raw = of_vertices + 8 * (self._n + 1) * self._directed + most * (4 + width) * (1 + self._directed)
        self._packed = encoding_to_save(wishes.encoding, self._raw) == PACKED
        narrow = edges.dtype is not None and edges.dtype.name in NARROW and edges.value_range < 1 << 32
        self._packed_values = self._packed and narrow
        first = (edges.edges if twice else most) * (8 + width)
        second = most * (8 + width) if twice else 0
        self.needs = disk_needs(self._place, edges.spilled + first + second, self._raw)
        check_disks(self.needs, {self._spills: edges.spilled})
        held = of_vertices + READING + (2 if width else 1) * SINK_BYTES
        held = max(held, ids.nbytes + edges.nbytes + READING)
        self._work = self._memory - held
        if self._work < self._least_work:
            what = f"the offsets and ids of {self._n:,} vertices take"
            raise too_little(what, of_vertices + edges.nbytes, held + self._least_work, self._memory)
        prepare([*external.kernels(width), *entries.kernels(width)], self._on_event)

    def _sort(self, memory: int, expected: int) -> ExternalSort:
        sort = ExternalSort(self._spills, 2 * key_bits(self._n), self._width, memory, self._pool, expected)
        self._stack.callback(sort.close)
        return sort

    def _add(
        self, sort: ExternalSort, sources: Array, targets: Array, values: Array | None, both: bool, keep_loops: bool
    ) -> None:
        bits = key_bits(self._n)
        add_edges(sort, sources, targets, values, bits=bits, both=both, keep_loops=keep_loops, pool=self._pool)

    def _write_edges(self, sort: ExternalSort) -> int:
        """The entries of `sort` as adjacency, in both directions where asked; how many there are."""
        drop_parallel, directed = self._wishes.drop_parallel, self._directed
        if not self._wishes.directed:
            return self._write("in", sort, sort.sorted(), drop_parallel)
        share = int(self._work * IN_SHARE)
        second = self._sort(self._work - share, sort.count * (2 - directed))
        if directed:

            def reverse(owners: Array, others: Array, values: Array | None) -> None:
                self._add(second, owners, others, values, both=False, keep_loops=True)

            self._write("in", sort, sort.sorted(share), drop_parallel, reverse)
            return self._write("out", second, second.sorted(self._work), False)
        found = Entries(self._n, drop_parallel, self._pool)
        for owners, others, values in found.of(sort.sorted(share)):
            self._add(second, others, owners, values, both=True, keep_loops=True)
            self._tell("sorting edges", found.count, sort.count)
        del found
        return self._write("in", second, second.sorted(self._work), False)

    def _write(
        self,
        direction: str,
        sort: ExternalSort,
        pieces: Iterator[Piece],
        drop_parallel: bool,
        also: Callable[[Array, Array, Array | None], None] | None = None,
    ) -> int:
        """Write the arrays of one direction; `also` gets both ends and the values of all edges. Number of edges."""
        found = Entries(self._n, drop_parallel, self._pool)
        neighbours, dtype = NEIGHBOURS[direction], self._dtype
        with ExitStack() as stack:
            sink = self._sink(stack, neighbours, np.dtype(np.uint32), sort.count, self._packed, found.begins)
            value_sink = None
            if dtype is not None:
                value_sink = self._sink(stack, f"{direction}_values", dtype, sort.count, self._packed_values)
            for owners, others, values in found.of(pieces):
                if also is not None:
                    also(owners, others, values)
                sink.put(others)
                if value_sink is not None and values is not None and dtype is not None:
                    value_sink.put(values.view(dtype))
                self._tell(f"sorting {direction}-edges", found.count, sort.count)
            sink.finish()
            if value_sink is not None:
                value_sink.finish()
        self._write_array(f"{direction}_offsets", found.offsets)
        return found.count

    def _tell(self, name: str, done: int, total: int) -> None:
        self._on_event(events.Step(name, done, total, "edges"))
        self._progress.advance(0)

    def _write_ids(self, ids: VertexIds) -> None:
        if isinstance(ids, StringIds):
            for name, array in string_arrays(ids.arrow).items():
                self._write_array(name, array)
        elif isinstance(ids, IntegerIds):
            array = ids.array()
            self._write_array("ids", array.astype(np.uint64 if array.dtype.kind == "u" else np.int64, copy=False))

    def _write_array(self, name: str, array: Array) -> None:
        packed = self._packed and name in KIND_OF and widest_gap(array) < 1 << 32
        with ExitStack() as stack:
            sink = self._sink(stack, name, array.dtype, len(array), packed)
            for start in range(0, len(array), SLICE):
                interrupts.check()
                sink.put(array[start : start + SLICE])
            sink.finish()

    def _sink(self, stack: ExitStack, *arguments: Any) -> Sink:
        sink = Sink(self._output, *arguments)
        stack.callback(sink.close)
        return sink


def too_little(what: str, taken: int, needed: int, memory: int) -> GraphError:
    return GraphError(
        f"{what} {show_bytes(taken)} of memory, and with what sorting takes {show_bytes(needed, up=True)} are "
        f"needed; {show_bytes(memory)} may be used: allow more (memory, --memory)"
    )


def widest_gap(ascending: Array) -> int:
    """The most that an element exceeds the one before by."""
    starts = range(0, len(ascending), SLICE)
    return max((int(np.diff(ascending[start : start + SLICE + 1]).max(initial=0)) for start in starts), default=0)


def disk_needs(place: Place, temporary: int, data: int) -> dict[Path, int]:
    """What each filesystem has to hold, by the first of the disks on it; that of the first, the temporary files too."""
    needs = {place.disks[0]: temporary}
    firsts: dict[int, Path] = {}
    for disk in place.disks:
        first = firsts.setdefault(os.stat(disk).st_dev, disk)
        needs[first] = needs.get(first, 0) + -(-data // len(place.disks))
    return needs


def check_disks(needs: Mapping[Path, int], there: Mapping[Path, int]) -> None:
    """Raise `DiskFullError` where what `needs` says, less the bytes that are `there` already, has no room."""
    for disk, needed in needs.items():
        if needed - there.get(disk, 0) > shutil.disk_usage(disk).free:
            raise disk_full(disk, needed)


def disk_full(folder: Path, needed: int) -> DiskFullError:
    disk = folder.resolve()
    while not disk.is_mount():
        disk = disk.parent
    free, more = shutil.disk_usage(folder).free, f"{needed:,} bytes ({show_bytes(needed)})" if needed else "more"
    return DiskFullError(
        f"the disk at {disk} is full: the graph and its temporary files need {more}, and {free:,} are free; free space "
        "there or choose another directory"
    )


def disk_error(error: Exception, place: Place, needs: Mapping[Path, int]) -> Exception:
    """What to raise for `error`, which may be the system's. Of temporary files it is, if it does not name a file."""
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno in FULL:
        disks = place.disks[:1] if cause is error else (needs or place.disks)
        fullest = min(disks, key=lambda disk: shutil.disk_usage(disk).free)
        return disk_full(fullest, needs.get(fullest, 0))
    if isinstance(error, OSError):
        problem = f"temporary files cannot be used ({reason(error)}); choose another directory"
        return ParameterError(f"{place.disks[0]}: {problem}")
    return error
