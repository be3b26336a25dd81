"""`ResultTable`: what several programs have reported for the vertices of one graph."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..graph import VertexIds
from .files import check_suffix, write_csv, write_ipc, write_parquet
from .result import Result
from .stats import import_pandas

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ResultTable:
    """The reported values of many runs over one graph: a row for each vertex, a column for each source.

    ``table[source]`` is the `Result` of one source. Any library that reads Arrow accepts the table itself, such as
    ``pyarrow.table(table)`` or ``polars.DataFrame(table)``: ids and sources become columns.

    Attributes
    ----------
    sources : list
        What the columns are called: the sources, or the numbers of the programs.
    vertex_ids : VertexIds
        Translates internal ids to the user's ids.
    results : sequence of callables
        Each makes the result of a column.
    rows : sequence of ndarray
        The values of each block of sources, with a row for each vertex, if every block has numbers of one type.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"], weights=[1, 5, 2])
    >>> table = gp.run_many(gp.apps.SSSP, graph, sources=["a", "b"])
    >>> table["b"]["c"]
    2
    >>> table.values[:, 0]
    array([0, 1, 3])
    """

    sources: list[Any]
    vertex_ids: VertexIds
    results: Sequence[Callable[[], Result]]
    rows: Sequence[Array] = ()

    @property
    def ids(self) -> Array:
        """The user's ids, shape (n,)."""
        return self.vertex_ids.array()

    @property
    def values(self) -> Array:
        """The reported values (the first field, if there are several), shape (n, number of sources)."""
        return self.column()

    def column(self, name: str | None = None) -> Array:
        """One reported field of all sources, by default the first; shape (n, number of sources)."""
        if name is None and self.rows:
            return self.rows[0] if len(self.rows) == 1 else np.concatenate(self.rows, axis=1)
        columns = [part for _, part in self._columns(name)]
        return np.stack(columns, axis=1) if columns else np.empty((len(self.vertex_ids), 0))

    def __getitem__(self, source: Any) -> Result:
        """The result of one source.

        Raises
        ------
        ParameterError
            If the table has no such source.
        """
        if source not in self.sources:
            raise ParameterError(f"the table has no source {source!r}; table.sources lists those that it has")
        return self.results[self.sources.index(source)]()

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sources)

    def items(self) -> Iterator[tuple[Any, Result]]:
        """Pairs of a source and its result."""
        return ((source, make()) for source, make in zip(self.sources, self.results, strict=True))

    def _columns(self, name: str | None) -> Iterator[tuple[Any, Array]]:
        for source, result in self.items():
            yield source, result.column(result.names[0] if name is None else name)

    def to_pandas(self, name: str | None = None) -> Any:
        """A DataFrame with the ids as its index and a column for each source; `name` as in `column`."""
        pandas = import_pandas()
        index = pandas.Index(self.ids, name="id")
        parts = [pandas.Series(part, index) for _, part in self._columns(name)]
        frame = pandas.concat(parts, axis=1) if parts else pandas.DataFrame(index=index)
        frame.columns = pandas.Index(self.sources, name="source")
        return frame

    def to_arrow(self, name: str | None = None) -> Any:
        """A `pyarrow.Table` with the ids as its first column, ``"id"``, and a column for each source, which has the
        source as its name; `name` as in `column`."""
        import pyarrow as pa

        ids = getattr(self.vertex_ids, "arrow", None)
        columns = [pa.array(self.ids) if ids is None else ids]
        names = ["id"]
        for source, part in self._columns(name):
            columns.append(pa.array(part))
            names.append(str(source))
        return pa.table(columns, names=names)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """`to_arrow` as a stream, by the Arrow PyCapsule interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Write `to_arrow` as Parquet. Metadata of the table states the value of unreached vertices.

        Raises
        ------
        ParameterError
            If the path has the suffix of another format, or the file cannot be written.
        """
        check_suffix(path, "to_parquet")
        write_parquet(path, self.to_arrow(name), self._unreached)

    def to_csv(self, path: str | os.PathLike[str], name: str | None = None, *, raw: bool = False) -> None:
        """Write `to_arrow` as CSV with a header; `raw` as in `Result.to_csv`, also for sources in the header.

        Raises
        ------
        ParameterError
            If the path has the suffix of another format, or the file cannot be written.
        """
        check_suffix(path, "to_csv")
        write_csv(path, self.to_arrow(name), raw)

    def to_ipc(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Write `to_arrow` as a file in Arrow's IPC format, which readers map into memory. Metadata as in `to_parquet`.

        Raises
        ------
        ParameterError
            If the path has the suffix of another format, or the file cannot be written.
        """
        check_suffix(path, "to_ipc")
        write_ipc(path, self.to_arrow(name), self._unreached)

    @property
    def _unreached(self) -> float | None:
        return self.results[0]().unreached if self.results else None

    def __repr__(self) -> str:
        return f"<ResultTable: {len(self.vertex_ids):,} vertices, {len(self.sources):,} sources>"
