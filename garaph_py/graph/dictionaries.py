"""NetworkX's dictionaries of neighbours and of edges' data, read into arrays by compiled code (`objects`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..native import Kernel, call_c, call_c_f64, prefetch
from ..native.threads import even_cuts
from .names import Names, load_name_ahead, vertex_of
from .objects import (
    AHEAD,
    COMPARE,
    DICTIONARY,
    FLOATING,
    GIVEN,
    INTEGER,
    ITEM,
    KEY,
    OTHER,
    REAL,
    TEXT,
    VALUE,
    WHOLE,
    Objects,
    can_read,
    is_a,
    items_of,
    next_item,
    parts_for,
    read_lengths,
    word_at,
)

Array = npt.NDArray[Any]

KEYS_WORD = 8
"""Where, in halves of words, CPython's dictionaries have the address of their keys, to load that ahead, too. A Python
that has it elsewhere only takes longer, because loading ahead never fails."""
NOBODY = 0xFFFFFFFF
"""What a table of vertices has for integers that are no nodes."""
SOME_INTEGERS, SOME_FLOATS, SOME_GIVEN = 1, 2, 4
"""What `read_values` has found, added up."""


def load_ahead(python, memory, dictionaries, k, count):
    """Load the keys of dictionary k + `AHEAD` into the cache, and the dictionary as far again after it."""
    prefetch(memory, dictionaries[min(k + 2 * AHEAD, count - 1)])
    soon = dictionaries[min(k + AHEAD, count - 1)]
    if is_a(python, soon, DICTIONARY):
        prefetch(memory, word_at(soon, KEYS_WORD))


# wide: a compiled function takes its arrays one by one.
def items(python, rows, first, last, scratch, address, memory, bounds, which, found):
    """The `KEY` or the `VALUE` of each item of dictionaries [first, last); those of r begin at ``found[bounds[r]]``.

    Returns whether each has as many items as `bounds` has places for it.
    """
    for r in range(first, last):
        load_ahead(python, memory, rows, r, last)
        if not is_a(python, rows[r], DICTIONARY):
            return False
        e = bounds[r]
        scratch[0] = 0
        while next_item(python, rows[r], address):
            if e == bounds[r + 1]:  # it has grown since it was measured
                return False
            found[e] = scratch[which]
            e += 1
        if e != bounds[r + 1]:
            return False
    return True


# wide: a compiled function takes its arrays one by one.
def read_sizes(python, rows, first, last, scratch, address, memory, bounds, sizes):
    """How many items each dictionary has that is a value of some dictionaries. Returns 0, or `OTHER`."""
    if not items(python, rows, first, last, scratch, address, memory, bounds, VALUE, sizes):
        return OTHER
    return read_lengths(python, sizes, bounds[first], bounds[last], scratch, address, memory, sizes)


# wide: a compiled function takes its arrays one by one.
def find_integers(python, rows, first, last, scratch, address, memory, bounds, keys, table, size, neighbours):
    """The vertices that the keys of some dictionaries are, if all are integers below `size`, by a table from these.

    Returns 0, or `OTHER`.
    """
    if not items(python, rows, first, last, scratch, address, memory, bounds, KEY, keys):
        return OTHER
    end = bounds[last]
    for e in range(bounds[first], end):
        prefetch(memory, keys[min(e + AHEAD, end - 1)])
        if not is_a(python, keys[e], WHOLE):
            return OTHER
        integer = call_c(python[INTEGER], (keys[e], address))
        if not 0 <= integer < size or table[integer] == NOBODY:
            return OTHER
        neighbours[e] = table[integer]
    return 0


# wide: a compiled function takes its arrays one by one.
def find_names(python, rows, first, last, scratch, address, memory, bounds, keys, names, slots, mask, neighbours):
    """The same for keys that are strings, by the hash table of `names`."""
    if not items(python, rows, first, last, scratch, address, memory, bounds, KEY, keys):
        return OTHER
    end = bounds[last]
    for e in range(bounds[first], end):
        load_name_ahead(python, memory, keys, e, end, names, slots, mask)
        if not is_a(python, keys[e], TEXT):
            return OTHER
        vertex = vertex_of(python, keys[e], names, slots, mask)
        if vertex < 0:
            return OTHER
        neighbours[e] = vertex
    return 0


# wide: a compiled function takes its arrays one by one.
def find_in_dictionary(python, rows, first, last, scratch, address, memory, bounds, keys, vertices, neighbours):
    """The same for keys that are strings or integers, by a dictionary. Python counts references in a look-up, so
    only one thread may run this."""
    if not items(python, rows, first, last, scratch, address, memory, bounds, KEY, keys):
        return OTHER
    end = bounds[last]
    for e in range(bounds[first], end):
        prefetch(memory, keys[min(e + AHEAD, end - 1)])
        if not (is_a(python, keys[e], TEXT) or is_a(python, keys[e], WHOLE)):
            return OTHER
        found = call_c(python[ITEM], (vertices, keys[e]))
        if found == 0:
            return OTHER
        neighbours[e] = call_c(python[INTEGER], (found, address))
    return 0


def value_of(python, dictionary, name, scratch, address):
    """The address of what a dictionary has under a string; 0 if it has nothing, `OTHER` if only Python can look.

    Most dictionaries have the very object `name` as their key. Otherwise the kernel compares the strings among the
    keys, and returns `OTHER` if a key is neither exactly a string nor an integer.
    """
    is_empty = True
    scratch[0] = 0
    while next_item(python, dictionary, address):
        if scratch[KEY] == name:
            return scratch[VALUE]
        is_empty = False
    if is_empty:
        return 0
    found = np.int64(0)
    scratch[0] = 0
    while next_item(python, dictionary, address):
        if is_a(python, scratch[KEY], TEXT):
            if call_c(python[COMPARE], (scratch[KEY], name)) & 0xFFFFFFFF == 0:
                found = scratch[VALUE]
        elif not is_a(python, scratch[KEY], WHOLE):
            return OTHER
    return found


# wide: a compiled function takes its arrays one by one.
def read_values(
    python, rows, first, last, scratch, address, memory, bounds, between, ends, several, name, default, wholes, reals
):
    """An attribute of edges, whose dictionaries are values of some dictionaries, or of values of those.

    `several` says which; then `between` receives the addresses of the dictionaries between, and `ends` are the bounds
    of their items. The kernel leaves integers in `wholes`, which is the same memory as `reals`. Once it has found a
    float, it makes all numbers that it reads floats. Returns `SOME_INTEGERS` and `SOME_FLOATS`, and `SOME_GIVEN` if not
    all have the default, added up, or `OTHER`.
    """
    if several:
        if not items(python, rows, first, last, scratch, address, memory, bounds, VALUE, between):
            return OTHER
        first, last, rows, bounds = bounds[first], bounds[last], between, ends
    if not items(python, rows, first, last, scratch, address, memory, bounds, VALUE, wholes):
        return OTHER
    begin, end = bounds[first], bounds[last]
    some_integers = some_floats = some_given = 0
    for e in range(begin, end):
        load_ahead(python, memory, wholes, e, end)
        if not is_a(python, wholes[e], DICTIONARY):
            return OTHER
        value = value_of(python, wholes[e], name, scratch, address)
        if value == OTHER:
            return OTHER
        if value == 0:
            value = default
        else:
            some_given = SOME_GIVEN
        if is_a(python, value, WHOLE):
            whole = call_c(python[INTEGER], (value, address))
            if scratch[0] & 0xFFFFFFFF:  # more than 64 bits
                return OTHER
            some_integers = SOME_INTEGERS
            if some_floats:
                reals[e] = whole
            else:
                wholes[e] = whole
        elif is_a(python, value, FLOATING):
            if not some_floats:
                for k in range(begin, e):
                    reals[k] = wholes[k]
                some_floats = SOME_FLOATS
            reals[e] = call_c_f64(python[REAL], (value,))
        else:
            return OTHER
    return some_integers + some_floats + some_given


SIZES = Kernel(f"{GIVEN} i64* i64*", read_sizes, holds_gil=True)
FIND_INTEGERS = Kernel(f"{GIVEN} i64* i64* u32* i64 u32*", find_integers, holds_gil=True)
FIND_NAMES = Kernel(f"{GIVEN} i64* i64* i64* i64* i64 u32*", find_names, holds_gil=True)
FIND_IN_DICTIONARY = Kernel(f"{GIVEN} i64* i64* i64 u32*", find_in_dictionary, holds_gil=True)
VALUES = Kernel(f"{GIVEN} i64* i64* i64* i64 i64 i64 i64* f64*", read_values, holds_gil=True)


class Numbers(NamedTuple):
    """An attribute of edges.

    Attributes
    ----------
    values : ndarray of int64 or float64
    are_mixed : bool
        Whether some of the floats were integers.
    are_given : bool
        Whether any edge has the attribute.
    """

    values: Array
    are_mixed: bool
    are_given: bool


class Reader:
    """The adjacency of each node of a NetworkX graph, as dictionaries.

    Parameters
    ----------
    rows : Objects
        Dictionaries. The keys are neighbours, the values are dictionaries of the data of an edge, or of several edges.
    bounds : ndarray of int64, shape (n + 1,)
        Where the items of each row begin among all items; the last bound is the number of items.
    """

    def __init__(self, rows: Objects, bounds: Array) -> None:
        self.rows, self.bounds, self.m = rows, bounds, int(bounds[-1])

    def _cuts(self, shared: bool = True) -> Array:
        """The bounds of parts of the rows with about equally many items; of one part if threads may not share them."""
        return even_cuts(self.bounds, parts_for(self.m) if shared else 1)

    def _run(self, kernel: Kernel, cuts: Array, *more: Any) -> list[int] | None:
        """What a kernel returns for each part of the rows and more arguments; None if only Python can read them."""
        if not can_read():
            return None
        found = self.rows.launched(kernel, cuts, self.bounds, *more)
        return None if OTHER in found else found

    def _neighbours(self, kernel: Kernel, cuts: Array, *more: Any) -> Array | None:
        """The vertices that the keys are; None if only Python can tell."""
        keys, found = np.empty(self.m, np.int64), np.empty(self.m, np.uint32)
        return None if self._run(kernel, cuts, keys, *more, found) is None else found

    def integers(self, table: Array) -> Array | None:
        """The vertices that the keys are, if all are integers, of which `table` has the vertices; else None."""
        return self._neighbours(FIND_INTEGERS, self._cuts(), table, len(table))

    def names(self, names: Names) -> Array | None:
        """The vertices that the keys are, if all are strings among `names`; else None."""
        return self._neighbours(FIND_NAMES, self._cuts(), items_of(names.names), names.slots, len(names.slots) - 1)

    def either(self, vertices: dict[Any, int]) -> Array | None:
        """The vertices that the keys are, if all are strings or integers that are keys of `vertices`; else None.

        No key of `vertices` may have code of its own.
        """
        return self._neighbours(FIND_IN_DICTIONARY, self._cuts(shared=False), id(vertices))

    def sizes(self) -> Array | None:
        """How many edges there are to each neighbour; None if only Python can tell."""
        found = np.empty(self.m, np.int64)
        return None if self._run(SIZES, self._cuts(), found) is None else found

    def numbers(self, ends: Array | None, attribute: Any, default: Any) -> Numbers | None:
        """An attribute of all edges; None if only Python can read it.

        If there may be several edges to a neighbour, `ends` say where those to each begin: the sums of `sizes`.
        """
        if type(attribute) is not str:
            return None
        edges = self.bounds if ends is None else ends[self.bounds]
        between, wholes = np.empty(0 if ends is None else self.m, np.int64), np.empty(edges[-1], np.int64)
        reals, cuts = wholes.view(np.float64), self._cuts()
        several = ends is not None
        read = self._run(VALUES, cuts, between, ends, several, id(attribute), id(default), wholes, reals)
        if read is None:
            return None
        found = int(np.bitwise_or.reduce(read))
        if found & SOME_FLOATS:
            for part, (begin, end) in zip(read, pairwise(edges[cuts].tolist()), strict=True):
                if not part & SOME_FLOATS:
                    reals[begin:end] = wholes[begin:end].astype(np.float64)
        is_mixed = found & SOME_INTEGERS and found & SOME_FLOATS
        return Numbers(reals if found & SOME_FLOATS else wholes, bool(is_mixed), bool(found & SOME_GIVEN))
