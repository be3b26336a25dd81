"""The structs that GPU kernels take by value: the arguments of a run, and those of one page.

The NumPy dtypes and the C++ structs are both made from the table in `..arguments`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import Argument, arguments

Array = npt.NDArray[Any]
DType = np.dtype[Any]

CONTEXT = arguments((
    "n", "wraps", "in_begins", "out_begins", "starts", "run_ranks", "word_ranks", "destinations", "values",
    "next_values", "sums", "heads", "vertex_data", "total", "frontier", "next_frontier", "positions", "parents",
    "largest", "queue", "pieces", "next_queues", "supersteps", "least", "targets", "first_target",
    "last_target", "target_values", "lost", "class_edges", "notified", "kept_sums", "lists", "list_values",
    "wide_lists", "aligned", "lead", "thread_each", "splits", "degree_limit", "prefetches", "updated", "whole_shadows",
    "part_shadows", "pushes_all", "partition_table", "partition_count", "taken", "in_turn", "compacted", "hints",
    "copies_by_vertex", "parameters",
))  # fmt: skip
PAGE = arguments((
    "first_vertex", "last_vertex", "first_edge", "last_edge", "base_edge", "sources", "edge_values", "shard_offsets",
    "records", "words",
    "first_word", "value_records", "value_words", "first_value_word", "tally", "partials", "items", "tickets", "clocks",
    "reported", "hubs", "hub_count", "first_rank", "last_rank", "blocks", "not_finite", "collected", "collected_bits",
    "new_begins", "shifts", "new_sources", "new_edge_values", "least_edges",
    "first_mapped", "mapped_sources", "mapped_values", "mapped_words", "mapped_value_words", "before", "most_pushed",
    "listed", "wanted", "pulls", "few_threads", "first_place", "last_place",
))  # fmt: skip
TALLY = (
    Argument("active_edges", "u64", "out-edges of vertices that became active"),
    Argument("whole_shadows", "u64", "shadow vertices with as many edges as the degree limit"),
    Argument("part_shadows", "u64", "shadow vertices with fewer"),
    Argument("taken_lists", "u64", "groups of short lists that the warps of a launch have taken"),
    Argument("taken_pieces", "u64", "the same for the pieces of long lists"),
    Argument("since", "u64", "when the first superstep that was launched with this one began, in nanoseconds"),
    Argument("partial", "Partial", "the page's part of the total"),
    Argument("active", "u32", "vertices that became active"),
    Argument("ended", "u32", "blocks that have written their part of the total; 0 again after the last"),
    Argument("queued", "u32", "vertices in `queue`"),
    Argument("pieces", "u32", "pieces of their long lists that nobody has taken; wraps below 0"),
    Argument("chosen", "u32", "what the superstep does: PUSHES, PUSHES_FEW, PULLS; 0 if nothing"),
    Argument("supersteps", "u32", "supersteps up to this one, of those that were launched together"),
    Argument("nanoseconds", "u32", "when this one began, after `since`"),
    Argument("swapped", "u32", "1 if `values` and `next_values` have changed places since `since`"),
)
LIST_PIECE = (
    Argument("place", "u32", "place of the vertex in `queue`"),
    Argument("number", "u32", "the piece's number in the vertex's edge list"),
)
SHADOW = (
    Argument("start", "i64", "its first edge"),
    Argument("place", "u32", "place of its vertex in `queue`"),
    Argument("edges", "u32", "number of its edges"),
)
PARTITION = (
    Argument("first_vertex", "i64", "it has the vertices from this one on up to the next partition's first"),
    Argument("active_edges", "u64", "out-edges of its active vertices"),
    Argument("requests", "u64", "lines of 128 bytes with these edges, for each vertex by itself"),
    Argument("sectors", "u64", "sectors of 32 bytes with these edges, likewise"),
    Argument("change", "f32", "the sum of the sizes of the deltas that they push; or their edges"),
    Argument("active", "u32", "its active vertices with out-edges"),
    Argument("pieces", "u32", "pieces of their long lists"),
    Argument("to_queue", "u32", "place in `queue` of the next of them that is listed; 2^32 - 1 if none is"),
    Argument("to_pieces", "u32", "place in `pieces` of the next piece"),
)
SUPERSTEP = (
    Argument("active_edges", "u64", "out-edges of the vertices that it activated"),
    Argument("active", "u32", "number of these vertices"),
    Argument("nanoseconds", "u32", "when it began, after the first of those that were launched together"),
    Argument("waiting_edges", "u64", "out-edges of the active vertices that it left waiting for others"),
    Argument("notified", "u32", "vertices to whose sums it added something, if it pushed deltas"),
    Argument("pieces", "u32", "pieces of the long lists of the vertices that it activated, if it pushed deltas"),
)
ITEM = (
    Argument("first_edge", "i64", "the item has the edges [first_edge, last_edge)"),
    Argument("last_edge", "i64", ""),
    Argument("first_vertex", "i64", "its shard has the vertices [first_vertex, last_vertex)"),
    Argument("last_vertex", "i64", ""),
    Argument("first_rank", "u32", "rank of the shard's first destination"),
    Argument("ranks", "u32", "destinations of the shard"),
    Argument("replication", "u32", "copies of each accumulator"),
    Argument("pieces", "u32", "work items of the shard"),
    Argument("ticket", "i64", "the shard's index in `tickets`"),
)
HUB = (
    Argument("first_run", "i64", "the heads of the runs [first_run, last_run] belong to the hub"),
    Argument("last_run", "i64", ""),
    Argument("rank", "i64", "the hub's rank"),
)
SCALARS = {"i64": np.int64, "u64": np.uint64, "u32": np.uint32, "f32": np.float32}
NAMES = {"Bits": "u32", "f32": "float"}
"""C++ names on a GPU of the types that differ between the CPU and a GPU."""


def layout(fields: Iterable[Argument], **types: DType) -> DType:
    """The NumPy dtype of a struct; `types` are the types that depend on the program."""

    def of(kind: str) -> Any:
        return np.uint64 if kind.endswith("*") else types.get(kind, SCALARS.get(kind))

    made = np.dtype([(field.name, of(field.type)) for field in fields], align=True)
    # C++ aligns a struct like the largest of its numbers, NumPy one that is not `align=True` like a byte.
    assert all(offset % alignment(dtype) == 0 for dtype, offset, *_ in (made.fields or {}).values())
    return made


def alignment(dtype: DType) -> int:
    """The alignment of a type in C++, in bytes."""
    return max((alignment(dtype[name]) for name in dtype.names), default=1) if dtype.names else dtype.alignment


def struct(name: str, fields: Iterable[Argument], dtype: DType) -> str:
    """A C++ struct, and the check that it is laid out as `dtype`."""
    body = [f"  {declared(field)};{f'  // {field.about}' if field.about else ''}" for field in fields]
    check = f'static_assert(sizeof({name}) == {dtype.itemsize}, "layout");'
    return "\n".join([f"struct {name} {{", *body, "};", check])


def declared(field: Argument) -> str:
    base = field.type.removeprefix("const ").removesuffix("*")
    return f"{field.type.replace(base, NAMES.get(base, base))} {field.name}"


def copy_of(task: Array) -> Array:
    """A copy of a kernel's argument. NumPy's own copies its fields one by one: 80 microseconds instead of one."""
    return np.frombuffer(bytearray(task.tobytes()), task.dtype)


class Layouts:
    """The dtypes of all structs for one program.

    Parameters
    ----------
    parameters, partial : dtype
        The dtypes of the program's parameters and of a partial total.
    """

    def __init__(self, parameters: DType, partial: DType) -> None:
        self.context = layout(CONTEXT, Parameters=parameters)
        self.page = layout(PAGE)
        self.tally = layout(TALLY, Partial=partial)
        self.item, self.hub = layout(ITEM), layout(HUB)
        self.list_piece, self.superstep, self.shadow = layout(LIST_PIECE), layout(SUPERSTEP), layout(SHADOW)
        self.partition = layout(PARTITION)
        self.task = np.dtype([("context", self.context), ("page", self.page)], align=True)
        assert self.task.itemsize == self.context.itemsize + self.page.itemsize  # without padding between them

    def structs(self) -> str:
        """The C++ structs; they refer to the program's types."""
        task = Argument("context", "Context", "the same for all pages"), Argument("page", "Page", "")
        tables = (
            ("Tally", TALLY, self.tally), ("Item", ITEM, self.item), ("Hub", HUB, self.hub),
            ("ListPiece", LIST_PIECE, self.list_piece), ("Superstep", SUPERSTEP, self.superstep),
            ("Shadow", SHADOW, self.shadow), ("Partition", PARTITION, self.partition),
            ("Context", CONTEXT, self.context), ("Page", PAGE, self.page), ("Task", task, self.task),
        )  # fmt: skip
        return "\n".join(struct(*table) for table in tables)
