"""The edge lists that runs have made and that the graph keeps for later runs (edge_lists.py)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol


class Closable(Protocol):
    """An object that has to be closed."""

    nbytes: int

    def close(self) -> None: ...


class KeptLists:
    """Keeps the last addresses of mapped lists, and the last lists in unified memory. Closing needs the context."""

    def __init__(self) -> None:
        self._mapped: dict[Hashable, Any] = {}
        self._managed: tuple[Hashable, Sequence[Closable]] | None = None

    def mapped(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The result of ``make()`` for this key, which is called once."""
        if key not in self._mapped:
            self._mapped[key] = make()
        return self._mapped[key]

    def managed(self, key: Hashable, make: Callable[[], Sequence[Closable]]) -> Any:
        """The result of ``make()``, in unified memory, for this key; the result for another key is freed first."""
        if self._managed is None or self._managed[0] != key:
            self.free_managed()
            self._managed = key, make()
        return self._managed[1]

    @property
    def nbytes(self) -> int:
        """Bytes of the lists in unified memory, any of which may be in the device's memory now."""
        return 0 if self._managed is None else sum(array.nbytes for array in self._managed[1])

    def free_managed(self) -> None:
        """Free the lists in unified memory."""
        arrays = () if self._managed is None else self._managed[1]
        self._managed = None
        for array in arrays:
            array.close()

    def close(self) -> None:
        """Forget everything; the caller that pinned the mapped lists unpins them."""
        self._mapped.clear()
        self.free_managed()
