"""One simulated iteration over pages. In the model, link, GPU, CPU and disks each do one task at a time.

The simulated GPU thread decides like the real one: it takes pages from a `PageQueue`, and follows the steps of a
`Pipeline`. The model provides the times of copies, of kernels, and of pages on the CPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..executor.gpu.pipeline import AWAIT_COPY, COPY_AND_LAUNCH, LAUNCH, Pipeline
from ..executor.modes import COPIED, CPU, GPU, RESIDENT, ZERO_COPY
from ..pages.layout import Page
from ..pages.queue import PageQueue
from .clock import Channel, Clock
from .gpu import BufferModel, GpuModel, LinkModel

Take = Callable[[PageQueue[BufferModel]], Page | None]
Listener = Callable[[int, float], None]


def ignore(edges: int, seconds: float) -> None:
    """A `Listener` that does nothing."""


@dataclass(frozen=True)
class PageCosts:
    """The costs of a page, in seconds and bytes.

    Attributes
    ----------
    cpu : callable
        ``cpu(page)``: seconds to process a page on the CPU.
    edge_bytes : float
        Bytes per edge on the link and on disks.
    value_bytes, back_bytes : float
        Bytes of a vertex's value, and bytes per vertex that the GPU sends back.
    is_on_disk : callable
        ``is_on_disk(page)``: whether a page has to be read from disk.
    gpu : callable
        ``gpu(page)``: seconds of a page's kernel.
    link_beside_cpu : float
        Share of the link's rate that remains while the CPU computes.
    staging : float
        Seconds per vertex for the GPU thread to copy a new value from the staging buffer to the vertex values.
    handover : float
        Seconds to hand a stolen page to the CPU; the CPU's measured rate does not include them.
    launch : float
        Seconds that the GPU's thread takes to launch a page, beside the CPU's thread.
    waits : bool
        The GPU's thread waits for each copy: the memory is not pinned, so the driver copies it in this thread.
    reading : float
        The rate at which kernels read edges in host memory, as a share of that of copies.
    """

    cpu: Callable[[Page], float]
    edge_bytes: float
    value_bytes: float
    back_bytes: float
    is_on_disk: Callable[[Page], bool]
    gpu: Callable[[Page], float] = lambda page: float("inf")
    link_beside_cpu: float = 1.0
    staging: float = 0.0
    handover: float = 0.0
    launch: float = 0.0
    waits: bool = False
    reading: float = 1.0


@dataclass
class GpuPlaces:
    """The GPU's buffers for pages, and the link to the GPU.

    Attributes
    ----------
    resident : sequence of BufferModel
        The buffers of resident pages.
    free : deque of BufferModel
        The buffers of streams that are free.
    to_device, from_device : Channel
    far : dict of int to BufferModel
        What stands for the buffers of the pages that are read in host memory, by number.
    """

    resident: Sequence[BufferModel]
    free: deque[BufferModel]
    to_device: Channel
    from_device: Channel
    far: dict[int, BufferModel] = field(default_factory=dict)

    def of(self, page: Page) -> BufferModel | None:
        """The buffer that a page has for itself, as `Buffers.of`."""
        return self.resident[page.number] if page.number < len(self.resident) else self.far.get(page.number)


@dataclass
class IterationModel:
    """One iteration; `run` fills in `owners` and the attributes after it.

    Attributes
    ----------
    queue : PageQueue
        The pages; the queue is empty at the end.
    costs : PageCosts
    disks : Channel
    places : GpuPlaces or None
        None if the CPU works alone.
    take : callable or None
        ``take(queue)`` takes the next page for the CPU; after it has returned None, the CPU takes no more pages. None
        if the GPU works alone.
    listener : callable
        ``listener(edges, seconds)`` is called when the CPU has processed a page.
    owners : dict of Page to str
        The processor of each page, or part of one.
    ways : dict of Page to str
        How the edges of each of the GPU's pages reached it.
    copied_edges : int
        Edges copied to the GPU.
    edges : dict of str to int
        Edges that each processor processed.
    cpu_seconds, gpu_seconds : float
        Times at which each processor has finished.
    """

    queue: PageQueue[BufferModel]
    costs: PageCosts
    disks: Channel
    places: GpuPlaces | None = None
    take: Take | None = None
    listener: Listener = ignore
    owners: dict[Page, str] = field(default_factory=dict)
    ways: dict[Page, str] = field(default_factory=dict)
    copied_edges: int = 0
    edges: dict[str, int] = field(default_factory=lambda: {CPU: 0, GPU: 0})
    cpu_seconds: float = 0.0
    gpu_seconds: float = 0.0

    def __post_init__(self) -> None:
        costs, places, self._clock = self.costs, self.places, Clock()
        if places is not None:
            self._link = LinkModel(self._clock, places.to_device, self._link_share)
            self._gpu = GpuModel(self._clock, costs.gpu, places.from_device, costs.back_bytes)

    def run(self) -> None:
        """Simulate the iteration. The CPU takes its first page while the GPU's thread starts (`SharedPages`)."""
        if self.take is not None:
            self._take()
        if self.places is not None:
            self._serve_gpu(Pipeline(self.queue, self.places.of, self.places.free))
        self._clock.run()

    def _serve_gpu(self, pipeline: Pipeline[BufferModel]) -> None:
        """Act as the GPU thread: the same steps as `Streams.process`, with this model instead of the driver."""
        self._poll(pipeline)
        while (step := pipeline.next()) is not None:
            action, page, buffer = step
            if action is COPY_AND_LAUNCH:
                self._clock.sleep(self.costs.launch)
                self._copy(page, buffer)
                if self.costs.waits:
                    self._clock.wait(partial(getattr, buffer, "is_copied"))
            elif action is LAUNCH:
                self._clock.sleep(self.costs.launch)
                self._launch(page, buffer)
            elif action is AWAIT_COPY:
                self._clock.wait(partial(getattr, buffer, "is_copied"))
            else:
                self._clock.wait(partial(getattr, buffer, "is_idle"))
            self._poll(pipeline)
        launched = pipeline.on_device, pipeline.streamed
        self._clock.wait(lambda: all(buffer.is_idle for pages in launched for _, buffer in pages))
        self._poll(pipeline)
        self.gpu_seconds = self._clock.now

    def _poll(self, pipeline: Pipeline[BufferModel]) -> None:
        """Report completed copies and pages to the pipeline."""
        while pipeline.copies and pipeline.copies[0][1].is_copied:
            pipeline.arrived()
        for launched in pipeline.on_device, pipeline.streamed:
            while launched and launched[0][1].is_idle:
                page, _ = launched[0]
                self.owners[page] = GPU
                self.edges[GPU] += page.edges
                self._clock.sleep(page.vertices * self.costs.staging)
                pipeline.ended(launched)

    def _copy(self, page: Page, buffer: BufferModel) -> None:
        buffer.page, buffer.is_copied, buffer.is_idle = page, False, False
        self.copied_edges, self.ways[page] = self.copied_edges + page.edges, COPIED
        on_end = partial(self._gpu.arrived, page, buffer)
        self._link.copy(page.edges * self.costs.edge_bytes, self._read(page), on_end)

    def _launch(self, page: Page, buffer: BufferModel) -> None:
        """Launch the kernel of a page that is on the GPU, or that the kernel reads in host memory."""
        assert self.places is not None
        if page.number not in self.places.far:
            self.ways[page] = RESIDENT
            self._gpu.launch(page, buffer)
            return
        self.ways[page], buffer.is_idle = ZERO_COPY, False
        on_end = partial(self._gpu.arrived, page, buffer)
        self._link.read(page.edges * self.costs.edge_bytes, self.costs.reading, on_end)

    def _link_share(self) -> float:
        return self.costs.link_beside_cpu if self.cpu_seconds > self._clock.now else 1.0

    def _read(self, page: Page) -> float:
        """Read a page if it is on disk; return the time at which it is in the host's memory."""
        nbytes = page.edges * self.costs.edge_bytes if self.costs.is_on_disk(page) else 0
        return self.disks.transfer(nbytes, self._clock.now)

    def _take(self) -> None:
        """Let the CPU take a page. While it processes a page from disk, the disks read the next one."""
        assert self.take is not None
        page = self.take(self.queue)
        if page is None:
            return
        ready = max(self._read(page), self.cpu_seconds, self._clock.now)
        seconds = self.costs.cpu(page) + self.costs.handover
        self.cpu_seconds = ready + seconds
        self.owners[page] = CPU
        self.edges[CPU] += page.edges
        self._clock.at(self.cpu_seconds, partial(self._complete, page, seconds))
        self._clock.at(ready if self.costs.is_on_disk(page) else self.cpu_seconds, self._take)

    def _complete(self, page: Page, seconds: float) -> None:
        """The CPU has processed a page: send its values to the GPU."""
        self.listener(page.edges, seconds - self.costs.handover)
        if self.places is not None:
            self._link.copy(page.vertices * self.costs.value_bytes, self._clock.now, lambda: None)
