"""Tables of an experiment as Parquet: a row a measurement, and a row an iteration."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..system.files import write_whole
from .kinds import Combination, Row
from .spec import COUNTED, ITERATIONS, RESULTS, Spec


class Tables:
    """What has been measured so far.

    Attributes
    ----------
    rows : dict
        For each table its rows.
    """

    def __init__(self, spec: Spec, folder: Path) -> None:
        self._columns, self._folder = spec.columns, folder
        self.rows: dict[str, list[Row]] = {RESULTS: [], ITERATIONS: []}

    @property
    def done(self) -> set[tuple[int, int]]:
        """Numbers of combination and repeat of what has been measured."""
        return {(row["combination"], row["repeat"]) for row in self.rows[RESULTS]}

    def add(self, combination: Combination, repeat: int, row: Row, iterations: list[Row]) -> None:
        """A measurement of `combination`."""
        numbers = len(self.rows[RESULTS]), combination.number, repeat
        settings = dict(zip(COUNTED, numbers, strict=True)) | combination.settings
        for name, those in ((ITERATIONS, iterations), (RESULTS, [row])):  # an interruption between is seen in load
            self.rows[name] += [converted(settings | one, self._columns[name]) for one in those]

    def load(self) -> None:
        """Take what the files have; of an iteration whose measurement is missing, nothing."""
        import pyarrow.parquet as pq

        for name in self.rows:
            if (path := self._folder / f"{name}.parquet").exists():
                self.rows[name] = pq.read_table(path).to_pylist()
        done = self.done
        self.rows[ITERATIONS] = [row for row in self.rows[ITERATIONS] if (row["combination"], row["repeat"]) in done]

    def save(self) -> None:
        """Replace the files, the iterations first: a measurement that is in the results has all of them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrow = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
        for name in (ITERATIONS, RESULTS):
            schema = pa.schema([(column, arrow[kind]) for column, kind in self._columns[name].items()])
            table = pa.Table.from_pylist(self.rows[name], schema)
            write_whole(self._folder / f"{name}.parquet", partial(pq.write_table, table))


def converted(row: Row, columns: dict[str, type]) -> Row:
    """`row` with all columns, each of its type or None."""
    values = {column: row.get(column) for column in columns}
    return {column: None if value is None else columns[column](value) for column, value in values.items()}
