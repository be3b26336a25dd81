"""The Parquet tables of an experiment: one has a row for each measurement, the other for each part, as an iteration."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import FormatError
from ..io.formats.format import malformed
from ..system.files import arrow_file, write_whole
from .kinds import Combination, Row
from .spec import COUNTED, MACHINE, RESULTS, Spec


class Tables:
    """The measurements made so far.

    Attributes
    ----------
    rows : dict
        The rows of each table.
    machine : str or None
        The machine that makes the measurements.
    """

    def __init__(self, spec: Spec, folder: Path) -> None:
        self._columns, self._folder, self._parts = spec.columns, folder, spec.kind.parts
        self.rows: dict[str, list[Row]] = {RESULTS: [], self._parts: []}
        self.machine: str | None = None

    @property
    def done(self) -> set[tuple[int, int]]:
        """The measurements made so far, as pairs of a combination's number and a repeat's number."""
        return {(row["combination"], row["repeat"]) for row in self.rows[RESULTS]}

    def made_on(self, machine: str) -> None:
        """Say which machine makes the measurements; those of earlier versions do not have it."""
        self.machine = machine
        for row in itertools.chain(*self.rows.values()):
            row[MACHINE] = machine

    def add(self, combination: Combination, repeat: int, row: Row, parts: list[Row]) -> None:
        """Add the measurement of a combination."""
        numbers = len(self.rows[RESULTS]), combination.number, repeat
        settings = dict(zip(COUNTED, numbers, strict=True)) | {MACHINE: self.machine} | combination.settings
        for name, those in (
            (self._parts, parts),
            (RESULTS, [row]),
        ):  # `load` drops parts without a measurement, left by an interrupt
            self.rows[name] += [converted(settings | one, self._columns[name]) for one in those]

    def load(self) -> None:
        """Read the files; parts whose measurement is missing are dropped.

        Raises
        ------
        FormatError
            If a file is damaged, or is not a table of this experiment.
        """
        import pyarrow as pa

        for name in self.rows:
            if (path := self._folder / f"{name}.parquet").exists():
                with malformed(path, "is not a table of this experiment; measure anew in another folder"):
                    table = pa.Table.from_pylist(read_rows(path), self._schema(name))
                    assert not any(table[column].null_count for column in COUNTED), "rows without a number"
                    self.rows[name] = table.to_pylist()
        done = self.done
        self.rows[self._parts] = [row for row in self.rows[self._parts] if (row["combination"], row["repeat"]) in done]

    def drop_failures(self) -> None:
        """Drop the measurements if all of them failed: nothing has been measured, and none is done."""
        if all(row["error"] is not None for row in self.rows[RESULTS]):
            for rows in self.rows.values():
                rows.clear()

    def save(self) -> None:
        """Replace the files: first the parts, so that they are on disk for every measurement in the results."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for name in (self._parts, RESULTS):
            table = pa.Table.from_pylist(self.rows[name], self._schema(name))
            write = partial(pq.write_table, table, write_page_checksum=True)
            write_whole(self._folder / f"{name}.parquet", write)

    def _schema(self, name: str) -> Any:
        """The Arrow schema of a table."""
        import pyarrow as pa

        arrow = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
        return pa.schema([(column, arrow[kind]) for column, kind in self._columns[name].items()])


def read_rows(path: Path) -> list[Row]:
    """The rows of a table that an experiment has written.

    Raises
    ------
    FormatError
        If the file is missing or damaged.
    """
    import pyarrow.parquet as pq

    if not path.exists():
        raise FormatError(path, "no such file; name the folder that `garaph experiment` has written")
    with malformed(path, "is damaged, or is not Parquet; measure anew in another folder"), arrow_file(path) as file:
        return pq.read_table(file, page_checksum_verification=True).to_pylist()  # type: ignore[no-any-return]


def converted(row: Row, columns: dict[str, type]) -> Row:
    """The row with all columns, each value converted to its column's type; missing values are None."""
    values = {column: row.get(column) for column in columns}
    return {column: None if value is None else columns[column](value) for column, value in values.items()}
