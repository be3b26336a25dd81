"""Makes the edges of a graph in hub order, on the device, from pages that are resident there in the given order."""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.arrays import RAW
from ...graph import Graph
from ...pages.layout import Page
from ...pages.memory_source import MemoryPageSource
from ...pages.source import PageEdges
from ...program import BoundProgram
from .device_graph import DeviceGraph
from .edges import raw_layout, raw_places
from .gather import AUTO, SEGMENTED
from .launch import Launcher
from .memory_plan import SMALL_BYTES
from .numbering import Numbering
from .offsets import begins_bytes, begins_of
from .ranks import RUN
from .settings import GIVEN, HUB, Settings
from .task import copy_of

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

NAMES = "sources in hub order", "edge values in hub order"
FIELDS = "new_sources", "new_edge_values"
"""Names of the allocations, and of the kernel's arguments with their addresses."""


class DevicePages(MemoryPageSource):
    """Pages whose edges are on the device only, of vertices in an order that no policy knows."""

    takes_any_order = False

    def edges(self, page: Page) -> PageEdges:
        raise ValueError(f"page {page.number} is in the device's order: the host does not have its edges")


class HubEdges:
    """All edges of a graph in hub order, in one array of sources and, for programs that read them, one of edge values.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    settings : Settings
    kept : DeviceGraph

    Attributes
    ----------
    are_allowed : bool
        Whether the run may use them.
    """

    def __init__(self, bound: BoundProgram, graph: Graph, settings: Settings, kept: DeviceGraph) -> None:
        self._bound, self._arrays, self._settings, self._kept = bound, graph._arrays, settings, kept
        self._widths = [4, bound.edge_value_bytes] if bound.edge_value_bytes else [4]
        self.are_allowed = may_order(bound, graph, settings)

    @property
    def contents(self) -> dict[str, Hashable]:
        """The allocations by name, and what each holds."""
        return dict(zip(NAMES, self._widths, strict=False))

    @property
    def are_there(self) -> bool:
        """Whether they are on the device, for a run that may use them."""
        return self.are_allowed and all(self._kept.holds(name, what) for name, what in self.contents.items())

    @property
    def numbering(self) -> Numbering:
        """The graph in hub order."""
        return self._kept.ordering.numbering(self._arrays, self._settings.threads)

    def count(self, edges: int) -> None:
        """Note that the run has gathered so many edges in the given order."""
        if self.are_allowed:
            self._kept.ordering.gathered += edges

    def are_wanted(self, budget: int) -> bool:
        """Whether to make them now, beside the edges in the given order, within `budget` bytes."""
        ordering, settings = self._kept.ordering, self._settings
        if not self.are_allowed or self.are_there:
            return False
        if settings.order != HUB and not ordering.pays(self._bound, self._arrays, settings.threads):
            return False
        fits = self._kept.memory.used + self.nbytes <= budget
        if not fits:
            log.info("the GPU has no room for the edges in hub order beside the others")
        return fits

    def found(self) -> HubEdges:
        """These edges, counted as bytes that the run has found on the device."""
        for (name, what), size in zip(self.contents.items(), self._sizes(), strict=True):
            self._kept.place(name, size, what)
        return self

    def places(self, page: Page) -> list[int]:
        """The addresses of the arrays of a page, which begin at the first edge of a run."""
        addresses = [self._kept.memory.at(name) for name, _ in zip(NAMES, self._widths, strict=False)]
        return raw_places(page, addresses, self._widths)

    def _sizes(self) -> list[int]:
        arrays = self._arrays
        return raw_layout(sum(self._widths[1:])).sizes(Page(0, 0, arrays.n, 0, arrays.m))

    @property
    def nbytes(self) -> int:
        """The most bytes that `make` allocates."""
        arrays = self._arrays
        return sum(self._sizes()) + begins_bytes(arrays.n, arrays.m) + (4 + 8) * arrays.n + SMALL_BYTES

    def make(self, tasks: list[Array], launcher: Launcher) -> None:
        """Make those of the arrays that are missing. The device's context must be current.

        Parameters
        ----------
        tasks : list of ndarray
            The arguments of a kernel for each page of the graph in the given order. All pages are resident.
        launcher : Launcher
        """
        hub, arrays, memory = self.numbering, self._arrays, self._kept.memory
        driver = memory.driver
        driver.Context.synchronize()  # the pages may still be on their way
        positions = self._upload(hub, "positions", hub.positions)
        begins = self._upload(hub, "in_begins", begins_of(hub.ranks.offsets, self._settings.threads))
        shifts = memory.allocate("shifts", 8 * hub.ranks.count, clear=False)
        places = {}
        for field, (name, what), size in zip(FIELDS, self.contents.items(), self._sizes(), strict=False):
            place, is_there = self._kept.place(name, size, what)
            places[field] = 0 if is_there else place
        for task in tasks:
            task["context"]["positions"], task["page"]["shifts"] = positions, shifts
            for field, place in places.items():
                task["page"][field] = place
        every = copy_of(tasks[0])
        every["page"]["first_vertex"], every["page"]["last_vertex"] = 0, arrays.n
        every["page"]["new_begins"] = begins
        launcher.on_threads("find_shifts", arrays.n, None, every)
        for task in tasks:
            first, last = int(task["page"]["first_edge"][0]), int(task["page"]["last_edge"][0])
            launcher.on_warps("reorder_edges", -(-last // RUN) - first // RUN, None, task)
        driver.Context.synchronize()
        memory.free("shifts")
        for name, what in self.contents.items():
            self._kept.keep(name, what)
        self._kept.ordering.gathered = 0

    def _upload(self, hub: Numbering, name: str, array: Array) -> int:
        """Copy an array of the run in hub order to the device, where later runs find it (`RunArrays`)."""
        place, is_there = self._kept.place(hub.name(name), array.nbytes, name)
        if not is_there:
            self._kept.memory.driver.memcpy_htod(place, array.view(np.uint8))
            self._kept.keep(hub.name(name), name)
        return place


def asks_for_ids(bound: BoundProgram) -> bool:
    """Whether a function of the program sees vertices' numbers."""
    return any({"id", "src_id"} & set(asked) for asked in bound.arguments.values())


def may_order(bound: BoundProgram, graph: Graph, settings: Settings) -> bool:
    """Whether a device may number the vertices of `graph` as suits it in a run of `bound`."""
    is_free = settings.order != GIVEN and not settings.deterministic and settings.keep
    return is_free and graph.m > 0 and refusal(bound, graph, graph.encoding, settings.gather) is None


def refusal(bound: BoundProgram, graph: Graph, encoding: str, gather: str) -> str | None:
    """Why a device has to number the vertices of `graph` as the user does, for a message; None if it need not.

    `encoding` is that of the edges in the run.
    """
    if asks_for_ids(bound):
        return f"{bound.name} asks for id or src_id, which are the graph's numbers"
    if not bound.updates_all_vertices:  # others have the host notify vertices, by the user's numbers
        return f"{bound.name} has no aggregate, so it does not update all vertices in every iteration"
    if encoding != RAW:
        return "it is for raw edges, and these are packed"
    if graph.on_disk or graph.memory is not None:
        return "the graph's memory is bounded, and the order takes more"
    if gather not in (AUTO, SEGMENTED):
        return f"it is for gather='segmented', not for {gather!r}"
    return None
