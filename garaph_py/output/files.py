"""Writes tables of ids and values to files that spreadsheets, databases and other libraries read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import ParameterError
from ..system.arguments import check_path
from ..system.files import write_whole

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA = r"^('*[=+\-@\x00\t\n\r\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}])"
"""The beginning of text that a spreadsheet may take for a formula, after any single quotes: the characters that OWASP
lists under CSV injection, with the full-width forms of = + - @, and NUL, which its standard ASVS 5.0 adds in 1.2.10."""

UNREACHED = b"garaph unreached"
"""The key of the metadata of a Parquet or Arrow file for the value of vertices that the program has not reached."""
WRITERS = {".parquet": "to_parquet", ".csv": "to_csv", ".npy": "to_npy", ".arrow": "to_ipc"}
"""The methods of `Result` and `ResultTable` that write files, by the suffix of these."""


def check_suffix(path: str | os.PathLike[str], writer: str) -> None:
    """Refuse a path with the suffix of a format that another method than `writer` writes."""
    check_path(path, writer)
    suffix = os.path.splitext(path)[1]
    right = WRITERS.get(suffix.lower(), writer)
    if right != writer:
        raise ParameterError(f"{path}: {writer} writes no {suffix} file; call {right}, or choose another name")


def marked(table: pa.Table, unreached: float | None) -> pa.Table:
    """The table with metadata that state the value of unreached vertices, if there is one."""
    return table if unreached is None else table.replace_schema_metadata({UNREACHED: str(unreached)})


def write_parquet(path: str | os.PathLike[str], table: pa.Table, unreached: float | None) -> None:
    """Write a table as Parquet, `marked`."""
    import pyarrow.parquet as pq

    write_whole(path, lambda file: pq.write_table(marked(table, unreached), file))


def write_csv(path: str | os.PathLike[str], table: pa.Table, raw: bool) -> None:
    """Write a table as CSV with a header. Unless `raw`, text that may be a formula gets a single quote before it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as csv

    def quoted(text: pa.Array) -> pa.Array:
        return pc.replace_substring_regex(text, FORMULA, r"'\1")

    if not raw:
        for place, column in enumerate(table.schema):
            if column.type == pa.large_string():
                table = table.set_column(place, column.name, quoted(table[place]))
        table = table.rename_columns(quoted(pa.array(table.column_names)).to_pylist())
    write_whole(path, lambda file: csv.write_csv(table, file))


def write_ipc(path: str | os.PathLike[str], table: pa.Table, unreached: float | None) -> None:
    """Write a table, `marked`, as a file in Arrow's IPC format, which readers map into memory."""
    import pyarrow as pa

    table = marked(table, unreached)

    def write(file: object) -> None:
        with pa.ipc.new_file(file, table.schema) as sink:
            sink.write_table(table)

    write_whole(path, write)
