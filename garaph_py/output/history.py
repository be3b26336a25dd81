"""`History`: the records of a run's iterations; those of supersteps done at once are made when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ..events import Iteration

Array = npt.NDArray[Any]


@dataclass
class Unmade:
    """Iterations that have no records yet: making thousands of them takes longer than some devices iterate.

    Attributes
    ----------
    count : int
        How many there are.
    column : callable
        ``column(name)`` is the field ``"active"`` or ``"f"`` of all records, as an array.
    make : callable
        ``make()`` returns the list of records.
    """

    count: int
    column: Callable[[str], Array]
    make: Callable[[], list[Iteration]]

    def __len__(self) -> int:
        return self.count


class History:
    """The iterations of a run, in order.

    Parameters
    ----------
    records : iterable of Iteration
        Those that there are at first.
    """

    def __init__(self, records: Iterable[Iteration] = ()) -> None:
        self._parts: list[list[Iteration] | Unmade] = [list(records)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self.records() == other.records()

    def __repr__(self) -> str:
        return repr(self.records())

    def add(self, done: Iteration | Unmade) -> None:
        """Add what was done last."""
        if isinstance(done, Unmade):
            self._parts.append(done)
        elif isinstance(last := self._parts[-1], list):
            last.append(done)
        else:
            self._parts.append([done])

    def keep(self, count: int) -> None:
        """Forget all iterations but the first `count`."""
        del self.records()[count:]

    def records(self) -> list[Iteration]:
        """The records of all iterations: the same list in every call, unless two threads ask first at once."""
        if len(self._parts) > 1:
            made = [part.make() if isinstance(part, Unmade) else part for part in self._parts]
            self._parts = [list(chain.from_iterable(made))]
        (records,) = self._parts
        assert isinstance(records, list)
        return records

    def column(self, name: str) -> Array:
        """The field ``"active"`` or ``"f"`` of all iterations, in order."""
        return np.concatenate([
            part.column(name) if isinstance(part, Unmade) else [getattr(record, name) for record in part]
            for part in self._parts
        ])  # fmt: skip
