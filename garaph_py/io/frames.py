"""Graphs from tables of edges in memory: frames of pandas, and any table of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import GraphError, ParameterError
from ..graph import Graph, from_edges
from ..graph.arguments import kind_of
from ..graph.build import BUILDING
from ..system.arguments import explained
from .formats.columns import ENDPOINT_NAMES, UNUSUAL, WEIGHT_NAMES, refusal
from .formats.parquet import is_numeric


@partial(explained, options=("vertices", *BUILDING))
# wide: a public function, whose options are keywords.
def from_pandas(
    frame: Any,
    source: Any = None,
    target: Any = None,
    weight: Any = None,
    *,
    directed: bool = True,
    **options: Any,
) -> Graph:
    """Build a graph from a DataFrame of pandas with a row for each edge.

    Parameters
    ----------
    frame : pandas.DataFrame
    source, target : label, optional
        The columns of the endpoints: all 64-bit integers, or all strings, of any of pandas' types, categories included.
        By default those with usual names, such as source and target, src and dst, from and to, in any case; or the two
        columns of a frame that has no others.
    weight : label or False, optional
        The column of the edge values. By default the one with a usual name, such as weight or value; none if no other
        column holds numbers. False: none.
    directed : bool
        If False, every row stands for both directions.
    **options
        Other options of `from_edges`.

    Raises
    ------
    ParameterError
        If `frame` is no DataFrame, lacks a column, or has further columns of numbers, none of which has a usual name of
        edge values; the message lists the columns.
    GraphError
        If an id is missing or cannot be used, or the values are not numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"who": ["a", "b"], "whom": ["b", "c"], "euros": [3.5, 1.0]})
    >>> gp.from_pandas(frame, source="who", target="whom", weight="euros")
    <Graph: 3 vertices, 2 directed edges, float64 values>
    """
    if type(frame).__module__.partition(".")[0] != "pandas" or not hasattr(frame, "columns"):
        raise ParameterError(
            f"from_pandas takes a pandas.DataFrame, not {kind_of(frame)}; gp.from_arrow takes other tables"
        )
    numeric = [kind.kind in "iuf" for kind in frame.dtypes]
    names = chosen(list(frame.columns), numeric, source, target, weight)
    return graph_of([frame[name] for name in names], names, directed=directed, **options)


@partial(explained, options=("vertices", *BUILDING))
# wide: a public function, whose options are keywords.
def from_arrow(
    table: Any,
    source: str | None = None,
    target: str | None = None,
    weight: str | bool | None = None,
    *,
    directed: bool = True,
    **options: Any,
) -> Graph:
    """Build a graph from a table of Arrow with a row for each edge.

    Parameters
    ----------
    table : object with the Arrow PyCapsule interface
        A table, record batch or stream of batches: of pyarrow, Polars, DuckDB, pandas and others. A stream is read to
        its end.
    source, target, weight, directed, **options
        As for `from_pandas`.

    Raises
    ------
    ParameterError
        If `table` does not have this interface or is no table; or, as `from_pandas`, for its columns.
    GraphError
        If an id or a value is missing or cannot be used.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"source": [1, 2], "target": [2, 3]})
    >>> gp.from_arrow(table, directed=False)
    <Graph: 3 vertices, 2 undirected edges>
    """
    import pyarrow as pa

    if not (hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")):
        raise ParameterError(
            f"from_arrow takes an object with the Arrow PyCapsule interface, such as a table of pyarrow, Polars or "
            f"DuckDB, not {type(table).__qualname__}"
        )
    try:
        found = pa.table(table)
    except (pa.ArrowException, TypeError) as error:  # a stream of a column, for example
        raise ParameterError(f"{type(table).__qualname__} is not a table of columns: {error}") from None
    numeric = [is_numeric(kind) for kind in found.schema.types]
    names = chosen(found.column_names, numeric, source, target, weight)
    return graph_of([found[name] for name in names], names, directed=directed, **options)


def chosen(names: Sequence[Any], numeric: Sequence[bool], source: Any, target: Any, weight: Any) -> list[Any]:
    """The columns of sources, targets and, if there are any, edge values.

    `names` are those of the table's columns; `numeric` says of each column whether it holds numbers.
    """
    if (source is None) != (target is None):
        raise ParameterError(refusal("only one end of the edges is named", names, "give both source and target"))
    usual = {str(name).strip().lower(): name for name in reversed(names)}
    if source is None:
        pair = next((pair for pair in ENDPOINT_NAMES if set(pair) <= set(usual)), None)
        if pair is None and len(names) != 2:
            raise ParameterError(refusal("which columns are the edges?", names, "give source and target"))
        source, target = names if pair is None else (usual[name] for name in pair)
    ends = (source, target)
    if weight is None:
        weight = next((usual[w] for w in WEIGHT_NAMES if w in usual and usual[w] not in ends), None)
    columns = [*ends] + ([] if weight is None or weight is False else [weight])
    for name in columns:
        if name not in names:
            raise ParameterError(refusal(f"there is no column {name!r}", names, "correct the name"))
        if names.count(name) > 1:
            raise ParameterError(refusal(f"several columns are called {name!r}", names, "rename all but one"))
    if weight is None and any(number for name, number in zip(names, numeric, strict=True) if name not in ends):
        raise ParameterError(refusal(UNUSUAL, names, "name it: weight=, or build without: weight=False"))
    return columns


def graph_of(columns: list[Any], names: list[Any], **options: Any) -> Graph:
    """The graph of columns of sources, targets and, if there is a third, edge values."""
    sources, targets, *weights = columns
    values = numbers(names[2], weights[0]) if weights else None
    return from_edges(sources, targets, values, **options)


def numbers(name: Any, column: Any) -> Any:
    """A column of edge values as a NumPy array."""
    import pyarrow as pa

    found = column
    if not isinstance(getattr(column, "dtype", None), np.dtype):  # of Arrow, or of a type of pandas
        found = column if isinstance(column, pa.ChunkedArray) else pa.array(column)
        if found.null_count:
            raise GraphError(f"column {name!r} has missing values; fill them or drop those rows")
        found = found.to_numpy() if isinstance(found, pa.ChunkedArray) else found.to_numpy(zero_copy_only=False)
    found = np.asarray(found)
    if found.dtype.kind not in "biuf":
        kind = getattr(column, "type", found.dtype)
        raise GraphError(
            f"column {name!r} is of type {kind}; edge values are integers or floats: convert it, or leave it out by "
            "weight=False"
        )
    return found
