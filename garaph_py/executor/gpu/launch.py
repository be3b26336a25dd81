"""Loads the kernels of one program on one device, and launches them on streams."""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...program import BoundProgram
from ...program.functions import partial_dtype
from . import compiler
from .device import Device
from .header import REPLICATED_THREADS, THREADS, VERTICES_PER_THREAD
from .interface import can_replicate, gathers_until_done, has_bits
from .offsets import wraps_of
from .rows import kernel_for
from .task import Layouts

Array = npt.NDArray[Any]

BLOCK_VERTICES = VERTICES_PER_THREAD * THREADS
"""Vertices that a block updates."""
RESERVED_BYTES = 1 << 10
"""Bytes of shared memory that CUDA reserves in every block."""
NAMES = (
    "mark_starts",
    "rank_edges",
    "measure_runs",
    "pack_runs",
    "initialize",
    "prepare_values",
    "gather_segmented",
    "gather_packed",
    "sum_hubs",
    "apply_vertices",
    "end_pull",
    "report",
    "collect",
    "find_not_finite",
    "find_shifts",
    "reorder_edges",
    "place_numbers",
)
WITHOUT_TASK = ("place_numbers", "mark_starts", "rank_edges", "begin_searches", "note_levels", "spread_levels")
"""The kernels that take arguments of their own instead of a task."""
COMPONENT_NAMES = (
    "plant", "hook_first", "link_second", "link_short", "link_edges", "flatten", "find_largest", "link_received",
    "sum_trees", "spread_sums",
)  # fmt: skip
PARENT_NAMES = (
    "find_parents", "find_parents_packed", "find_pushers", "push_parents", "push_parents_packed", "weigh_classes",
)  # fmt: skip
LIST_NAMES = (
    "cut_degrees", "push_listed", "push_pieces", "push_shadows", "push_vertices",
    "count_partitions", "list_partitions", "push_edge_list", "scan_updated", "take_frontier",
)  # fmt: skip
FRONTIER_NAMES = ("choose", "list_frontier", "reverse_values")
PUSH_NAMES = ("push_queue", "push_queue_packed")
NUMBER_NAMES = ("push_few", "push_few_packed", "relax_received")
"""The kernels of relaxations for values that are numbers; there are none for rows."""
DELTA_NAMES = (
    "push_deltas", "push_deltas_packed", "push_few_deltas", "push_few_deltas_packed", "apply_in_turn", "apply_notified",
)  # fmt: skip
UNTIL_DONE_NAMES = ("gather_until_done", "gather_until_done_packed")
LEVEL_NAMES = ("begin_searches", "note_levels", "spread_levels")
REPLICATED_NAMES = ("initialize_sums", "gather_replicated")


MOST_LOADED = 64
"""Programs whose kernels stay loaded: a cubin takes some hundred KB of the GPU's memory."""

_lock = threading.Lock()
_loaded: dict[tuple[int, str], Launcher] = {}  # by the device's identity and what was compiled, the oldest first


def launcher_for(bound: BoundProgram, device: Device, listener: events.Listener) -> Launcher:
    """The kernels of `bound`, which stay loaded for later runs. The device's context must be current."""
    key = id(device), bound.key
    with _lock:
        if key in _loaded:
            launcher = _loaded[key] = _loaded.pop(key)
            return launcher
    launcher = Launcher(bound, device, listener, can_replicate(bound))
    with _lock:
        _loaded[key] = launcher
        while len(_loaded) > MOST_LOADED:
            del _loaded[next(iter(_loaded))]
    return launcher


@atexit.register
def unload() -> None:
    """Unload all kernels, while there is a context in which PyCUDA can do so."""
    with contextlib.suppress(Exception):
        while _loaded:
            _, launcher = _loaded.popitem()
            with launcher.device:
                del launcher


def decoding(name: str, task: Array) -> str:
    """The form of the kernel `name` for the edges in its argument: raw, or packed."""
    page = task["page"]
    return f"{name}_packed" if page["records"][0] or page["value_records"][0] else name


def block_count(vertices: int) -> int:
    """The number of blocks that update `vertices` vertices."""
    return -(-vertices // BLOCK_VERTICES)


class Launcher:
    """Loads the kernels of `bound`, and compiles them if they are not in the cache on disk.

    The device's context must be current.

    Attributes
    ----------
    device : Device
    layouts : Layouts
    share : int
        Bytes of shared memory for a shard's accumulators. A multiprocessor's shared memory is divided among as many
        blocks of `REPLICATED_THREADS` as its threads allow. 0 if the program cannot replicate.
    pushes_few : bool
        There is a kernel that does several supersteps while few vertices are active.
    """

    def __init__(self, bound: BoundProgram, device: Device, listener: events.Listener, replicated: bool) -> None:
        code = compiler.cubin(bound, device.architecture, listener)
        driver = device.driver
        self._module = driver.module_from_buffer(code)
        names = NAMES + REPLICATED_NAMES * replicated + COMPONENT_NAMES * bound.copies_sources
        names += PARENT_NAMES * bound.finds_parents
        pushes, is_number = bound.is_relaxation or bound.pushes_deltas, not bound.columns
        names += FRONTIER_NAMES * pushes + LIST_NAMES * (pushes and is_number) + DELTA_NAMES * bound.pushes_deltas
        names += PUSH_NAMES * bound.is_relaxation + NUMBER_NAMES * (bound.is_relaxation and is_number)
        names += UNTIL_DONE_NAMES * gathers_until_done(bound)
        names += LEVEL_NAMES * has_bits(bound)
        self._functions = {name: self._module.get_function(kernel_for(name, bound)) for name in names}
        self.device, self.pushes_few = device, "push_few" in names or "push_few_deltas" in names
        self.layouts = layouts = Layouts(bound.parameters.dtype, partial_dtype(bound.total))
        for name, function in self._functions.items():
            if name not in WITHOUT_TASK:
                function.prepare([f"{layouts.task.itemsize}s"])
        self.share = 0
        if replicated:
            gather = self._functions["gather_replicated"]
            # Registers may allow fewer blocks; the L1 cache then uses the memory that is left.
            blocks = device.multiprocessor_threads // REPLICATED_THREADS
            most = min(device.multiprocessor_memory // blocks - RESERVED_BYTES, device.shared_memory)
            self.share = (most - gather.shared_size_bytes) // 16 * 16
            gather.set_attribute(driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self.share)

    def on_blocks(self, name: str, vertices: int, stream: Any, task: Array) -> None:
        """Launch a kernel with one block for every `BLOCK_VERTICES` vertices."""
        if vertices:
            self._launch(name, block_count(vertices), THREADS, stream, task)

    def on_threads(self, name: str, count: int, stream: Any, task: Array) -> None:
        """Launch a kernel with one thread for each of `count` vertices or ranks, rounded up to whole blocks."""
        if count:
            self._launch(name, -(-count // THREADS), THREADS, stream, task)

    def on_warps(self, name: str, count: int, stream: Any, task: Array) -> None:
        """Launch a kernel with one warp for each of `count` runs or hubs."""
        self.on_threads(name, count * 32, stream, task)

    def on_items(self, name: str, count: int, stream: Any, task: Array) -> None:
        """Launch a kernel with one block, and `share` bytes of shared memory, for each of `count` work items."""
        if count:
            self._launch(name, count, REPLICATED_THREADS, stream, task, self.share)

    def on_all(self, name: str, stream: Any, task: Array, shared: int = 0) -> None:
        """Launch a kernel with as many threads as the device can run at a time; blocks have `shared` bytes of shared
        memory."""
        device = self.device
        blocks = device.multiprocessors * (device.multiprocessor_threads // THREADS)
        self._launch(name, blocks, THREADS, stream, task, shared)

    def on_few(self, name: str, blocks: int, threads: int, stream: Any, task: Array) -> None:
        """Launch a kernel with this number of blocks and threads per block."""
        self._launch(name, blocks, threads, stream, task)

    def mark_starts(self, begins: int, vertices: int, edges: int, starts: int, stream: Any) -> None:
        self._over_offsets("mark_starts", begins, vertices, edges, [starts], stream)

    def rank_edges(self, begins: int, vertices: int, edges: int, word_ranks: int, places: list[int]) -> None:
        """Fill the arrays at the addresses `places`: the destinations, and the ranks of runs; 0 for one not wanted."""
        self._over_offsets("rank_edges", begins, vertices, edges, [word_ranks, *places], None)

    def _over_offsets(
        self, name: str, begins: int, vertices: int, edges: int, addresses: list[int], stream: Any
    ) -> None:
        """Launch a kernel with one thread for each vertex, which takes CSC offsets and the addresses of arrays."""
        arguments = np.uint64(begins), np.int64(vertices), np.int64(wraps_of(edges)), *map(np.uint64, addresses)
        self.with_arguments(name, vertices, stream, arguments)

    def with_arguments(self, name: str, count: int, stream: Any, arguments: Sequence[Any]) -> None:
        """Launch a kernel that takes no task, with one thread for each of `count` vertices."""
        if count:
            self._functions[name](
                *arguments, block=(THREADS, 1, 1), grid=(-(-count // THREADS), 1), stream=stream
            )  # fmt: skip

    def _launch(self, name: str, blocks: int, threads: int, stream: Any, task: Array, shared: int = 0) -> None:
        launch = self._functions[name].prepared_async_call
        launch((blocks, 1), (threads, 1, 1), stream, task.tobytes(), shared_size=shared)
