"""The in-edges of the parts of other GPUs, which a GPU gets for a moment, to order the values of its out-edges."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...graph.adjacency import Adjacency
from ...pages.layout import Page, layout
from . import staging
from .device_graph import DeviceGraph
from .edges import ArraysOnDevice, page_bytes, places
from .parts import Part
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .ranks import RUN
from .residency import VERTICES
from .run_arrays import RunArrays
from .work import Launch

NAME = "in-edges of other parts"
"""The name of the allocation."""
PAGE_EDGES = 1 << 22
"""Most edges of a page, unless a vertex has more: 32 MiB with values of 4 bytes, which the link moves in less than a
millisecond."""


class OtherInEdges:
    """The in-edges of all vertices but those of one part.

    Parameters
    ----------
    part : Part
    edges : Adjacency
        All in-edges on the host.

    Attributes
    ----------
    part : Part
    """

    def __init__(self, part: Part, edges: Adjacency) -> None:
        self.part, self._edges, self._layout = part, edges, ArraysOnDevice.of(edges, True)

    @cached_property
    def pages(self) -> list[Page]:
        offsets = self._edges.offsets
        before = layout(offsets[: self.part.first + 1], PAGE_EDGES, VERTICES)
        return before + layout(offsets, PAGE_EDGES, VERTICES, self.part.last)

    @property
    def nbytes(self) -> int:
        """Bytes of the device's memory for the largest page."""
        return max((page_bytes(page, self._layout) for page in self.pages), default=0)

    def on_each(
        self, launch: Launch, arrays: RunArrays, kept: DeviceGraph, pool: PinnedPool | Pinned, threads: int | None
    ) -> int:
        """Copy one raw page after the other to the device, and launch a kernel for it; return the bytes copied.

        All is on one stream, so a page waits until the kernel before has read the memory that both take. The device's
        context must be current.
        """
        place, stream = kept.memory.allocate(NAME, self.nbytes, clear=False), kept.handles.stream()
        arguments, every = arrays.page_arguments(self.pages, 0), [array.buffers[0] for array in self._edges.arrays()]
        nbytes = sum(page.edges for page in self.pages) * sum(array.itemsize for array in every)
        with staging.copying(nbytes, kept, pool, threads) as transfer:
            for k, page in enumerate(self.pages):
                addresses = [place + begin for begin in places(self._layout.sizes(page))[:-1]]
                for array, address in zip(every, addresses, strict=True):
                    part = array[page.first_edge : page.last_edge].view(np.uint8)
                    to = address + page.first_edge % RUN * array.itemsize
                    if transfer is not None:
                        transfer.copy(part, to, stream)
                    else:
                        kept.device.driver.memcpy_htod_async(to, part, stream)
                self._layout.write_args(arguments[k : k + 1], page, addresses)
                launch(page, stream, arrays.task_of(arguments[k].tobytes()))
            stream.synchronize()
        kept.memory.free(NAME)
        return nbytes
