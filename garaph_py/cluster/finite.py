"""Numbers that are not finite: each part looks at its own values, and the client tells which of them are wrong.

The rule is that of one machine (`runtime.finite`): a field may be NaN, or infinite, if it is so somewhere at the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import NumberError
from ..executor.partials import is_finite
from ..graph import VertexIds
from ..program import BoundProgram
from ..runtime.finite import DEBUG, TESTS, columns, first, meant_everywhere
from ..runtime.options import OFF

Array = npt.NDArray[Any]


class Found(NamedTuple):
    """The numbers of one part that are not finite, as plain data.

    Attributes
    ----------
    start : tuple of (str, str)
        The columns of values that have such numbers at the start, and the kind of each.
    end : tuple of (str, str, int, str)
        The columns that have such numbers at the end and the kind of each; the first vertex with such a number, by its
        index in the undivided graph; and the number as text.
    total : tuple of (str, str)
        The columns of the program's total that are wrong: not finite now, but finite at the start. With each, its
        number as text. All parts have the same total.
    """

    start: tuple[tuple[str, str], ...]
    end: tuple[tuple[str, str, int, str], ...]
    total: tuple[tuple[str, str], ...]


class Watch:
    """Looks at the numbers of one part.

    Parameters
    ----------
    bound : BoundProgram
    values : ndarray
        The initial values of the part's own vertices.
    when : str
        `Options.check`; if it is ``"off"``, nothing is found.
    """

    def __init__(self, bound: BoundProgram, values: Array, when: str) -> None:
        self._is_off, self._always = when == OFF, meant_everywhere(bound)
        self._start = tuple((name, kind) for name, kind, _, _ in self._strange(values))
        self._allowed: set[tuple[str, str]] | None = None  # of the total
        self._wrong: tuple[tuple[str, str], ...] = ()

    def is_wrong(self, total: Array | None) -> bool:
        """Whether the program's `total` has numbers that are not finite, and that it did not have at the start.

        The first total that this gets counts as the start. After a death it is that of a later superstep; but no run
        goes on from a wrong total, so that one is right, too.
        """
        if self._is_off or (self._allowed is not None and is_finite(total)):
            return False
        kinds = {(name, kind): column[0] for name, column in columns("total", total) for kind in kinds_of(column)}
        if self._allowed is None:
            self._allowed = set(kinds)
        wrong = {key: number for key, number in kinds.items() if key not in self._allowed}
        self._wrong = tuple((name, str(number)) for (name, kind), number in wrong.items() if kind not in self._always)
        return bool(self._wrong)

    def found(self, values: Array, numbers: Array) -> Found:
        """The numbers in the `values` of the own vertices that are not finite; vertex k is ``numbers[k]`` of the
        undivided graph."""
        end = tuple((name, kind, int(numbers[at]), number) for name, kind, at, number in self._strange(values))
        return Found(self._start, end, self._wrong)

    def _strange(self, values: Array) -> Iterable[tuple[str, str, int, str]]:
        return () if self._is_off else strange(values)


def strange(values: Array) -> Iterable[tuple[str, str, int, str]]:
    """The columns of `values` with numbers that are not finite: name, kind, index of the first, and that as text."""
    for name, column in columns("value", values):
        for kind in kinds_of(column):
            at = first(column, [TESTS[kind]])
            assert at is not None
            yield name, kind, at, str(column[at])


def kinds_of(column: Array) -> list[str]:
    """The kinds of numbers in a column that are not finite."""
    return [kind for kind, test in TESTS.items() if first(column, [test]) is not None]


def check(bound: BoundProgram, ids: VertexIds, parts: Iterable[Found], supersteps: int) -> None:
    """Refuse the answer of a run if its `parts` have found a wrong number.

    Raises
    ------
    NumberError
        The message names the vertex, or else the total.
    """
    found = list(parts)
    start, always = {key for each in found for key in each.start}, meant_everywhere(bound)
    for each in found:
        for name, kind, vertex, number in each.end:
            if kind not in always and (name, kind) not in start:
                said = f"the {name} of vertex {ids.take(np.array([vertex]))[0]} is {number}"
                raise NumberError(message(bound, said, supersteps))
    for each in found:
        for name, number in each.total:
            raise NumberError(message(bound, f"the {name} is {number}", supersteps))


def message(bound: BoundProgram, said: str, supersteps: int) -> str:
    """The text of an error."""
    return (
        f"{bound.name}: {said} after {supersteps} iterations, but not at the start; if it grows without end, the "
        f"parameters are wrong; on one machine, check='finite' (--check finite) finds the iteration; {DEBUG}"
    )
