"""Which kernels a program whose values are rows (`program.columns`) has, and how they read one column of a row.

In these kernels, a lane of a warp has one column (kernels/rows.cuh).
"""

from __future__ import annotations

from ...program import BoundProgram
from ...program.columns import SHARED, STOPPED, has_even_rows
from .interface import c_field, float_fields, types_of

INSTEAD = {
    "initialize": "initialize_rows",
    "gather_segmented": "gather_rows",
    "gather_packed": "gather_rows_packed",
    "sum_hubs": "sum_row_hubs",
    "apply_vertices": "apply_rows",
    "report": "report_rows",
}
"""Kernels that have another form, with a lane per column, for programs with even rows."""
INLINE = "__device__ __forceinline__"


def kernel_for(name: str, bound: BoundProgram) -> str:
    """The form of the kernel `name` for the program."""
    return INSTEAD.get(name, name) if has_even_rows(bound) else name


def accessors(bound: BoundProgram) -> str:
    """C++: the number of columns, and functions that read and write a column of a row; empty without even rows."""
    if not has_even_rows(bound):
        return ""
    count, first = len(bound.columns), bound.columns[0]
    lines = [
        f"constexpr int COLUMNS = {count};  // columns of a row",
        f"constexpr int ROW_LANES = {1 << (count - 1).bit_length()};  // lanes that share a row: COLUMNS or more",
        f"constexpr int COLUMN_FLOATS = {len(float_fields(first.value))};  // floats in a column's value",
        f"constexpr bool HAS_COLUMN_TOTAL = {'true' if first.total is not None else 'false'};",
        part_of("parameters_in_column", "Parameters", bound),
        part_of("data_in_column", "VertexData", bound),
    ]
    return "\n".join([*lines, has_stopped(bound), *column_counts(bound)])


def has_stopped(bound: BoundProgram) -> str:
    """The C++ function that says whether a column of the total has stopped."""
    answer = "false" if bound.total is None else f"row.{c_field(STOPPED)} >> column & 1"
    return f"{INLINE} bool has_stopped(const Total& row, int column) {{ return {answer}; }}"


def part_of(name: str, kind: str, bound: BoundProgram) -> str:
    """The C++ function that makes a column's structure of a row's, whose fields are shared or one for each column."""
    row, own = types_of(bound)[kind], types_of(bound.columns[0])[kind]
    if own is None or row is None:
        return f"{INLINE} Column{kind} {name}(const {kind}&, int) {{ return {{}}; }}"
    parts = [
        f"own.{c_field(field)} = row.{c_field(f'{SHARED}_{field}')};"
        if f"{SHARED}_{field}" in (row.names or ())
        else f"own.{c_field(field)} = (&row.{c_field(f'c0_{field}')})[column];"  # those of all columns adjoin
        for field in own.names or ()
    ]
    return (
        f"{INLINE} Column{kind} {name}(const {kind}& row, int column) "
        f"{{ Column{kind} own; {' '.join(parts)} return own; }}"
    )


def column_counts(bound: BoundProgram) -> list[str]:
    """C++: what a column has of a partial total, and functions that read it from a row and write it there.

    All numbers of partial totals have 64 bits; a column's own adjoin, and so do the counts of all columns.
    """
    total, count = bound.columns[0].total, len(bound.columns)
    own = [] if total is None else [f".{c_field(name)}" for name in total.names] if total.names else [""]
    width = len(own)
    places = [(f"part{name}", f"{width} * column + {k}") for k, name in enumerate(own)]
    places += [("active", f"{width * count} + column")] * (bound.total is not None)
    reads = [f"x.{field} = as<decltype(x.{field})>(load((const u64*)&row + {at}));" for field, at in places]
    writes = [f"((u64*)&row)[{at}] = as<u64>(x.{field});" for field, at in places]
    if bound.total is not None:
        writes.append(f"if (column == 0) row.{c_field(STOPPED)} = 0;")
    return [
        "struct ColumnCount { ColumnPartial part; i64 active; };  // active: how many vertices are, in the column",
        "template <class Load>",
        f"{INLINE} ColumnCount read_column(const Partial& row, int column, Load load) "
        f"{{ ColumnCount x{{}}; {' '.join(reads)} return x; }}",
        f"{INLINE} void write_column(Partial& row, int column, const ColumnCount& x) {{ {' '.join(writes)} }}",
    ]
