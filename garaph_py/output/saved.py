"""Reads a file that a result was written to, so that its values can be ranked again.

Parquet and Arrow files also hold which value means an unreached vertex; in the other two formats, that is taken to be
an infinite one. A NumPy file holds no ids, so its vertices are the positions in it.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import FormatError, ParameterError
from ..graph.ids import IntegerIds, StringIds, VertexIds
from ..io.formats.format import check_memory, malformed
from ..io.formats.parquet import plain
from ..system.files import arrow_file, no_such_file
from .files import FORMULA, UNREACHED
from .history import History
from .result import Result
from .stats import Stats

if TYPE_CHECKING:
    import pyarrow as pa

Array = npt.NDArray[Any]

WHICH = "name a file that `garaph run --output` or a method of Result has written"
DAMAGED = f"not readable as the values of a result; {WHICH}"


def read_result(path: str | os.PathLike[str]) -> Result:
    """The result in a file that a method of `Result` or `ResultTable` has written: its first column and the ids.

    Raises
    ------
    FormatError
        If there is no such file, it is damaged, or it holds something else.
    ParameterError
        If its suffix is none of `READERS`.
    """
    path = Path(path)
    if path.suffix not in READERS:
        raise ParameterError(f"{path}: the name must end in {', '.join(READERS)}; {WHICH}")
    if not os.path.isfile(path):
        raise FormatError(path, no_such_file(path, WHICH, *READERS))
    with malformed(path, DAMAGED):
        return READERS[path.suffix](path)


def from_parquet(path: Path) -> Result:
    """The result in a Parquet file."""
    from pyarrow import parquet

    with arrow_file(path) as source, parquet.ParquetFile(source) as file:
        chosen = columns_of(path, file.schema_arrow.names)
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        check_memory(path, sum(group.total_byte_size for group in groups), "its columns")
        table = file.read(chosen)
    return from_table(path, table, unreached_in(table))


def from_arrow(path: Path) -> Result:
    """The result in an Arrow file, which is read where it is needed."""
    import pyarrow as pa

    with pa.memory_map(os.fsencode(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    return from_table(path, table.select(columns_of(path, table.column_names)), unreached_in(table))


def unreached_in(table: pa.Table) -> float | None:
    """The value of unreached vertices that a table's metadata state, if they do."""
    unreached = (table.schema.metadata or {}).get(UNREACHED)
    return None if unreached is None else float(unreached)


def from_csv(path: Path) -> Result:
    """The result in a CSV file. All ids are text, because quotes, which tell text from numbers, are lost in reading."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    check_memory(path, path.stat().st_size, "its columns")
    convert = csv.ConvertOptions(column_types={"id": pa.large_string()}, null_values=[])
    with arrow_file(path) as file:
        table = csv.read_csv(file, convert_options=convert)
    chosen = columns_of(path, table.column_names)
    ids = pc.replace_substring_regex(table["id"], "^'" + FORMULA.removeprefix("^"), r"\1")
    values = table[chosen[1]] if len(table) else pa.array([], pa.float64())  # the type is inferred from rows
    return from_table(path, pa.table([ids, values], chosen), math.inf)


def columns_of(path: Path, names: list[str]) -> list[str]:
    """The names of the columns of ids and values."""
    others = [name for name in names if name != "id"]
    if "id" not in names or not others:
        raise FormatError(path, f"its columns are {', '.join(names[:9])}, not id and values; {WHICH}")
    return ["id", others[0]]


def from_table(path: Path, table: pa.Table, unreached: float | None) -> Result:
    """The result with this column of ids and this one of values."""
    table.validate(full=True)
    ids, values = (plain(path, name, table[name].combine_chunks()) for name in table.column_names)
    name = table.column_names[1]
    if not isinstance(values, np.ndarray):
        raise FormatError(path, f"its column {name!r} holds text, which has no largest value; name a file with numbers")
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "f":
        raise FormatError(path, f"its ids are fractions; {WHICH}")
    named = values.view([(name, values.dtype)])
    if isinstance(ids, np.ndarray):
        return result_of(IntegerIds(ids), named, unreached)
    return result_of(StringIds(ids.cast("large_string").combine_chunks()), named, unreached)


def from_npy(path: Path) -> Result:
    """The result in a NumPy file, which is read where it is needed."""
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    kind = values.dtype[0] if values.dtype.names else values.dtype
    if values.ndim != 1 or kind.kind not in "iuf":
        raise FormatError(path, f"an array of shape {values.shape} of {values.dtype}, not of numbers; {WHICH}")
    return result_of(VertexIds(len(values)), values, math.inf)


def result_of(ids: VertexIds, values: Array, unreached: float | None) -> Result:
    """A result of which only ids and values are known."""
    return Result(values, ids, Stats(History(), False, 0.0, 0), "a saved result", (), unreached)


READERS = {".parquet": from_parquet, ".csv": from_csv, ".npy": from_npy, ".arrow": from_arrow}
"""The readers of files, by suffix."""
