"""Build a graph directory from more edges than fit in memory.

The import scans the edges twice (`scan.py`): first to number the vertices, then to put every edge into an external sort
(`sort.py`). It writes the sorted in-edges block by block while they are merged (`array_writer.py`). For a directed
graph it also puts each sorted edge, with its ends swapped, into a second sort, which gives the out-edges; to symmetrize
edges it merges these two orders into one (`symmetrize.py`). If the disk has no room for all keys at once, it scans the
edges several times, and sorts the lists of some vertices each time (`passes.py`). Memory holds arrays over vertices,
and buffers; never all edges.
"""

from __future__ import annotations

import errno
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
from ...storage.edge_hashes import NEIGHBOURS, equal_hashes
from ...storage.encode import string_arrays
from ...storage.files import FULL, reason
from ...storage.fit import AUTO, encoding_to_save
from ...storage.manifest import EdgeHashes, Manifest, expected_arrays
from ...storage.progress import Progress
from ...storage.write import HERE, Destination, PathLike, creating, write_manifest
from ...system import interrupts
from ...system.sizes import show_bytes
from ..collect import MIN_SORT_BYTES, READER_BYTES, BuildOptions
from ..formats import USUAL, ColumnNames
from . import adjacency
from . import sort as external
from .adjacency import SLICE, AdjacencyBuilder, EdgeKeys, OwnedPiece, key_bits
from .array_writer import WRITER_BYTES, BackgroundArrayWriter, WriteTarget
from .drawn import Drawn
from .passes import fewest_passes, has_room, owned, owner_ranges
from .scan import EdgeSource, NumberedEdges
from .sort import ExternalSort
from .spill import forgets, seconds_to_write
from .symmetrize import edges_by_value, packed_ends, union_kernel, union_of

Array = npt.NDArray[Any]

IN_EDGES_SHARE = 0.6
"""Share of the sorting memory for merging the in-edges; the buffers of the out-edges' sort have the rest."""
PACKED_SHARE = 0.6
"""Bytes of packed arrays over those of raw ones, for the room on disks: R-MAT graphs of 10^8 to 10^10 edges have 0.58
to 0.61. If a graph has more, the write that finds the disk full says so."""
ORDER_BYTES_PER_VERTEX = 48
"""Memory for reordering the vertices, in bytes per vertex: degrees, ranks and new numbers."""


@dataclass(frozen=True)
class ImportOptions(BuildOptions):
    """How edges are read, changed and stored.

    Attributes
    ----------
    encoding : str
        See `storage.directory.save`.
    weights, format, columns
        See `io.read.read`; used by `import_file` only.
    """

    encoding: str = AUTO
    weights: bool | None = None
    format: str | None = None
    columns: ColumnNames = USUAL


# wide: the memory for sorting is a parameter for tests
def write_external(
    source: EdgeSource,
    out: PathLike | Destination,
    options: ImportOptions,
    memory: int,
    *,
    disks: Sequence[PathLike] = HERE,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
    min_sort_bytes: int = MIN_SORT_BYTES,
) -> Manifest:
    """Write edges as a new graph directory, out of core. If anything fails, no directory is left.

    The directory equals, block for block, what `storage.directory.save` writes for the same graph in memory. There is
    one exception: integer edge values whose range is 2^32 or more are never packed.

    Parameters
    ----------
    source : EdgeSource
    out : path-like or Destination
        The directory to make; its parent must exist.
    options : ImportOptions
    memory : int
        Bytes of memory the import may take.
    disks : sequence of path-like
        See `storage.directory.save`. The first disk also holds the temporary files, unless the environment variable
        TMPDIR names a folder for them: up to 7 bytes and a value for each stored edge, and 8 and a value for each edge
        if the source cannot be streamed again. While edges are written, their temporary files shrink. If there is no
        room for them, edges are sorted in up to 16 passes for each direction, and each pass reads all edges.
    min_sort_bytes : int
        Least memory for sorting, in bytes; tests set it to 0.

    Raises
    ------
    ParameterError
        If `out` exists already, a disk cannot be used, or a file cannot be written; `DiskFullError` if a disk has
        too little room.
    GraphError
        If the arrays over vertices alone take more than `memory`, or there are no edges.
    """
    check_order(options.order)
    with interrupts.Deferred(), ThreadPool(threads) as pool, creating(out, disks) as destination:
        importing = Import(source, destination, options, memory, pool, on_event, min_sort_bytes)
        try:
            return importing.run()
        except (OSError, ParameterError) as error:
            explained = disk_error(error, destination, importing.temporary, importing.needs)
            if explained is error:
                raise
            raise explained from error


class Import:
    """One import out of core; for the parameters see `write_external`.

    Attributes
    ----------
    temporary : Path
        The folder of the temporary files.
    needs : dict of Path to int
        Bytes that each disk must hold; empty until the edges have been counted. See `disk_needs`.
    """

    def __init__(
        self,
        source: EdgeSource,
        destination: Destination,
        options: ImportOptions,
        memory: int,
        pool: ThreadPool,
        on_event: events.Listener,
        min_sort_bytes: int,
    ) -> None:
        self._source, self._destination, self._options, self._memory = source, destination, options, memory
        self._pool, self._on_event, self._min_sort_bytes = pool, on_event, min_sort_bytes
        self.temporary = Path(os.environ.get("TMPDIR") or destination.disks[0])
        self._one_way = not options.both_ways  # an edge of the source counts in one direction
        self._stack = ExitStack()
        self.needs: dict[Path, int] = {}

    def run(self) -> Manifest:
        options = self._options
        with self._stack:
            reading, memory = self._source.reading, self._memory
            if reading and reading + self._min_sort_bytes > memory:
                raise too_little("reading takes", reading, reading + self._min_sort_bytes, memory)
            edges = NumberedEdges(self._source, self.temporary, memory - reading, self._pool, self._on_event)
            self._stack.callback(edges.close)
            if not edges.edges and self._source.known is None:
                raise GraphError("no edges; it is empty, or has nothing but comments or a header")
            if options.order != "none":
                of_order = ORDER_BYTES_PER_VERTEX * edges.ids.n
                if of_order > memory:
                    raise too_little("ordering the vertices takes", of_order, of_order + self._min_sort_bytes, memory)
                edges.reorder(options.order, self._one_way)
            self._plan(edges)
            manifest = Manifest(
                graph_id=self._destination.graph_id,
                generation=0,
                vertices=self._n,
                edges=0,
                directed=self._directed,
                ids=edges.ids.kind,
                disks=self._destination.listed,
                arrays={},
            )
            self._progress = Progress("writing graph", self._raw_bytes, self._on_event)
            self._output = WriteTarget(self._destination, manifest, self._progress, self._pool)
            count, hashes = self._write_union(edges) if self._symmetrize else self._write_edges(edges)
            self._write_ids(edges.ids)
        written = manifest.arrays  # in the order in which they were completed; the manifest has a fixed order
        arrays = {name: written[name] for name in expected_arrays(manifest, "in_values" in written)}
        manifest = write_manifest(self._destination, replace(manifest, edges=count, edge_hashes=hashes, arrays=arrays))
        self._progress.finish()
        return manifest

    def _plan(self, edges: NumberedEdges) -> None:
        """Decide encodings and memory, and refuse the import if disks or memory have too little room."""
        options, ids, self._dtype = self._options, edges.ids, edges.dtype
        self._n, self._value_bytes = ids.n, 0 if edges.dtype is None else edges.dtype.itemsize
        self._symmetrize = self._one_way and options.symmetrize
        self._directed = self._one_way and not options.symmetrize
        width, most = self._value_bytes, edges.edges if self._directed else 2 * edges.edges
        of_vertices = 8 * (self._n + 1) + ids.nbytes
        self._raw_bytes = of_vertices + 8 * (self._n + 1) * self._directed + most * (4 + width) * (1 + self._directed)
        self._packed = encoding_to_save(options.encoding, self._raw_bytes) == PACKED
        narrow = edges.dtype is not None and edges.dtype.name in NARROW and edges.value_range < 1 << 32
        self._packed_values = self._packed and narrow
        raw, share = self._raw_bytes, PACKED_SHARE if self._packed else 1.0
        values = most * width * (1 + self._directed) * (not self._packed_values)
        self._data_bytes, self._there = int((raw - values) * share) + values, {self.temporary: edges.spilled}
        each = external.file_bytes(2 * key_bits(self._n), width)
        self._key_bytes = (1 if self._directed else 2) * edges.edges * each  # of one direction, in temporary files
        held = of_vertices + READER_BYTES + (2 if width else 1) * WRITER_BYTES
        self._drawn, self._shrinks = None, forgets(self.temporary)
        self._passes = 1 if self._symmetrize else fewest_passes(lambda n: self._needs(edges, n), self._there)
        self._drawn = self._draws_again(edges, self._memory - held)
        self.needs = self._needs(edges, self._passes)
        check_disks(self.needs, self._there)
        held = max(held + edges.nbytes * (self._passes > 1), ids.nbytes + edges.nbytes + READER_BYTES)
        self._sort_memory = self._memory - held
        if self._sort_memory < self._min_sort_bytes:
            what = f"the offsets and ids of {self._n:,} vertices take"
            raise too_little(what, of_vertices + edges.nbytes, held + self._min_sort_bytes, self._memory)
        kernels = [*external.external_kernels(width), *adjacency.kernels(width)]
        if self._symmetrize:
            kernels += [union_kernel(width), *(external.external_kernels(8) if width else ())]
        prepare(kernels, self._on_event)

    def _draws_again(self, edges: NumberedEdges, memory: int) -> Drawn | None:
        """What sorts random edges in `memory`, if drawing them again takes less time than writing a temporary file.

        That file is read while keys are sorted, so reading takes no time of its own.
        """
        if self._source.drawn is None or self._symmetrize:
            return None
        directions = (False, True) if self._directed else (False,)
        memory, keys = memory - edges.nbytes, self._keys(not self._one_way)
        drawn = Drawn(self._source.drawn, keys, memory, self._pool, self._on_event, edges.numbers)
        if drawn.memory < max(self._min_sort_bytes, 1):
            return None
        if has_room(self._needs(edges, self._passes), self._there):
            writing = seconds_to_write(self.temporary, len(directions) * self._key_bytes)
            draw, draws = drawn.seconds(), 1 if self._passes == 1 else len(directions) * (1 + self._passes)
            if len(directions) * (1 + drawn.ranges) * draw > max(draws * draw, writing):
                return None
        return drawn if all(drawn.count(reverse) for reverse in directions) else None

    def _needs(self, edges: NumberedEdges, passes: int, largest: float = 0.0) -> dict[Path, int]:
        """What the disks must hold if edges are sorted in so many passes, of which the `largest` sorts this part."""
        if self._drawn is not None:
            return disk_needs(self._destination, self.temporary, 0, self._data_bytes, 0.0)
        directions = 1 + self._directed
        sorting, last = int(self._key_bytes * max(largest, 1 / passes)), 1 / (directions * passes)
        if not self._shrinks:
            sorting, last = sorting * (directions if passes == 1 else 1), 0.0
        sorting += 16 * edges.edges if self._symmetrize and self._value_bytes else 0  # by value
        needs = disk_needs(self._destination, self.temporary, sorting, self._data_bytes, last)
        needs[self.temporary] += edges.spilled
        return needs

    def _sort(self, memory: int, expected: int, owners: int | None = None) -> ExternalSort:
        bits = key_bits(self._n) + key_bits(self._n if owners is None else owners)
        sort = ExternalSort(self.temporary, bits, self._value_bytes, memory, self._pool, expected)
        self._stack.callback(sort.close)
        return sort

    def _keys(self, both: bool) -> EdgeKeys:
        return EdgeKeys(self._n, both, not self._options.drop_self_loops)

    def _batches(
        self, edges: NumberedEdges, what: str = "distributing edges"
    ) -> Iterator[tuple[Array, Array, Array | None]]:
        done = 0
        for batch in edges.batches():
            yield batch
            done += len(batch[0])
            self._on_event(events.Step(what, done, edges.edges, "edges"))
        if done != edges.edges:
            raise GraphError("the file was changed while it was read; import it again")

    def _write_edges(self, edges: NumberedEdges) -> tuple[int, EdgeHashes]:
        """Write the adjacency of the edges, in both directions if directed; return their number and hashes."""
        if self._passes > 1 or self._drawn is not None:
            return self._write_in_passes(edges)
        drop_parallel, both = self._options.drop_parallel, not self._one_way
        sort, keys = self._sort(self._sort_memory, edges.edges * (1 + both)), self._keys(both)
        for batch in self._batches(edges):
            keys.add(sort, *batch)
        edges.close()
        if both:
            count, into = self._write("in", sort.count, owned(sort.sorted()), drop_parallel)
            return count, equal_hashes(into, into)
        share = int(self._sort_memory * IN_EDGES_SHARE)
        second = self._sort(self._sort_memory - share, sort.count)

        def reverse(owners: Array, others: Array, values: Array | None) -> None:
            EdgeKeys(self._n).add(second, owners, others, values)

        _, into = self._write("in", sort.count, owned(sort.sorted(share)), drop_parallel, reverse)
        count, out = self._write("out", second.count, owned(second.sorted(self._sort_memory)), False)
        return count, equal_hashes(into, out)

    def _write_in_passes(self, edges: NumberedEdges) -> tuple[int, EdgeHashes]:
        """`_write_edges` in passes over the edges, of which each sorts the lists of some vertices."""
        drop_parallel, both = self._options.drop_parallel, not self._one_way
        most = edges.edges * (1 + both)
        count, into = self._write("in", most, self._sorted_in_passes(edges, "in"), drop_parallel)
        if both:
            return count, equal_hashes(into, into)
        count, out = self._write("out", most, self._sorted_in_passes(edges, "out"), drop_parallel)
        return count, equal_hashes(into, out)

    def _sorted_in_passes(self, edges: NumberedEdges, direction: str) -> Iterator[OwnedPiece]:
        """The sorted keys of the edges' entries in one direction."""
        if self._drawn is not None:
            yield from self._drawn.sorted(direction == "out")
            return
        both = not self._one_way
        keys = self._keys(both)

        def batches(what: str) -> Iterator[tuple[Array, Array, Array | None]]:
            for sources, targets, values in self._batches(edges, what):
                yield (targets, sources, values) if direction == "out" else (sources, targets, values)

        owners = (ends for batch in batches("counting edges") for ends in (batch[:2] if both else batch[1:2]))
        ranges, largest = owner_ranges(owners, self._n, self._passes, self._pool)
        self.needs = self._needs(edges, self._passes, largest)
        check_disks(self.needs, self._there)
        for number, some in enumerate(ranges, 1):
            sort = self._sort(self._sort_memory, edges.edges * (1 + both) // len(ranges), len(some))
            for batch in batches(f"distributing edges ({number} of {len(ranges)})"):
                keys.add(sort, *batch, some)
            yield from owned(sort.sorted(), some.start)

    def _write_union(self, edges: NumberedEdges) -> tuple[int, EdgeHashes]:
        """Write the adjacency of the symmetrized edges; return their number and hash.

        The sorts are stable. So that parallel edges come in the order of their values, edges are sorted by these first.
        """
        width, memory, keys = self._value_bytes, self._sort_memory, self._keys(False)
        batches, share = self._batches(edges), 0
        if width:
            share = int(memory * IN_EDGES_SHARE)
            by_value = ExternalSort(self.temporary, 8 * width, 8, memory, self._pool, edges.edges)
            self._stack.callback(by_value.close)
            for sources, targets, values in batches:
                assert values is not None
                by_value.extend(values.astype(np.uint64), packed_ends(sources, targets))
            batches = edges_by_value(by_value, share, width)
        into, out = (self._sort((memory - share) // 2, edges.edges) for _ in range(2))
        for sources, targets, values in batches:
            keys.add(into, sources, targets, values)
            keys.add(out, targets, sources, values)
        edges.close()
        pieces = union_of(into.sorted(memory // 2), out.sorted(memory // 2), width)
        count, total = self._write("in", into.count + out.count, owned(pieces), False)
        return count, equal_hashes(total, total)

    def _write(
        self,
        direction: str,
        most: int,
        pieces: Iterator[OwnedPiece],
        drop_parallel: bool,
        also: Callable[[Array, Array, Array | None], None] | None = None,
    ) -> tuple[int, int]:
        """Write the arrays of one direction, which has at most `most` edges; return their number and hash.

        It calls `also` with each part of the edges.
        """
        builder, total = AdjacencyBuilder(self._n, drop_parallel, self._pool), 0
        neighbours, dtype = NEIGHBOURS[direction], self._dtype
        with ExitStack() as stack:
            sink = self._sink(stack, neighbours, np.dtype(np.uint32), most, self._packed, builder.list_starts)
            value_sink = None
            if dtype is not None:
                value_sink = self._sink(stack, f"{direction}_values", dtype, most, self._packed_values)
            for owners, others, values in builder.add(pieces):
                if also is not None:
                    also(owners, others, values)
                total += builder.hash(others, values, direction == "in")
                sink.put(others)
                if value_sink is not None and values is not None and dtype is not None:
                    value_sink.put(values.view(dtype))
                self._tell(f"sorting {direction}-edges", builder.count, most)
                del owners, others, values  # see `AdjacencyBuilder.add`
            sink.finish()
            if value_sink is not None:
                value_sink.finish()
        self._write_array(f"{direction}_offsets", builder.offsets)
        return builder.count, total % 2**64

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

    def _sink(self, stack: ExitStack, *arguments: Any) -> BackgroundArrayWriter:
        sink = BackgroundArrayWriter(self._output, *arguments)
        stack.callback(sink.close)
        return sink


def too_little(what: str, taken: int, needed: int, memory: int) -> GraphError:
    return GraphError(
        f"{what} {show_bytes(taken)} of memory, and with what sorting takes {show_bytes(needed, up=True)} are "
        f"needed; {show_bytes(memory)} may be used: allow more (memory, --memory)"
    )


def widest_gap(ascending: Array) -> int:
    """The largest difference between an element and the one before it."""
    starts = range(0, len(ascending), SLICE)
    return max((int(np.diff(ascending[start : start + SLICE + 1]).max(initial=0)) for start in starts), default=0)


def disk_needs(destination: Destination, folder: Path, temporary: int, data: int, last: float) -> dict[Path, int]:
    """Bytes that each filesystem must hold, keyed by `folder`, or by the first of its disks in the list.

    Parameters
    ----------
    folder : Path
        Where the temporary files of sorts are.
    temporary : int
        Their bytes.
    data : int
        Bytes of the graph, spread evenly over the disks.
    last : float
        The part of these that is written at last, while the temporary files shrink.
    """
    needs, firsts = {folder: 0}, {os.stat(folder).st_dev: folder}
    for disk in destination.disks:
        first = firsts.setdefault(os.stat(disk).st_dev, disk)
        needs[first] = needs.get(first, 0) + -(-data // len(destination.disks))
    needs[folder] += max(temporary - int(last * needs[folder]), 0)
    return needs


def check_disks(needs: Mapping[Path, int], there: Mapping[Path, int]) -> None:
    """Raise `DiskFullError` if a disk has no room for the bytes it `needs`, less those already `there`."""
    for disk, needed in needs.items():
        if not has_room({disk: needed}, there):
            raise disk_full(disk, needed)


def disk_full(folder: Path, needed: int, cause: OSError | None = None) -> DiskFullError:
    """The error of a disk that has no room for the bytes `needed`, 0 if unknown. The `cause` tells a full disk from a
    quota or a limit on file sizes."""
    disk = folder.resolve()
    while not disk.is_mount():
        disk = disk.parent
    free, more = shutil.disk_usage(folder).free, f"{needed:,} bytes ({show_bytes(needed)})" if needed else "more"
    problem = "is full" if cause is None or cause.errno == errno.ENOSPC else f"takes no more ({reason(cause)})"
    return DiskFullError(
        f"the disk at {disk} {problem}: the graph and its temporary files need {more}, and {free:,} are free; free "
        "space there, choose another directory, or another one for temporary files (TMPDIR)"
    )


def disk_error(error: Exception, destination: Destination, temporary: Path, needs: Mapping[Path, int]) -> Exception:
    """The exception to raise instead of `error`: full disks and failures of temporary files get their own messages.

    An `OSError` that no other function has turned into an error with a file name comes from a temporary file.
    """
    cause = error if isinstance(error, OSError) else error.__cause__
    if isinstance(cause, OSError) and cause.errno in FULL:
        disks = (temporary,) if cause is error else (needs or destination.disks)
        fullest = min(disks, key=lambda disk: shutil.disk_usage(disk).free)
        return disk_full(fullest, needs.get(fullest, 0), cause)
    if isinstance(error, OSError):
        problem = f"temporary files cannot be used ({reason(error)}); choose another directory, or set TMPDIR to one"
        return ParameterError(f"{temporary}: {problem}")
    return error
