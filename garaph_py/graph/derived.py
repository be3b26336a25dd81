"""Arrays derived from a graph's arrays: made when they are first needed, and kept until they are released."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar, cast

from ..native.threads import ThreadPool

T = TypeVar("T")


class Derived:
    """The derived arrays of one graph: tiles, values of the out-edges and their sums, packed edges, degrees.

    Each has a name. The first thread that asks for an array makes it; other threads that ask for it wait. Arrays may be
    released at any time, even during a run: the run keeps those that it uses, and their memory is freed when it ends.
    The next use makes them again. A copy of a graph begins without derived arrays.

    Attributes
    ----------
    stored : dict of str to callable
        Arrays that need not be made: ``stored[name](pool)`` reads what makes up the array called `name` from disk, or
        returns None if it cannot.
    """

    def __init__(self) -> None:
        self.stored: dict[str, Callable[[ThreadPool], Any]] = {}
        self._made: dict[str, Any] = {}
        self._nbytes: dict[str, int] = {}
        self._lock = RLock()  # making one array may need another one

    def get(self, name: str, make: Callable[[], T], nbytes: Callable[[T], int]) -> T:
        """The array called `name`, made if there is none yet.

        Parameters
        ----------
        name : str
        make : callable
            Makes the array.
        nbytes : callable
            ``nbytes(array)`` is the memory that it takes beside the graph, in bytes.
        """
        found = self._made.get(name)
        if found is None:
            with self._lock:
                found = self._made.get(name)
                if found is None:
                    found = make()
                    self._nbytes[name] = nbytes(found)
                    self._made[name] = found
        return cast(T, found)

    def find(self, name: str) -> Any:
        """The array called `name`; None if it has not been made."""
        return self._made.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._made

    @property
    def names(self) -> list[str]:
        """The names of the arrays that have been made."""
        return list(self._made)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that they take beside the graph's own arrays (`GraphArrays.nbytes`)."""
        return sum(list(self._nbytes.values()))

    def release(self, *names: str) -> None:
        """Release the arrays with these `names`, or all of them; a name without an array is ignored."""
        with self._lock:
            for name in names or self.names:
                self._made.pop(name, None)
                self._nbytes.pop(name, None)

    def __reduce__(self) -> tuple[type[Derived], tuple[()]]:
        return Derived, ()

    def __repr__(self) -> str:
        return f"<Derived: {', '.join(self._made) or 'nothing'}, {self.nbytes:,} bytes>"
