"""Which columns of a table hold sources, targets and edge values: those that the user names, else by their usual names.

A column is not chosen by its place, because a third column of numbers may as well be a time or a row number. But if a
table has just two columns, the first holds sources and the second targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...errors import FormatError, ParameterError, printable

ENDPOINT_NAMES = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("source", "destination"),
    ("fromnodeid", "tonodeid"),
)
"""Usual names of sources and targets, in lower case. NetworkX, Gephi and D3 use the first pair, GraphFrames and cuGraph
the second, igraph the third, NetworkX's documentation the fourth, cuGraph also the fifth, and SNAP the last."""
WEIGHT_NAMES = ("weight", "weights", "wgt", "w", "value")
"""Usual names of edge values, in lower case. NetworkX, Gephi and igraph use the first, cuGraph the second and third, D3
the last."""
UNUSUAL = "no column has a usual name of edge values"
"""What is wrong with a table whose numeric columns may or may not hold edge values."""
LISTED = 20
"""Most columns of a table that a message lists."""


@dataclass(frozen=True)
class ColumnNames:
    """The names that the user gives for columns; None for those that usual names decide.

    Raises
    ------
    ParameterError
        If a name is no string, or two names are equal.
    """

    source: str | None = None
    target: str | None = None
    weight: str | None = None

    def __post_init__(self) -> None:
        given = [(role, name) for role, name in vars(self).items() if name is not None]
        for number, (role, name) in enumerate(given):
            if not isinstance(name, str):
                raise ParameterError(f"{role}_column={name!r:.40} is no string; give the name of a column")
            for other, before in given[:number]:
                if name == before:
                    raise ParameterError(f"{other}_column and {role}_column are both {name!r}; name two columns")

    def __bool__(self) -> bool:
        return self != USUAL


USUAL = ColumnNames()
"""No names: the usual ones decide."""


class EdgeColumns(NamedTuple):
    """The positions of the columns of sources, targets and, if they are there and wanted, edge values."""

    source: int
    target: int
    weight: int | None

    @property
    def all(self) -> list[int]:
        return [column for column in self if column is not None]


def has_endpoints(names: Sequence[str]) -> bool:
    """Whether `names` have a pair of `ENDPOINT_NAMES`, other than u and v, which are as likely two vertices."""
    lower = {name.strip().lower() for name in names}
    return any(lower.issuperset(pair) for pair in ENDPOINT_NAMES if pair != ("u", "v"))


def refusal(problem: str, names: Sequence[object], remedy: str) -> str:
    """The message that refuses a table with columns of these `names`."""
    listed = ", ".join(repr(printable(str(name))[:40]) for name in names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{problem} (the columns are {listed or 'none'}{more}); {remedy}"


@dataclass(frozen=True)
class Table:
    """What a file says of its columns.

    Attributes
    ----------
    path : Path
    names : sequence of str
    is_numeric : callable
        ``is_numeric(column)`` says whether a column, by its position, holds numbers.
    line : int, optional
        The line of the names, for messages.
    otherwise : str
        What else to do if the names do not tell the columns, for messages.
    """

    path: Path
    names: Sequence[str]
    is_numeric: Callable[[int], bool]
    line: int | None = None
    otherwise: str = ""

    def edge_columns(self, given: ColumnNames, weights: bool | None) -> EdgeColumns:
        """The columns of edges; for `weights` see `ReadOptions`.

        Raises
        ------
        FormatError
            If a column is not there, not numeric although it is to hold edge values, or not unique.
        """
        source, target = self._endpoints(given)
        return EdgeColumns(source, target, None if weights is False else self._weight(given, weights, source, target))

    def _endpoints(self, given: ColumnNames) -> tuple[int, int]:
        named = self._called(given.source), self._called(given.target)
        for usual in ENDPOINT_NAMES:
            source, target = (
                self._usual(name) if place is None else place for name, place in zip(usual, named, strict=True)
            )
            if source is not None and target is not None and source != target:
                return source, target
        if len(self.names) != 2:
            raise self._error(
                "no columns have usual names of sources and targets",
                f"name them: source_column=, target_column= (--source-column, --target-column){self.otherwise}",
            )
        return (0, 1) if named[0] == 0 or named[1] == 1 or named == (None, None) else (1, 0)

    def _weight(self, given: ColumnNames, weights: bool | None, *ends: int) -> int | None:
        ways = "name it: weight_column= (--weight-column), or read without: weights=False (--no-weights)"
        named = self._called(given.weight)
        usual = (self._usual(name) for name in WEIGHT_NAMES)
        found = named if named is not None else next((place for place in usual if place not in (None, *ends)), None)
        if found is None:
            if weights or any(self.is_numeric(place) for place in range(len(self.names)) if place not in ends):
                raise self._error(UNUSUAL, ways)
        elif not self.is_numeric(found):
            raise self._error(f"column {self.names[found]!r} holds no numbers", ways)
        return found

    def _called(self, name: str | None) -> int | None:
        """The column with exactly this name; None if no name is given."""
        if name is None:
            return None
        if name not in self.names:
            raise self._error(f"no column is called {printable(name)!r}", "correct the name")
        return self._only([place for place, found in enumerate(self.names) if found == name])

    def _usual(self, name: str) -> int | None:
        """The column with this name in lower case; None if there is none."""
        places = [place for place, found in enumerate(self.names) if found.strip().lower() == name]
        return self._only(places) if places else None

    def _only(self, places: list[int]) -> int:
        if len(places) > 1:
            raise self._error(f"several columns are called {self.names[places[0]]!r}", "rename all but one")
        return places[0]

    def _error(self, problem: str, remedy: str) -> FormatError:
        return FormatError(self.path, refusal(problem, self.names, remedy), line=self.line)
