"""Reads dictionaries of NetworkX into arrays, by compiled code that calls the C functions of Python's stable interface.

A loop in Python takes a reference to each key and value, waits for memory for each, and makes objects between its
steps. Compiled code loads what it will need soon into the cache, and takes no references. A kernel keeps Python's lock
for as long as it has addresses of objects, and runs no code of a user meanwhile: it gives up at anything but exact
dictionaries, integers, floats and strings, for which `networkx` has a way in Python.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..native import Kernel, call_c, call_c_f64, prefetch, u32_at
from ..native.kernel import address_of

Array = npt.NDArray[Any]

FUNCTIONS = (
    "PyDict_Next", "PyDict_Size", "PyDict_GetItemWithError", "PyLong_AsLongLongAndOverflow", "PyFloat_AsDouble",
)  # fmt: skip
NEXT, SIZE, ITEM, INTEGER, REAL = range(len(FUNCTIONS))
"""Where the address of each function is in the array that kernels get."""
KINDS = dict, int, float, str
DICTIONARY, WHOLE, FLOATING, TEXT = range(len(FUNCTIONS), len(FUNCTIONS) + len(KINDS))
"""Where the addresses of these types are, after those of the functions."""
TYPE_WORD = object.__basicsize__ // 4 - 2
"""Where, in halves of words, objects have the address of their type: it is the last field that all objects have. To
call `PyObject_Type` and `Py_DecRef` instead makes reading 1,819,275 neighbours take 68 ms instead of 43 (Zen 5,
2026-11-28)."""
AHEAD = 8
"""How many objects ahead of the one that is read, another is loaded into the cache. Reading the weights of 909,561
edges took 66 ms with none, 32 with 4, 25 with 8, 33 with 16 (Zen 5, 2026-11-28)."""
KEYS_WORD = 8
"""Where, in halves of words, CPython's dictionaries have the address of their keys, to load that ahead, too. A Python
that has it elsewhere only takes longer, because loading ahead never fails."""
TEXT_BYTES = 48
"""Where, in bytes, CPython 3.11's strings of ASCII have their characters, to load that ahead, too."""
KEY, VALUE = 1, 2
"""Where `PyDict_Next` leaves these in `scratch`, after its own position."""
OTHER = -1
"""What a kernel returns if it finds something that only Python can read."""
NOBODY = 0xFFFFFFFF
"""What a table of vertices has for integers that are no nodes."""
SOME_INTEGERS, SOME_FLOATS, SOME_GIVEN = 1, 2, 4
"""What `read_values` has found, added up."""


def is_a(python, thing, kind):
    """Whether the object at address `thing` has exactly this type."""
    return word_at(thing, TYPE_WORD) == python[kind]


def word_at(address, index):
    """The word that begins at half `index` of the words from `address` on."""
    return np.int64(u32_at(address, index)) | np.int64(u32_at(address, index + 1)) << 32


def load_ahead(python, memory, dictionaries, k, count):
    """Load the keys of dictionary k + `AHEAD` into the cache, and the dictionary as far again after it."""
    prefetch(memory, dictionaries[min(k + 2 * AHEAD, count - 1)])
    soon = dictionaries[min(k + AHEAD, count - 1)]
    if is_a(python, soon, DICTIONARY):
        prefetch(memory, word_at(soon, KEYS_WORD))


# wide: a compiled function takes its arrays one by one.
def items(python, rows, count, scratch, address, memory, which, found, limit):
    """The `KEY` or the `VALUE` of each item of some dictionaries, one after the other; whether there are `limit`."""
    e = 0
    for r in range(count):
        load_ahead(python, memory, rows, r, count)
        if not is_a(python, rows[r], DICTIONARY):
            return False
        scratch[0] = 0
        while call_c(python[NEXT], (rows[r], address, address + 8, address + 16)) & 0xFFFFFFFF:
            if e == limit:  # a dictionary has grown since it was measured
                return False
            found[e] = scratch[which]
            e += 1
    return e == limit


# wide: a compiled function takes its arrays one by one.
def read_neighbours(python, rows, count, scratch, address, memory, m, keys, table, size, positions, neighbours):
    """The vertices that the keys of some dictionaries are: by a table of `size` integers, or else by a dictionary.

    Returns 0, or `OTHER`.
    """
    if not items(python, rows, count, scratch, address, memory, KEY, keys, m):
        return OTHER
    for e in range(m):
        prefetch(memory, keys[min(e + AHEAD, m - 1)])
        key = keys[e]
        if size == 0:
            prefetch(memory, keys[min(e + AHEAD, m - 1)] + TEXT_BYTES)
            if not (is_a(python, key, TEXT) or is_a(python, key, WHOLE)):
                return OTHER
            key = call_c(python[ITEM], (positions, key))
            if key == 0:
                return OTHER
        elif not is_a(python, key, WHOLE):
            return OTHER
        vertex = call_c(python[INTEGER], (key, address))
        if size:
            if not 0 <= vertex < size or table[vertex] == NOBODY:
                return OTHER
            vertex = table[vertex]
        neighbours[e] = vertex
    return 0


def value_of(python, dictionary, name, scratch, address):
    """The address of what a dictionary has under a string; 0 if it has nothing, `OTHER` if only Python can look.

    Most dictionaries have the very object `name` as their key. To find another that is equal, Python may compare all
    keys with it, and so the keys must not have code of their own.
    """
    is_empty = True
    scratch[0] = 0
    while call_c(python[NEXT], (dictionary, address, address + 8, address + 16)) & 0xFFFFFFFF:
        if scratch[KEY] == name:
            return scratch[VALUE]
        is_empty = False
    if is_empty:
        return 0
    scratch[0] = 0
    while call_c(python[NEXT], (dictionary, address, address + 8, address + 16)) & 0xFFFFFFFF:
        if not (is_a(python, scratch[KEY], TEXT) or is_a(python, scratch[KEY], WHOLE)):
            return OTHER
    return call_c(python[ITEM], (dictionary, name))


# wide: a compiled function takes its arrays one by one.
def read_sizes(python, rows, count, scratch, address, memory, m, sizes):
    """How many items each dictionary has that is a value of some dictionaries. Returns 0, or `OTHER`."""
    if not items(python, rows, count, scratch, address, memory, VALUE, sizes, m):
        return OTHER
    for e in range(m):
        prefetch(memory, sizes[min(e + AHEAD, m - 1)])
        if not is_a(python, sizes[e], DICTIONARY):
            return OTHER
        sizes[e] = call_c(python[SIZE], (sizes[e],))
    return 0


# wide: a compiled function takes its arrays one by one.
def read_values(
    python, rows, count, scratch, address, memory, m, between, several, total, name, default, wholes, reals
):
    """An attribute of `total` edges, whose dictionaries are values of some dictionaries, or of values of those.

    `several` says which; then `between` receives the addresses of the dictionaries between. The numbers are integers in
    `wholes`, which is the same memory as `reals`; from the first float on, all are floats. Returns `SOME_INTEGERS` and
    `SOME_FLOATS`, and `SOME_GIVEN` if not all have the default, added up, or `OTHER`.
    """
    if several:
        if not items(python, rows, count, scratch, address, memory, VALUE, between, m):
            return OTHER
        rows, count = between, m
    if not items(python, rows, count, scratch, address, memory, VALUE, wholes, total):
        return OTHER
    some_integers = some_floats = some_given = 0
    for e in range(total):
        load_ahead(python, memory, wholes, e, total)
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
                for k in range(e):
                    reals[k] = wholes[k]
                some_floats = SOME_FLOATS
            reals[e] = call_c_f64(python[REAL], (value,))
        else:
            return OTHER
    return some_integers + some_floats + some_given


NEIGHBOURS = Kernel("i64* i64* i64 i64* i64 u8* i64 i64* u32* i64 i64 u32*", read_neighbours, holds_gil=True)
SIZES = Kernel("i64* i64* i64 i64* i64 u8* i64 i64*", read_sizes, holds_gil=True)
VALUES = Kernel("i64* i64* i64 i64* i64 u8* i64 i64* i64 i64 i64 i64 i64* f64*", read_values, holds_gil=True)


def interface() -> Array:
    """The addresses of `FUNCTIONS` and `KINDS`."""
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in FUNCTIONS]
    return np.array([*functions, *map(id, KINDS)], np.int64)


@cache
def has_types() -> bool:
    """Whether objects of this Python have the addresses of their types where kernels read them."""
    some: list[Any] = [interface, {}, 1, 1.0, "", int]
    return all(word_at(id(thing), TYPE_WORD) == id(type(thing)) for thing in some)


def has_lock() -> bool:
    """Whether this Python has the lock that keeps other threads from changing a dictionary that a kernel reads."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


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
    rows : list of dict
        The keys are neighbours.
    m : int
        How many items they have.
    several : bool
        Whether their values are dictionaries of edges, or those of one edge's data.
    """

    def __init__(self, rows: list[dict[Any, Any]], m: int, several: bool) -> None:
        self.rows, self.m, self.several = rows, m, several  # `rows` keeps the objects at these addresses alive
        addresses, scratch = np.fromiter(map(id, rows), np.int64, len(rows)), np.zeros(3, np.int64)
        self._given = interface(), addresses, len(rows), scratch, address_of(scratch), None, m

    def _run(self, kernel: Kernel, *more: Any) -> int:
        """What a kernel returns for the rows and more arguments; `OTHER` if none may run."""
        return kernel(*self._given, *more) if has_lock() and has_types() else OTHER

    def neighbours(self, nodes: list[Any], table: Array | None) -> Array | None:
        """The vertices that the keys are; None if only Python can tell.

        Parameters
        ----------
        nodes : list
            The node of each vertex.
        table : ndarray of uint32, optional
            The vertex that each integer is, if nodes are integers.
        """
        if table is None and not set(map(type, nodes)) <= {int, str}:
            return None
        positions = {} if table is not None else dict(zip(nodes, range(len(nodes)), strict=True))
        keys, found, size = np.empty(self.m, np.int64), np.empty(self.m, np.uint32), 0 if table is None else len(table)
        return None if self._run(NEIGHBOURS, keys, table, size, id(positions), found) == OTHER else found

    def sizes(self) -> Array | None:
        """How many edges there are to each neighbour; None if only Python can tell."""
        found = np.empty(self.m, np.int64)
        return None if self._run(SIZES, found) == OTHER else found

    def numbers(self, total: int, attribute: Any, default: Any) -> Numbers | None:
        """An attribute of all `total` edges; None if only Python can read it."""
        if type(attribute) is not str:
            return None
        between, wholes = np.empty(self.m if self.several else 0, np.int64), np.empty(total, np.int64)
        reals = wholes.view(np.float64)
        found = self._run(VALUES, between, self.several, total, id(attribute), id(default), wholes, reals)
        if found == OTHER:
            return None
        kinds = found & (SOME_INTEGERS | SOME_FLOATS)
        values = reals if kinds & SOME_FLOATS else wholes
        return Numbers(values, kinds == SOME_INTEGERS | SOME_FLOATS, bool(found & SOME_GIVEN))
