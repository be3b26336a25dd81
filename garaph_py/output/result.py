"""The result of a run: values by the user's ids, and statistics of each iteration."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..codec.arrays import RAW
from ..errors import ParameterError
from ..events import COLUMNS, Iteration
from ..graph import VertexIds
from ..system.files import write_whole
from ..system.sizes import show_seconds
from .table import table

Array = npt.NDArray[Any]

FORMULA = r"^('*[=+\-@\x00\t\n\r\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}])"
"""The beginning of text that a spreadsheet may take for a formula, after any single quotes: the characters that OWASP
lists under CSV injection, with the full-width forms of = + - @, and NUL, which its standard ASVS 5.0 adds in 1.2.10."""


@dataclass(frozen=True)
class Stats:
    """Statistics of a run. ``print(stats)`` shows a table of its iterations.

    Attributes
    ----------
    iterations : list of events.Iteration
    converged : bool
        False if the limit on iterations ended the run.
    seconds : float
        Wall time of all iterations, without compiling.
    threads : int
        CPU threads.
    device : str
        The device at the end of the run: ``"cpu"``, or the GPU's name.
    note : str or None
        Why a GPU was not used, was not used to the end, or was used with less than was asked for.
    encoding : {"raw", "packed"}
        How the edges were stored.
    resumed : int
        If the run resumed from a checkpoint: the iterations that were done before it.
    compile_seconds : float
        Wall time that the run spent compiling, before iterations and in them; 0.0 if all code was compiled already.
    """

    iterations: list[Iteration]
    converged: bool
    seconds: float
    threads: int
    device: str = "cpu"
    note: str | None = None
    encoding: str = RAW
    resumed: int = 0
    compile_seconds: float = 0.0

    @property
    def edges(self) -> int:
        """Edges visited in all iterations."""
        return sum(iteration.edges for iteration in self.iterations)

    def columns(self) -> dict[str, list[Any]]:
        """The table of iterations: a list for each column, by name."""
        return {name: [getattr(iteration, name) for iteration in self.iterations] for name in COLUMNS}

    def to_pandas(self) -> Any:
        """The table of iterations as a DataFrame."""
        return _pandas().DataFrame(self.columns())

    def __str__(self) -> str:
        compiled = f"\ncompiling took {show_seconds(self.compile_seconds)} more" if self.compile_seconds else ""
        return table(self.iterations) + compiled


class Checkpoints(Protocol):
    """The checkpoints of a run that has finished."""

    def remove(self) -> None:
        """Remove them: the answer is safe."""

    def keep(self, error: BaseException | None = None) -> None:
        """Leave them, so that another run can resume from them; `error` says so, too."""


@dataclass(frozen=True)
class Result:
    """The answer of a run.

    If the run kept checkpoints, `close` removes them once the answer is safe. A ``with`` block does that at its end,
    unless an exception has ended it::

        with gp.run(program, graph, checkpoint="checkpoints") as result:
            result.to_parquet("ranks.parquet")

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
        The value of vertices that no contribution has reached, for programs that are relaxations: their sum's identity.
    checkpoints : Checkpoints or None
        The run's checkpoints; None if it kept none. A pickled result has none.
    """

    values: Array
    vertex_ids: VertexIds
    stats: Stats
    program: str
    vertex_fields: tuple[str, ...] = ()
    unreached: Any = None
    checkpoints: Checkpoints | None = field(default=None, repr=False, compare=False)

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
        return self.__dict__ | {"checkpoints": None}

    @cached_property
    def ids(self) -> Array:
        """The user's ids, shape (n,)."""
        return self.vertex_ids.array()

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

    def top(self, k: int = 10, name: str | None = None) -> list[tuple[Any, Any]]:
        """The `k` vertices with the largest values, as (id, value) pairs; equal values in the order of `ids`.

        Unreached vertices come last, even if their value is a large number, such as an infinite distance.
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 0:
            raise ParameterError(f"top({k!r}): give a number of vertices, 0 or more")
        values = self._raw(name)
        unreached = np.zeros(len(values), np.bool_) if self.unreached is None else values == self.unreached
        order = largest(values, np.flatnonzero((values == values) & ~unreached), int(k))
        order = np.append(order, np.flatnonzero(unreached)[: int(k) - len(order)])
        if not len(order):
            return []
        shown = self.column(name)
        ids = self.vertex_ids.take(order)
        return [(_plain(vertex), _plain(shown[i])) for vertex, i in zip(ids, order, strict=True)]

    def to_pandas(self) -> Any:
        """A DataFrame with the ids as its index and a column for each reported field."""
        pandas = _pandas()
        index = pandas.Index(self.ids, name="id")
        return pandas.DataFrame({name: self.column(name) for name in self.names}, index=index)

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
        """Write ids and values as Parquet."""
        import pyarrow.parquet as pq

        table = self._table()
        write_whole(path, lambda file: pq.write_table(table, file))

    def to_csv(self, path: str | os.PathLike[str], *, raw: bool = False) -> None:
        """Write ids and values as CSV with a header.

        Parameters
        ----------
        path : path-like
        raw : bool
            False: a name with which a spreadsheet would begin a formula, such as ``=1+1``, ``-x`` or ``@x``, gets a
            single quote before it. So does such a name with quotes before it: taking one quote away restores each.
            True: names are written as they are. Numbers always are.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.csv as csv

        table = self._table()
        for place, column in enumerate(table.schema):
            if not raw and column.type == pa.large_string():
                quoted = pc.replace_substring_regex(table[column.name], FORMULA, r"'\1")
                table = table.set_column(place, column.name, quoted)
        write_whole(path, lambda file: csv.write_csv(table, file))

    def to_npy(self, path: str | os.PathLike[str]) -> None:
        """Write `values`, in the order of `ids`, as a NumPy file."""
        write_whole(path, lambda file: np.save(file, self.values, allow_pickle=False))

    def __repr__(self) -> str:
        state = "converged" if self.stats.converged else "stopped"
        size, count = len(self.values), len(self.stats.iterations)
        return f"<Result of {self.program}: {size:,} values, {state} after {count} iterations>"


def largest(values: Array, among: Array, k: int) -> Array:
    """The indices of the `k` largest values in ``values[among]``; `among` ascends, and equal values keep its order."""
    k = min(k, len(among))
    if k == 0:
        return among[:0]
    kept = values[among]
    threshold = np.partition(kept, len(kept) - k)[len(kept) - k]
    above = among[kept > threshold]
    level = among[kept == threshold][: k - len(above)]
    above = above[::-1]  # reversed before and after a stable sort, so that equal values keep their order
    return np.concatenate([above[np.argsort(values[above], kind="stable")][::-1], level])


def _plain(value: Any) -> Any:
    """A NumPy number as a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ParameterError("to_pandas needs pandas; install it with `pip install pandas`") from None
    return pandas
