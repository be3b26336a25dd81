"""The run's arrays in device memory, by name, and the kernel arguments that hold their addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.adjacency import Adjacency
from ...pages.layout import Page
from ...program import BoundProgram
from ...program.part import NUMBERS, reads_numbers
from . import staging
from .answers import column_in
from .device_graph import DeviceGraph
from .launch import Launcher, block_count
from .numbering import Numbering
from .offsets import begins_of, wraps_of
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .ranks import RUN
from .task import Layouts

Array = npt.NDArray[Any]

OF_GRAPH = ("in_begins", "out_begins", "word_ranks", "run_ranks", "destinations", "starts", "positions")
"""The arrays that depend on the graph and its numbering alone; they are kept from one run to the next. Those that the
GPU derives come after those that it derives them from."""
KINDS = tuple(map(np.dtype, (np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64)))
"""The types of numbers of an earlier run, in the order in which place_numbers.cu has them."""
LEARNED = ("hints",)
"""The arrays that kernels fill as they go, and that later runs over the graph read; they begin as zeros."""


WRITTEN = (
    "values", "next_values", "vertex_data", "total", "parents", "largest", "pieces", "next_queues", "supersteps",
    "least", "notified", "kept_sums", "whole_shadows", "part_shadows", "partition_table",
)  # fmt: skip
"""The arrays of which every byte is written before it is read."""


class RunArrays:
    """The arrays of a run in device memory. The device's context must be current.

    Attributes
    ----------
    context : ndarray of `task.Layouts.context`, shape (1,)
        The kernel argument with their addresses.
    """

    def __init__(self, bound: BoundProgram, numbering: Numbering, launcher: Launcher) -> None:
        self._bound, self._numbering, self._launcher = bound, numbering, launcher
        self.task = np.zeros(1, launcher.layouts.task)
        self.context = self.task["context"]
        self._second = 0  # where `next_values` is while it has the address of `values`

    def allocate(
        self, sizes: dict[str, int], kept: DeviceGraph, threads: int | None, pool: PinnedPool | Pinned
    ) -> None:
        """Allocate an array of each name, of the given size in bytes, and fill those that stay the same in the run.

        Of the arrays that depend on the graph alone, those that are `kept` are used again. `threads` make the others,
        and copy them by way of memory of the `pool`.
        """
        missing, copy = [], partial(staging.copy, kept=kept, pool=pool, threads=threads)
        for name, nbytes in sizes.items():
            if name in OF_GRAPH or name in LEARNED:
                self.context[name], is_filled = kept.place(self._numbering.name(name), nbytes, name)
                missing += [name] * (not is_filled)
            else:
                self.context[name] = kept.memory.allocate(name, nbytes, clear=name not in WRITTEN)
        context, arrays = self.context, self._numbering.arrays
        if "pieces" in sizes:
            self.share("queue", "sums")
        context["n"], context["wraps"] = arrays.n, wraps_of(arrays.largest_offset)
        context["parameters"] = self._bound.parameters
        if (place := self._bound.place) is not None and reads_numbers(self._bound):
            context["parameters"][NUMBERS] = numbers = kept.memory.allocate("numbers", place.numbers.nbytes)
            copy(place.numbers, numbers)
        if not arrays.directed:
            context["out_begins"] = context["in_begins"]
        for name in sorted(missing, key=(*OF_GRAPH, *LEARNED).index):
            if name in OF_GRAPH:
                self._fill(name, threads, copy)
            kept.keep(self._numbering.name(name), name)
        if self._bound.vertex_data is not None:
            self._fill_vertex_data(self._bound.vertex_data, kept, threads, copy)

    def _fill_vertex_data(
        self, data: Array, kept: DeviceGraph, threads: int | None, copy: Callable[[Array, int], None]
    ) -> None:
        """Fill the array of the program's parameters; those that are on the device already do not leave it."""
        names, elsewhere = data.dtype.names or (), self._bound.elsewhere
        columns = {name: column for name, each in elsewhere.items() if (column := column_in(each)) is not None}
        answers = {id(answer): answer for answer, _ in columns.values()}
        with ExitStack() as lent:  # in order: two threads with the same answers take turns
            places = {key: lent.enter_context(answers[key].lent(kept.device)) for key in sorted(answers)}
            there = {name: place for name, (answer, _) in columns.items() if (place := places[id(answer)]) is not None}
            for name in elsewhere.keys() - there.keys():
                data[name] = elsewhere[name].fetch()
            if len(there) < len(names):
                copy(self._numbering.to_device(data, threads), self.address("vertex_data"))
            for name, place in there.items():
                answer, offset = columns[name]
                given = place + offset, answer.dtype.itemsize, KINDS.index(elsewhere[name].dtype)
                to = self.address("vertex_data"), len(names), names.index(name)
                told = *to, *given, self.address("positions"), self.n
                self._launcher.with_arguments("place_numbers", self.n, None, list(map(np.int64, told)))

    def _fill(self, name: str, threads: int | None, copy: Callable[[Array, int], None]) -> None:
        """Fill an array that depends on the graph alone: the host copies three of them, the GPU derives the others."""
        numbering, ranks = self._numbering, self._numbering.ranks
        most = numbering.arrays.largest_offset
        copied: dict[str, Callable[[], Array]] = {
            "in_begins": lambda: begins_of(ranks.offsets, threads, most),
            "out_begins": lambda: begins_of(numbering.out_offsets(threads), threads, most),
            "word_ranks": lambda: ranks.by_word(threads)[:-1],
            "positions": lambda: numbering.positions,
        }
        if name in copied:
            copy(copied[name](), self.address(name))
            return
        begins = self.address("in_begins"), numbering.arrays.n, numbering.arrays.m
        if name == "starts":
            self._launcher.mark_starts(*begins, self.address("starts"), None)
        else:
            places = [self.address(name) if name == each else 0 for each in ("destinations", "run_ranks")]
            self._launcher.rank_edges(*begins, self.address("word_ranks"), places)

    @property
    def in_edges(self) -> Adjacency:
        """The graph's in-edges on the host."""
        return self._numbering.arrays.in_edges

    def read_parameters(self) -> None:
        """Take the program's parameters as they are now: who watches a run may change them between supersteps."""
        parameters = self.context["parameters"]
        for name in set(parameters.dtype.names or ()) - {NUMBERS}:
            parameters[name] = self._bound.parameters[name]

    @property
    def layouts(self) -> Layouts:
        """The dtypes of the kernels' structs."""
        return self._launcher.layouts

    @property
    def n(self) -> int:
        """The number of vertices."""
        return int(self._numbering.arrays.n)

    def address(self, name: str) -> int:
        """The current address of an array; `swap` changes it."""
        return int(self.context[name][0])

    def swap(self, one: str, other: str) -> None:
        """Exchange two arrays."""
        context = self.context
        context[one], context[other] = context[other].copy(), context[one].copy()

    def divide_values(self, apart: bool) -> None:
        """Have `next_values` be an array of its own if `apart`, and otherwise the array `values`.

        It must have been allocated. What it holds stays.
        """
        if apart and not self.are_values_divided:
            self.context["next_values"] = self._second
        elif not apart and self.are_values_divided:
            self._second = self.address("next_values")
            self.share("next_values", "values")

    @property
    def are_values_divided(self) -> bool:
        """Whether new values go to an array of their own, `next_values`, and not to `values`."""
        return self.address("values") != self.address("next_values")

    def share(self, name: str, other: str) -> None:
        """Make `name` another name of the array `other`."""
        self.context[name] = self.context[other]

    def task_of(self, arguments: bytes) -> Array:
        """The argument of a kernel: the addresses of the run's arrays, followed by a page's `arguments`."""
        return np.frombuffer(bytearray(self.context.tobytes() + arguments), self.task.dtype)

    def task_of_range(self, first: int, last: int) -> Array:
        """The argument of a kernel over the vertices [first, last), which may be in several pages."""
        task = self.task_of(bytes(self._launcher.layouts.page.itemsize))
        task["page"]["first_vertex"], task["page"]["last_vertex"] = first, last
        return task

    def page_arguments(self, pages: Sequence[Page], tallies: int) -> Array:
        """The arguments of pages, except the addresses of their edges; `tallies` is the address of all counts."""
        layouts = self._launcher.layouts
        arguments = np.zeros(len(pages), layouts.page)
        for name in ("first_vertex", "last_vertex", "first_edge", "last_edge"):
            arguments[name] = [getattr(page, name) for page in pages]
        arguments["first_mapped"] = self._numbering.arrays.m
        arguments["base_edge"] = [page.first_edge // RUN * RUN for page in pages]
        bounds = np.stack([arguments["first_vertex"], arguments["last_vertex"]])
        arguments["first_rank"], arguments["last_rank"] = self._numbering.ranks.before(bounds)
        arguments["tally"] = [tallies + page.number * layouts.tally.itemsize for page in pages]
        arguments["blocks"] = [block_count(page.vertices) for page in pages]
        return arguments
