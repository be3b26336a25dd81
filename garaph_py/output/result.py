"""The result of a run: values by the user's ids."""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError, printable
from ..graph import VertexIds
from ..program.elsewhere import Elsewhere
from ..system.arguments import is_count
from ..system.files import write_whole
from .files import check_suffix, write_csv, write_parquet
from .lookup import Lookup
from .stats import Stats, import_pandas

Array = npt.NDArray[Any]

SHOWN = 10
"""Vertices that a notebook shows of a result."""
LEFT = "_left"
"""The name of the attribute in which a result has values that only a device has."""
SHOWN_CHARACTERS = 60
"""Characters of an id or a value that a notebook shows."""


class Checkpoints(Protocol):
    """The checkpoints of a run that has finished."""

    def remove(self) -> None:
        """Remove them: the answer is safe."""

    def keep(self, error: BaseException | None = None) -> None:
        """Leave them, so that another run can resume from them; `error` says so, too."""


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of a run: a value for each vertex.

    You read a result like a dictionary from the user's ids to values: ``result["libc6"]``, ``"libc6" in result``,
    ``len(result)``, ``for vertex in result``, `keys`, `items`, `get`, ``dict(result)``. Unlike a dictionary's, `values`
    is an attribute: the array of all values, as in pandas. ``result[vertex]`` is a number, a vertex's id, None for no
    vertex, or, if the program reports named fields, a dictionary of these. Tables and files made from a result have the
    columns ``id`` and ``value``, or a column for each named field.

    Other libraries accept a result as a table of Arrow: ``pyarrow.table(result)``, ``polars.DataFrame(result)``,
    ``duckdb.sql("FROM result")``.

    If the run kept checkpoints, `close` removes them once the answer is safe. A ``with`` block does that at its end,
    unless an exception has ended it::

        with gp.run(program, graph, checkpoint="checkpoints") as result:
            result.to_parquet("ranks.parquet")

    If the run was told not to fetch its answer (``gp.Options(fetch=False)``), `values`, and all that is made of them,
    are copied from the GPU when they are first read.

    Attributes
    ----------
    values : ndarray, shape (n,)
        The reported values, in the order of `ids`; a structured array if the program reports named fields. Fields that
        are vertices hold internal ids, which `column` translates.
    vertex_ids : VertexIds
        Translates internal ids to the user's ids.
    stats : Stats
    program : str
        The program's name.
    vertex_fields : tuple of str
        Names of the reported fields (or ``"value"``) that are vertices.
    unreached : number or None
        The value (of the first field) of vertices that the program has not reached, if it has such a value.
    checkpoints : Checkpoints or None
        The run's checkpoints; None if it kept none. A pickled result has none.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"], weights=[1, 5, 2])
    >>> result = gp.run(gp.apps.SSSP(source="a"), graph)
    >>> result["c"]
    3
    >>> "d" in result
    False
    >>> dict(result)
    {'a': 0, 'b': 1, 'c': 3}
    >>> result.values
    array([0, 1, 3])
    >>> result.top(2, smallest=True)
    [('a', 0), ('b', 1)]
    """

    values: Array
    vertex_ids: VertexIds
    stats: Stats
    program: str
    vertex_fields: tuple[str, ...] = ()
    unreached: Any = None
    checkpoints: Checkpoints | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.values, Elsewhere):
            self.__dict__[LEFT] = self.__dict__.pop("values")  # now `Fetched` is asked for them

    def close(self) -> None:
        """Remove the run's checkpoints, if it kept any: the answer is safe. The result stays usable."""
        if self.checkpoints is not None:
            self.checkpoints.remove()

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        elif self.checkpoints is not None:
            self.checkpoints.keep(error)

    def __getstate__(self) -> dict[str, Any]:
        return {name: part for name, part in self.__dict__.items() if name != LEFT} | {
            "values": self.values, "checkpoints": None,
        }  # fmt: skip

    @cached_property
    def ids(self) -> Array:
        """The user's ids, shape (n,)."""
        self._lookup.listed = found = self.vertex_ids.array()
        return found

    @cached_property
    def _lookup(self) -> Lookup:
        return Lookup(self.vertex_ids)

    def numbers_of(self, ids: VertexIds) -> Array | Elsewhere | None:
        """The values as a program's parameter for each vertex, wherever they are (`program.elsewhere.HasNumbers`)."""
        values: Array | Elsewhere = self.__dict__[LEFT if LEFT in self.__dict__ else "values"]
        return values if self.vertex_ids is ids and not (self.vertex_fields or values.dtype.names) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the reported fields; ``("value",)`` if the program reports one number."""
        return self.values.dtype.names or ("value",)

    def column(self, name: str | None = None) -> Array:
        """One reported field, shape (n,). Vertices are given by the user's ids, or None for no vertex.

        Parameters
        ----------
        name : str, optional
            The field's name; by default the first field.
        """
        raw = self._raw(name)
        if (name or self.names[0]) not in self.vertex_fields:
            return raw
        present = raw >= 0
        if present.all():
            return self.vertex_ids.take(raw)
        out = np.full(len(raw), None, object)
        out[present] = self.vertex_ids.take(raw[present])
        return out

    def _raw(self, name: str | None) -> Array:
        """One reported field, by default the first. Vertices are given by internal ids, -1 for no vertex."""
        chosen = self.names[0] if name is None else name
        if chosen not in self.names:
            raise ParameterError(f"{self.program} reports {', '.join(self.names)}, not {name!r}")
        return self.values[chosen] if self.values.dtype.names else self.values

    def __getitem__(self, vertex: Any) -> Any:
        """The value of one vertex.

        Raises
        ------
        UnknownVertexError
            If the graph has no such vertex. This error is a KeyError too.
        """
        place = self._lookup.find(vertex)
        return self._value(self.vertex_ids.index(vertex) if place is None else place)  # `index` raises the error

    def get(self, vertex: Any, default: Any = None) -> Any:
        """The value of one vertex, or `default` if the graph has no such vertex."""
        place = self._lookup.find(vertex)
        return default if place is None else self._value(place)

    def _value(self, place: int) -> Any:
        """What ``result[vertex]`` is for the vertex with this internal id."""
        if self.values.dtype.names is None:
            return self._part("value", place)
        return {name: self._part(name, place) for name in self.names}

    def _part(self, name: str, place: int) -> Any:
        """One field of one vertex."""
        part = _plain(self._raw(name)[place])
        if name not in self.vertex_fields:
            return part
        return None if part < 0 else _plain(self.vertex_ids.take(np.array([part]))[0])

    def __contains__(self, vertex: Any) -> bool:
        return vertex in self.vertex_ids

    def __len__(self) -> int:
        return len(self.vertex_ids)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype, copy=copy)

    def keys(self) -> KeysView[Any]:
        """The user's ids."""
        return KeysView(self)

    def items(self) -> ItemsView[Any, Any]:
        """Pairs of an id and ``result[id]``."""
        return self.to_dict().items()

    def to_dict(self, name: str | None = None) -> dict[Any, Any]:
        """A dictionary of ``result[id]`` by id.

        Parameters
        ----------
        name : str, optional
            The name of a reported field: the dictionary then has this field alone.

        Examples
        --------
        >>> result = gp.run(gp.apps.BFS(source=0), gp.from_edges([0, 1], [1, 2]))
        >>> result.to_dict("level")
        {0: 0, 1: 1, 2: 2}
        >>> result.to_dict()[2]
        {'level': 2, 'parent': 1}
        """
        names = self.names if name is None else (name,)
        columns = [self.column(each).tolist() for each in names]
        if name is None and self.values.dtype.names:
            values = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        else:
            (values,) = columns
        return dict(zip(self, values, strict=True))

    def top(self, k: int = 10, name: str | None = None, *, smallest: bool = False) -> list[tuple[Any, Any]]:
        """The `k` vertices with the largest or smallest values; equal values are in the order of `ids`.

        Parameters
        ----------
        k : int
            How many vertices. There may be fewer: values that are NaN are left out.
        name : str, optional
            The name of a reported field, by default the first.
        smallest : bool
            False: the largest values first. Unreached vertices come last, even if their value (`unreached`) is a large
            number, such as an infinite distance. True: the smallest values first, for example the nearest vertices.
            Unreached vertices are left out.

        Returns
        -------
        list of (id, value)
        """
        shown = self.names[0] if name is None else name
        order = self._order(k, shown, smallest)
        return [(_plain(v), self._part(shown, i)) for v, i in zip(self.vertex_ids.take(order), order, strict=True)]

    def _order(self, k: int, name: str, smallest: bool) -> Array:
        """The internal ids of the vertices that `top` gives."""
        if not is_count(k):
            raise ParameterError(f"top({k!r}): give a number of vertices, 0 or more")
        values = self._raw(name)
        unreached = np.zeros(len(values), np.bool_)
        if self.unreached is not None:
            unreached |= self._raw(None) == self.unreached
        if name in self.vertex_fields:
            unreached |= values < 0
        order = extreme(values, np.flatnonzero((values == values) & ~unreached), int(k), smallest)
        return order if smallest else np.append(order, np.flatnonzero(unreached)[: int(k) - len(order)])

    def to_pandas(self, name: str | None = None) -> Any:
        """A DataFrame with the ids as its index and a column for each reported field.

        Parameters
        ----------
        name : str, optional
            The name of the frame's only column: a reported field, or any name if the program reports one number, which
            is called ``"value"`` by default.

        Examples
        --------
        >>> graph = gp.from_edges(["a", "b"], ["b", "a"])
        >>> gp.run(gp.apps.PageRank(), graph).to_pandas(name="rank")
            rank
        id
        a    0.5
        b    0.5
        """
        pandas = import_pandas()
        index = pandas.Index(self.ids, name="id")
        if name is not None and self.values.dtype.names is None:
            columns = {name: self.column()}
        else:
            columns = {each: self.column(each) for each in (self.names if name is None else (name,))}
        return pandas.DataFrame(columns, index=index)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Ids and reported fields as a stream of Arrow, by the Arrow PyCapsule interface."""
        return self._table().__arrow_c_stream__(requested_schema)

    def _table(self) -> Any:
        """Ids and reported fields as a table of Arrow."""
        import pyarrow as pa

        ids = getattr(self.vertex_ids, "arrow", None)
        ids = pa.array(self.ids) if ids is None else ids

        def column(name: str) -> Any:
            raw = self._raw(name)
            return ids.take(pa.array(raw, mask=raw < 0)) if name in self.vertex_fields else pa.array(raw)

        return pa.table({"id": ids} | {name: column(name) for name in self.names})

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write ids and values as Parquet. Metadata of the table states the value of unreached vertices.

        Raises
        ------
        ParameterError
            If the path has the suffix of another format, or the file cannot be written.
        """
        check_suffix(path, "to_parquet")
        write_parquet(path, self._table(), self.unreached)

    def to_csv(self, path: str | os.PathLike[str], *, raw: bool = False) -> None:
        """Write ids and values as CSV with a header.

        Parameters
        ----------
        path : path-like
        raw : bool
            False: a name with which a spreadsheet would begin a formula, such as ``=1+1``, ``-x`` or ``@x``, gets a
            single quote before it. So does such a name with quotes before it: taking one quote away restores each.
            True: names are written as they are. Numbers always are.

        Raises
        ------
        ParameterError
            If the path has the suffix of another format, or the file cannot be written.
        """
        check_suffix(path, "to_csv")
        write_csv(path, self._table(), raw)

    def to_npy(self, path: str | os.PathLike[str]) -> None:
        """Write `values`, in the order of `ids`, as a NumPy file.

        Raises
        ------
        ParameterError
            If the path has the suffix of another format, or the file cannot be written.
        """
        check_suffix(path, "to_npy")
        write_whole(path, lambda file: np.save(file, self.values, allow_pickle=False))

    def _state(self) -> str:
        count = len(self.stats.history)
        how = "converged" if self.stats.converged else "stopped"
        return f"{len(self):,} values, {how} after {count} iteration{'s' * (count != 1)}"

    def __repr__(self) -> str:
        return f"<Result of {self.program}: {self._state()}>"

    def _repr_html_(self) -> str:
        """The largest values and the state of the run, for notebooks."""

        def row(tag: str, cells: Any) -> str:
            texts = (printable(str(cell)) for cell in cells)
            short = (text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…" for text in texts)
            return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in short) + "</tr>"

        order = self._order(SHOWN, self.names[0], smallest=False)
        rows = [
            row("td", [vertex, *(self._part(name, place) for name in self.names)])
            for vertex, place in zip(self.vertex_ids.take(order), order, strict=True)
        ]
        rest = "" if len(rows) == len(self) else f"; {len(rows)} with the largest {escape(self.names[0])}"
        seconds = f"in {self.stats.seconds:.3g} s on {self.stats.device}"
        return (
            f"<p><b>{escape(self.program)}</b>: {self._state()} {escape(seconds)}{rest}</p><table><thead>"
            f"{row('th', ['id', *self.names])}</thead><tbody>{''.join(rows)}</tbody></table>"
        )


class Fetched:
    """The attribute `values` of a result whose values only a device has: they are copied when they are first read."""

    def __get__(self, result: Result | None, owner: type) -> Any:
        if result is None:
            return self
        values = result.__dict__["values"] = result.__dict__[LEFT].fetch()
        return values


Result.values = Fetched()  # type: ignore[assignment]  # it would be the field's default if the class defined it


def extreme(values: Array, among: Array, k: int, smallest: bool) -> Array:
    """The indices of the `k` largest or smallest values in ``values[among]``, in this order.

    `among` ascends, and equal values keep its order.
    """
    k = min(k, len(among))
    if k == 0:
        return among[:0]
    kept = values[among]
    rank = k - 1 if smallest else len(kept) - k
    threshold = np.partition(kept, rank)[rank]
    beyond = among[kept < threshold if smallest else kept > threshold]
    level = among[kept == threshold][: k - len(beyond)]
    step = 1 if smallest else -1  # reversed before and after a stable sort, so that equal values keep their order
    beyond = beyond[::step]
    return np.concatenate([beyond[np.argsort(values[beyond], kind="stable")][::step], level])


def _plain(value: Any) -> Any:
    """A NumPy number as a Python number."""
    return value.item() if isinstance(value, np.generic) else value
