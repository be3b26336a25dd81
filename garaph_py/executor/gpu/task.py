"""What a kernel is told, by value: one run's arrays and one page. Python's layout and C++'s come from one table."""

from __future__ import annotations

from typing import Any

import numpy as np

DType = np.dtype[Any]

CONTEXT = (
    ("n", "i64"),
    ("in_offsets", "const i64*"),
    ("out_offsets", "const i64*"),
    ("starts", "const u32*"),  # bit e: edge e is the first of its destination
    ("run_ranks", "const u32*"),  # destinations that begin before the run
    ("word_ranks", "const u32*"),  # destinations among the vertices before 32 w
    ("destinations", "const u32*"),  # the vertices with in-edges, ascending
    ("values", "Value*"),
    ("pending", "Value*"),
    ("sums", "Accumulator*"),  # by rank
    ("heads", "Accumulator*"),  # by run
    ("vertex_data", "const VertexData*"),
    ("total", "const Total*"),
    ("active", "u32*"),
    ("activated", "u32*"),
    ("parameters", "Parameters"),
)
PAGE = (
    ("first_vertex", "i64"),
    ("last_vertex", "i64"),
    ("first_edge", "i64"),
    ("last_edge", "i64"),
    ("base_edge", "i64"),  # the number of the edge that sources[0] belongs to
    ("sources", "const u32*"),
    ("edge_values", "const Edge*"),
    ("records", "const Record*"),  # of packed sources, from the run with the page's first edge on
    ("words", "const u32*"),
    ("first_word", "i64"),  # the number of words[0], as the records count
    ("value_records", "const Record*"),  # of packed edge values; null where they are not packed
    ("value_words", "const u32*"),
    ("first_value_word", "i64"),
    ("tally", "Tally*"),
    ("partials", "Partial*"),  # by block
    ("items", "const Item*"),
    ("tickets", "u32*"),
    ("clocks", "i64*"),  # by item: cycles it took; null where nobody asks
    ("reported", "Report*"),
    ("hubs", "const Hub*"),
    ("hub_count", "i64"),
    ("first_rank", "i64"),
    ("last_rank", "i64"),
    ("blocks", "i64"),
)
TALLY = (
    ("active_edges", "u64"),
    ("active", "u32"),
    ("ended", "u32"),  # blocks that have left their partial totals; 0 again after the last
    ("partial", "Partial"),
)
ITEM = (
    ("first_edge", "i64"),
    ("last_edge", "i64"),
    ("first_vertex", "i64"),
    ("last_vertex", "i64"),
    ("first_rank", "u32"),
    ("ranks", "u32"),
    ("replication", "u32"),
    ("pieces", "u32"),  # work items of its shard
    ("ticket", "i64"),
)
HUB = (("first_run", "i64"), ("last_run", "i64"), ("rank", "i64"))
SCALARS = {"i64": np.int64, "u64": np.uint64, "u32": np.uint32}


def layout(fields: tuple[tuple[str, str], ...], **types: DType) -> DType:
    """The NumPy dtype of a table; `types` gives those that depend on the program."""

    def of(kind: str) -> Any:
        return np.uint64 if kind.endswith("*") else types.get(kind, SCALARS.get(kind))

    return np.dtype([(name, of(kind)) for name, kind in fields], align=True)


def struct(name: str, fields: tuple[tuple[str, str], ...], dtype: DType) -> str:
    """The C++ struct of a table, with the check that it is laid out as `dtype`."""
    body = " ".join(f"{kind} {field};" for field, kind in fields)
    return f'struct {name} {{ {body} }};\nstatic_assert(sizeof({name}) == {dtype.itemsize}, "layout");'


class Layouts:
    """The dtypes of all tables for one program.

    Parameters
    ----------
    parameters, partial : dtype
    """

    def __init__(self, parameters: DType, partial: DType) -> None:
        self.context = layout(CONTEXT, Parameters=parameters)
        self.page = layout(PAGE)
        self.tally = layout(TALLY, Partial=partial)
        self.item, self.hub = layout(ITEM), layout(HUB)
        self.task = np.dtype([("context", self.context), ("page", self.page)], align=True)
        assert self.task.itemsize == self.context.itemsize + self.page.itemsize  # one behind the other

    def header(self) -> str:
        """The C++ structs, to stand after the program's types."""
        tables = (
            ("Tally", TALLY, self.tally), ("Item", ITEM, self.item), ("Hub", HUB, self.hub),
            ("Context", CONTEXT, self.context), ("Page", PAGE, self.page),
        )  # fmt: skip
        task = struct("Task", (("context", "Context"), ("page", "Page")), self.task)
        return "\n".join([*(struct(*table) for table in tables), task, ""])
