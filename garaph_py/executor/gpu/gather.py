"""Launches the gather and apply of a page: replicated accumulators in shared memory, or segmented sums in registers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.arrays import PACKED
from ...errors import DeviceMemoryError
from ...graph.adjacency import Adjacency
from ...pages.layout import Page, cut
from ...program import BoundProgram
from ...program.functions import partial_dtype
from .device import seconds
from .device_graph import DeviceGraph
from .interface import gathers_until_done
from .launch import Launcher, block_count, decoding
from .offset_pages import OffsetPages, write_offsets
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .ranks import RUN, Ranks, runs_of
from .replication import FACTORS, CostModel, Replication, custom, fixed
from .residency import VERTICES
from .settings import Settings
from .shards import ITEM_EDGES, divided, kept_division, shards
from .task import copy_of

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

AUTO, REPLICATED, SEGMENTED, UNTIL_DONE = "auto", "replicated", "segmented", "until done"
CUSTOM, CALIBRATED = "custom", "calibrated"
MIN_MEASURED_EDGES = 1 << 25
"""Edges of the smallest page on which both gathers are timed. The timing takes 8 to 15 milliseconds, as long as a
hundred gathers of 2^23 edges (docs/decisions/gpu.md)."""


@dataclass(frozen=True)
class Items:
    """A page's work items on the device.

    Attributes
    ----------
    address : int
    count : int
    tickets : int
        Address of the counters, one per split shard.
    split : bool
        Whether any shard is split.
    shapes : tuple of ndarray
        For each item: destinations, edges, the shard's average degree, and the replication factor.
    """

    address: int
    count: int
    tickets: int
    split: bool
    shapes: tuple[Array, ...]


class Gather:
    """Launches the gather and apply of pages. The device's context must be current.

    Parameters
    ----------
    kind : {"auto", "replicated", "segmented", "packed", "until done"}
        ``"auto"``: ``"replicated"`` or ``"segmented"``, whichever is faster on the first page with at least
        `MIN_MEASURED_EDGES` edges. ``"until done"``: until the program's `done` holds.
    settings : Settings
        Say how many copies an accumulator has, and whether shards are divided into work items.
    """

    def __init__(
        self,
        bound: BoundProgram,
        launcher: Launcher,
        kept: DeviceGraph,
        ranks: Ranks,
        pages: list[Page],
        kind: str,
        settings: Settings,
    ) -> None:
        needs_share = kind not in (PACKED, UNTIL_DONE)
        self.kind = SEGMENTED if needs_share and not launcher.share else kind
        self._replication, self._all_vertices = settings.replication, settings.all_vertices
        self._item_edges = ITEM_EDGES if settings.work_items else max(int(ranks.offsets[-1]), 1)
        if self.kind == AUTO and (bound.columns or all(page.edges < MIN_MEASURED_EDGES for page in pages)):
            self.kind = SEGMENTED
        how = settings.replication, settings.all_vertices, settings.work_items
        self._known, self._key = kept.gathers, f"{bound.key} {how}"
        self._launcher, self._memory, self._ranks = launcher, kept.memory, ranks
        self._copies = launcher.share // bound.accumulator.itemsize
        self._items: dict[int, Items] = {}
        self._has_total, self._value_bytes = bound.total is not None, bound.value.itemsize
        self._reads_values = bound.edge_value_bytes > 0
        self._hubs = kept.memory.upload("hubs", self._make_hubs())
        self._partial_bytes = partial_dtype(bound.total).itemsize
        # A page begins at a multiple of so many vertices, and a block has more, so any page has room for its blocks.
        places = (len(ranks.offsets) - 1) // VERTICES + 1
        self._partials = kept.memory.allocate("partials", places * self._partial_bytes)

    def _make_hubs(self) -> Array:
        """The hubs as an array of the kernels' struct ``Hub``."""
        vertices, offsets = self._ranks.hubs, self._ranks.offsets
        hubs = np.zeros(len(vertices), self._launcher.layouts.hub)
        hubs["first_run"], hubs["last_run"] = offsets[vertices] // RUN + 1, (offsets[vertices + 1] - 1) // RUN
        hubs["rank"] = self._ranks.hub_ranks
        return hubs

    def offset_pages(self, edges: Adjacency, pages: Sequence[Page], pool: PinnedPool | Pinned) -> OffsetPages:
        """The pages with the 16-bit offsets of their destinations, which are written to memory of the `pool`."""
        into = pool.empty(int(self._ranks.offsets[-1]), np.dtype(np.uint16))
        rule = self._given_rule()
        for page in pages:
            firsts, _ = shards(self._ranks.offsets, page, self._copies, rule)
            write_offsets(self._ranks.offsets, firsts, into)
        return OffsetPages(edges, pages, into, self._reads_values)

    def write_args(self, args: Array, pages: Sequence[Page]) -> None:
        """Write the addresses of each page's hubs and of its blocks' partial totals to the pages' arguments."""
        begins = np.array([page.first_vertex for page in pages], np.int64)
        first, end = (self._ranks.hubs.searchsorted(each) for each in (begins, [page.last_vertex for page in pages]))
        args["partials"] = self._partials + begins // VERTICES * self._partial_bytes
        args["hub_count"] = end - first
        args["hubs"] = self._hubs + first * self._launcher.layouts.hub.itemsize

    @property
    def takes_parts(self) -> bool:
        """Whether `launch` takes parts of pages. The replicated gather does not: its work items are for whole pages."""
        return self.kind in (SEGMENTED, PACKED, UNTIL_DONE)

    @property
    def writes_whole_frontier(self) -> bool:
        """Whether a pull of all vertices writes every word of the next frontier, which nobody has to clear before."""
        return self.kind in (SEGMENTED, PACKED)

    def launch(self, page: Page, task: Array, stream: Any) -> None:
        if self.kind == AUTO and page.edges >= MIN_MEASURED_EDGES:
            self.kind = self._known.get(self._key) or self._faster(page, task, stream)
            self._known[self._key] = self.kind
        if self.kind == UNTIL_DONE:
            self._launcher.on_blocks(decoding("gather_until_done", task), page.vertices, stream, task)
        elif self.kind == REPLICATED:
            self._replicated(page, task, stream, self._items_of(page, task, stream))
        else:
            self._segmented(page, task, stream)

    def _segmented(self, page: Page, task: Array, stream: Any) -> None:
        self.sum_segments(page, task, stream)
        self.apply(page, task, stream)

    def sum_segments(self, page: Page, task: Array, stream: Any) -> None:
        """Launch the first half of a segmented or packed gather: the sums."""
        if page.edges:
            name = "gather_packed" if self.kind == PACKED else "gather_segmented"
            self._launcher.on_warps(name, runs_of(page), stream, task)

    def apply(self, page: Page, task: Array, stream: Any) -> None:
        """Launch the second half: apply every vertex of the page."""
        self._launcher.on_warps("sum_hubs", int(task["page"]["hub_count"][0]), stream, task)
        self._launcher.on_blocks("apply_vertices", page.vertices, stream, task)

    def _replicated(self, page: Page, task: Array, stream: Any, items: Items, clocks: int = 0) -> None:
        args = task["page"]
        args["items"], args["tickets"], args["clocks"] = items.address, items.tickets, clocks
        args["blocks"] = items.count
        if self._has_total:
            args["partials"] = self._memory.at(f"partials {page.number}")
        if items.split:
            ranks = int(args["last_rank"][0] - args["first_rank"][0])
            self._launcher.on_threads("initialize_sums", ranks, stream, task)
        self._launcher.on_items("gather_replicated", items.count, stream, task)

    def _items_of(self, page: Page, task: Array, stream: Any) -> Items:
        if page.number not in self._items:
            self._items[page.number] = self._make_items(page, self._rule(page, task, stream))
        return self._items[page.number]

    def _make_items(self, page: Page, rule: Replication) -> Items:
        divide = divided if self._replication == CALIBRATED else kept_division  # a measured rule is another each time
        division = divide(self._ranks, page, self._copies, rule, self._launcher.layouts.item, self._item_edges)
        address = self._memory.upload(f"items {page.number}", division.items)
        tickets = self._memory.allocate(f"tickets {page.number}", 4 * division.split)
        count = len(division.items)
        if self._has_total:
            self._memory.allocate(f"partials {page.number}", count * self._launcher.layouts.tally["partial"].itemsize)
        return Items(address, count, tickets, division.split > 0, division.shapes)

    def mean_factor(self) -> float:
        """The mean replication factor over all destinations of the pages processed so far."""
        shapes = [items.shapes for items in self._items.values()]
        destinations = sum(float(ranks.sum()) for ranks, *_ in shapes)
        return sum(float((ranks * factors).sum()) for ranks, _, _, factors in shapes) / max(destinations, 1.0)

    def _rule(self, page: Page, task: Array, stream: Any) -> Replication:
        if self._replication != CALIBRATED:
            return self._given_rule()
        try:
            return self._calibrate(page, task, stream)
        except DeviceMemoryError:
            return custom()

    def _given_rule(self) -> Replication:
        """The rule that takes no measurement."""
        if self._replication == CUSTOM:
            return custom(self._all_vertices)
        return fixed(int(self._replication), self._all_vertices)

    def _calibrate(self, page: Page, task: Array, stream: Any) -> Replication:
        """Time the page with every rule: each fixed factor, equation 2, and a `CostModel` fitted to these times.

        Return the fastest.
        """
        taken: list[Array] = []
        timed: list[tuple[float, Replication]] = []

        def measure(rule: Replication, trial: Array) -> None:
            items = self._make_items(page, rule)
            clocks = self._memory.allocate("clocks", 8 * items.count)
            timed.append((self._time(lambda: self._replicated(page, trial, stream, items, clocks), stream), rule))
            cycles = self._memory.download("clocks", items.count, np.dtype(np.int64), stream)
            self._memory.free("clocks")
            taken.append(np.stack([*items.shapes, cycles.astype(np.float64)]))

        with self._elsewhere(page, task) as trial:
            for rule in (*map(fixed, FACTORS), custom()):
                measure(rule, trial)
            measure(CostModel.fit(*np.concatenate(taken, axis=1)).replication(self._copies, self._item_edges), trial)
        log.info("replication of page %d: %s", page.number, [f"{page.edges / s / 1e9:.1f} GE/s" for s, _ in timed])
        return min(timed, key=lambda pair: pair[0])[1]

    def _time(self, launch: Callable[[], None], stream: Any) -> float:
        """Seconds that the kernels of ``launch()`` take on `stream`: the minimum of three, as the first is cold."""
        return min(seconds(self._memory.driver, stream, launch) for _ in range(3))

    def _faster(self, page: Page, task: Array, stream: Any) -> str:
        """Time both kinds of gather on the beginning of the page; return the faster one."""
        part, args = self._beginning(page, task)
        try:
            rule = self._rule(part, args, stream)
            items = self._make_items(part, rule)  # before the scratch memory, which `_calibrate` allocates too
            with self._elsewhere(part, args) as trial:
                times = {
                    SEGMENTED: self._time(lambda: self._segmented(part, trial, stream), stream),
                    REPLICATED: self._time(lambda: self._replicated(part, trial, stream, items), stream),
                }
        except DeviceMemoryError:
            return SEGMENTED  # it needs no extra memory
        log.info("gather: %s", ", ".join(f"{kind} {part.edges / s / 1e9:.1f} GE/s" for kind, s in times.items()))
        return min(times, key=lambda kind: times[kind])

    def _beginning(self, page: Page, task: Array) -> tuple[Page, Array]:
        """The first vertices of a page, with about `MIN_MEASURED_EDGES` edges, and the argument of their kernels."""
        offsets = self._ranks.offsets
        part = cut(offsets, page, page.edges - MIN_MEASURED_EDGES, VERTICES)[0] or page
        made = copy_of(task)
        args = made["page"]
        args["last_vertex"], args["last_edge"] = part.last_vertex, part.last_edge
        args["last_rank"] = self._ranks.before(part.last_vertex)
        args["blocks"] = block_count(part.vertices)
        self.write_args(args, [part])
        return part, made

    @contextmanager
    def _elsewhere(self, page: Page, task: Array) -> Iterator[Array]:
        """A copy of `task` that writes to scratch memory for the page's vertices instead of to the run's arrays."""
        trial, memory = copy_of(task), self._memory
        vertices = page.vertices
        places = (
            ("next_values", vertices * self._value_bytes, page.first_vertex * self._value_bytes),
            ("next_frontier", vertices // 8 + 8, page.first_vertex // 8),
        )
        try:
            for name, nbytes, before in places:
                trial["context"][name] = (memory.allocate(f"trial {name}", nbytes) - before) % (1 << 64)
            trial["page"]["tally"] = memory.allocate("trial tally", self._launcher.layouts.tally.itemsize)
            yield trial
        finally:
            for name in ("trial next_values", "trial next_frontier", "trial tally"):
                memory.free(name)


def kind_of(bound: BoundProgram, settings: Settings, encoding: str, synchronous: bool) -> str:
    """The kind of gather for edges in this encoding, if the user or the plan has asked for the one in `settings`.

    Unless `settings` want every edge, a synchronous run ends the gather of a vertex where `done` says so. In a directed
    graph many vertices may stay unreached for many iterations: one warp would go through all edges of each again and
    again.
    """
    ends_early = synchronous and not settings.every_edge and bound.undirected and gathers_until_done(bound)
    if encoding == PACKED:
        return UNTIL_DONE if ends_early else PACKED
    return UNTIL_DONE if settings.gather == AUTO and ends_early else settings.gather
