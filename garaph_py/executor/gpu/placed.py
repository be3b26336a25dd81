"""What is where in a device's memory in one run, as `placement.Placer` has decided."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

from ...codec.arrays import RAW
from ..decision import Decision
from ..modes import PUSH
from .choice import Choice
from .edge_lists import EdgeLists
from .listed_edges import ListedEdges
from .mapped import FarPages, MappedEdges
from .mapped_records import MappedRecords
from .memory_plan import DeviceMemoryPlan, ExchangePlan
from .numbering import Numbering
from .out_edges import OutEdges
from .page_uses import PageUses
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .reorder import HubEdges
from .residency import Residency
from .run_arrays import LEARNED, OF_GRAPH, RunArrays


class Placement(NamedTuple):
    """What is where in the device's memory.

    Attributes
    ----------
    numbering : Numbering
    memory : DeviceMemoryPlan
    edges : Choice
    residency : Residency
    mapped : MappedEdges or None
        The in-edges in host memory, if kernels may read there those that are not resident.
    in_place : bool
        All kernels read these edges there. Otherwise pushes do, and pulls stream the pages.
    out_edges : OutEdges or None
        Of a directed graph: the out-edges, if pushes may read their lists.
    lists : EdgeLists or None
        The lists of out-edges, if all iterations push along them.
    uses : PageUses or None
        Counts how pages are used, if that decides which of them are resident.
    records : MappedRecords or None
        The records of `mapped`, if these are packed and the device's memory has their records.
    listed : ListedEdges or None
        Pushes along edge lists that the host writes, if iterations may: from disk, or from its memory.
    by_page : MappedEdges or None
        The edges of the pages in host memory, if kernels may read single ones there while others are streamed.
    exchange : ExchangePlan or None
        Memory in which several GPUs exchange what their pushes change, if they push.
    """

    numbering: Numbering
    memory: DeviceMemoryPlan
    edges: Choice
    residency: Residency
    mapped: MappedEdges | None = None
    in_place: bool = False
    out_edges: OutEdges | None = None
    lists: EdgeLists | None = None
    uses: PageUses | None = None
    records: MappedRecords | None = None
    listed: ListedEdges | None = None
    exchange: ExchangePlan | None = None
    by_page: MappedEdges | None = None

    def contents(self, hub: HubEdges) -> dict[str, Hashable]:
        """The graph's arrays that the run needs in the device's memory: the allocations by name, and what each
        holds."""
        found = self.numbering.contents(name for name in (*OF_GRAPH, *LEARNED) if name in self.memory.arrays)
        if self.numbering.order is not None:
            return found | hub.contents
        out = {} if self.out_edges is None else self.out_edges.contents
        out |= {} if self.lists is None else self.lists.contents
        out |= {} if self.records is None else self.records.contents
        return found | resident_contents(self.edges, self.residency) | out

    def allocate_lists(self, arrays: RunArrays, pool: PinnedPool | Pinned) -> None:
        """Put the lists of out-edges where kernels read them, if the run has any besides its pages."""
        if self.out_edges is not None:
            self.out_edges.allocate(arrays, pool)
        if self.records is not None:
            self.records.allocate(pool)
        if self.lists is not None:
            self.lists.allocate(arrays, pool, self.room)
        if self.listed is not None:
            self.listed.use(pool)

    def beside(self, nbytes: int, **added: Any) -> Placement | None:
        """The same with what is `added`, which takes so many bytes; None if there is no room for it."""
        if nbytes > self.room:
            return None
        memory = replace(self.memory, reserved=self.memory.reserved + nbytes)
        residency = replace(self.residency, used=self.residency.used + nbytes)
        return self._replace(memory=memory, residency=residency, **added)

    def choose_way(self, decision: Decision) -> None:
        """Have pushes use edge lists where the decision says so."""
        if self.listed is not None:
            self.listed.is_wanted = decision.compacts

    @property
    def far(self) -> MappedEdges | FarPages | None:
        """The edges that kernels of pulls may read in host memory: of all pages that are not resident, or of those that
        an iteration names."""
        if self.in_place:
            return self.mapped
        return None if self.by_page is None else FarPages(self.by_page)

    @property
    def placing(self) -> dict[str, float]:
        """Seconds that putting the `lists` in place takes, by step."""
        return {} if self.lists is None else self.lists.seconds

    @property
    def room(self) -> int:
        """Bytes of the device's memory that the run may use beyond what it has planned."""
        return self.memory.budget - self.residency.used

    @property
    def on_disk(self) -> bool:
        """Whether the edges stay on disk."""
        return self.numbering.arrays.on_disk

    @property
    def is_directed(self) -> bool:
        """Whether the in-edges of a vertex are not its out-edges."""
        return self.numbering.arrays.directed

    @property
    def is_resident(self) -> bool:
        """Whether all edges of the graph are resident, or of the GPU's part of it."""
        return self.residency.resident == len(self.residency.pages)

    @property
    def keeps_sums(self) -> bool:
        """Whether pulls keep the sum of every vertex, to which iterations may push deltas."""
        return "kept_sums" in self.memory.arrays

    @property
    def has_trees(self) -> bool:
        """Whether there is memory for the trees of connected components."""
        return "largest" in self.memory.arrays

    def leaves_sums(self, decision: Decision) -> bool:
        """Whether an iteration leaves these sums, also in an asynchronous run (push_deltas.py)."""
        return self.keeps_sums and (decision.keeps_sums or decision.mode == PUSH)

    @property
    def pushes_from_disk(self) -> bool:
        """Whether pushes need lists from disk: the GPU's memory lacks some."""
        return self.listed is not None and self.on_disk and (self.is_directed or not self.is_resident)

    @property
    def compacts(self) -> bool:
        """Whether pushes use edge lists instead of lists that kernels can read in host memory."""
        return self.listed is not None and self.listed.is_wanted and not self.on_disk

    @property
    def reaches_all(self) -> bool:
        """Whether a push can read any out-edge, in the device's memory, in host memory or on disk."""
        if self.lists is not None or (self.on_disk and self.listed is not None):
            return True
        if self.is_directed:
            return self.out_edges is not None
        return self.is_resident or self.mapped is not None

    @property
    def has_all_raw(self) -> bool:
        """Whether all edges are resident, and raw."""
        return self.is_resident and self.edges.arrays.encoding == RAW


def resident_contents(edges: Choice, residency: Residency) -> dict[str, Hashable]:
    """The allocations of the resident pages by name, and what each holds, if a later run has a use for it."""
    regions = edges.arrays.regions(residency.here, residency.within)
    return {region.name: region.what for region in regions if region.what is not None}
