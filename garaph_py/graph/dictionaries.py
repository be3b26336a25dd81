"""Reads dictionaries of NetworkX into arrays, by compiled code that calls the C functions of Python's stable interface.

A loop in Python takes a reference to each key and value, waits for memory for each, and makes objects between its
steps. Compiled code loads what it will need soon into the cache, and takes no references. Python's lock is kept for as
long as a kernel has addresses of objects, and no code of a user runs meanwhile: kernels give up at anything but exact
dictionaries, integers, floats and strings, for which `networkx` has a way in Python.

Most of the time goes into waiting for memory, so several threads read at once. Only the calling one has Python's lock,
but none of the C functions writes to an object, not even to its count of references, if it is given such types: that is
so in CPython up to `LAST_KNOWN`; a later Python has one thread read.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..native import Kernel, PerCall, call_c, call_c_f64, prefetch, prefetch_kept, u32_at
from ..native.kernel import address_of
from ..native.threads import ThreadPool, bounds_of, split

Array = npt.NDArray[Any]

LAST_KNOWN = 3, 14
"""The last version of CPython whose lists are laid out as `items_of` reads them, and whose functions only read."""
FUNCTIONS = (
    "PyDict_Next", "PyDict_Size", "PyDict_GetItemWithError", "PyLong_AsLongLongAndOverflow", "PyFloat_AsDouble",
    "PyUnicode_Compare",
)  # fmt: skip
NEXT, SIZE, ITEM, INTEGER, REAL, COMPARE = range(len(FUNCTIONS))
"""Where the address of each function is in the array that kernels get."""
KINDS = dict, int, float, str
DICTIONARY, WHOLE, FLOATING, TEXT = range(len(FUNCTIONS), len(FUNCTIONS) + len(KINDS))
"""Where the addresses of these types are, after those of the functions."""
TYPE_WORD = object.__basicsize__ // 4 - 2
"""Where, in halves of words, objects have the address of their type: it is the last field that all objects have. To
call `PyObject_Type` and `Py_DecRef` instead makes reading 1,819,275 neighbours take 68 ms instead of 43 (Zen 5,
2026-11-28)."""
ITEMS_WORD = object.__basicsize__ // 4 + 2
"""Where lists have the address of their items: after the number of these."""
AHEAD = 8
"""How many objects ahead of the one that is read, another is loaded into the cache. Reading the weights of 909,561
edges took 66 ms with none, 32 with 4, 25 with 8, 33 with 16 (Zen 5, 2026-11-28)."""
KEYS_WORD = 8
"""Where, in halves of words, CPython's dictionaries have the address of their keys, to load that ahead, too. A Python
that has it elsewhere only takes longer, because loading ahead never fails."""
TEXT_BYTES = 48
"""Where, in bytes, CPython 3.11's strings of ASCII have their characters, to load that ahead, too."""
PART = 1 << 14
"""Items in a part of the dictionaries, which one thread reads: 128 KiB of addresses."""
LINE = 8
"""Words in a cache line, which each part has for `scratch`."""
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
def items(python, rows, first, last, scratch, address, memory, bounds, which, found):
    """The `KEY` or the `VALUE` of each item of dictionaries [first, last), at ``found[bounds[r]]`` and after it for r.

    Returns whether each has as many items as `bounds` has places for it.
    """
    for r in range(first, last):
        load_ahead(python, memory, rows, r, last)
        if not is_a(python, rows[r], DICTIONARY):
            return False
        e = bounds[r]
        scratch[0] = 0
        while call_c(python[NEXT], (rows[r], address, address + 8, address + 16)) & 0xFFFFFFFF:
            if e == bounds[r + 1]:  # it has grown since it was measured
                return False
            found[e] = scratch[which]
            e += 1
        if e != bounds[r + 1]:
            return False
    return True


# wide: a compiled function takes its arrays one by one.
def compare_keys(python, things, first, last, scratch, address, memory, dictionary):
    """Whether objects [first, last) are all the keys of a dictionary, in its order: 0, or `OTHER`.

    The values are loaded into the cache.
    """
    scratch[0] = 0
    for k in range(first, last):
        found = call_c(python[NEXT], (dictionary, address, address + 8, address + 16)) & 0xFFFFFFFF
        if not found or scratch[KEY] != things[k]:
            return OTHER
        prefetch_kept(memory, scratch[VALUE])
    return OTHER if call_c(python[NEXT], (dictionary, address, address + 8, address + 16)) & 0xFFFFFFFF else 0


# wide: a compiled function takes its arrays one by one.
def read_lengths(python, things, first, last, scratch, address, memory, lengths):
    """How many items each of some dictionaries has. Returns 0, or `OTHER`."""
    for k in range(first, last):
        prefetch(memory, things[min(k + AHEAD, last - 1)])
        if not is_a(python, things[k], DICTIONARY):
            return OTHER
        lengths[k] = call_c(python[SIZE], (things[k],))
    return 0


# wide: a compiled function takes its arrays one by one.
def read_sizes(python, rows, first, last, scratch, address, memory, bounds, sizes):
    """How many items each dictionary has that is a value of some dictionaries. Returns 0, or `OTHER`."""
    if not items(python, rows, first, last, scratch, address, memory, bounds, VALUE, sizes):
        return OTHER
    return read_lengths(python, sizes, bounds[first], bounds[last], scratch, address, memory, sizes)


# wide: a compiled function takes its arrays one by one.
def read_integers(python, things, first, last, scratch, address, memory, integers):
    """Integers of 64 bits. Returns 0, or `OTHER`."""
    for k in range(first, last):
        prefetch(memory, things[min(k + AHEAD, last - 1)])
        if not is_a(python, things[k], WHOLE):
            return OTHER
        integers[k] = call_c(python[INTEGER], (things[k], address))
        if scratch[0] & 0xFFFFFFFF:  # more than 64 bits
            return OTHER
    return 0


# wide: a compiled function takes its arrays one by one.
def read_neighbours(
    python, rows, first, last, scratch, address, memory, bounds, keys, table, size, positions, kind, neighbours
):
    """The vertices that the keys of some dictionaries are: by a table of `size` integers, or else by a dictionary, if
    all are of one `kind`, or of either if that is below 0.

    Returns 0, or `OTHER`.
    """
    if not items(python, rows, first, last, scratch, address, memory, bounds, KEY, keys):
        return OTHER
    end = bounds[last]
    for e in range(bounds[first], end):
        key = keys[e]
        prefetch(memory, keys[min(e + AHEAD, end - 1)])
        if size == 0:
            prefetch(memory, keys[min(e + AHEAD, end - 1)] + TEXT_BYTES)
            if not (is_a(python, key, TEXT) or is_a(python, key, WHOLE)) or (kind >= 0 and not is_a(python, key, kind)):
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

    Most dictionaries have the very object `name` as their key. Another that is equal is only sought if no key has code
    of its own.
    """
    is_empty = True
    scratch[0] = 0
    while call_c(python[NEXT], (dictionary, address, address + 8, address + 16)) & 0xFFFFFFFF:
        if scratch[KEY] == name:
            return scratch[VALUE]
        is_empty = False
    if is_empty:
        return 0
    found = np.int64(0)
    scratch[0] = 0
    while call_c(python[NEXT], (dictionary, address, address + 8, address + 16)) & 0xFFFFFFFF:
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
    of their items. The numbers are integers in `wholes`, which is the same memory as `reals`; from the first float on,
    all are floats. Returns `SOME_INTEGERS` and `SOME_FLOATS`, and `SOME_GIVEN` if not all have the default, added up,
    or `OTHER`.
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


GIVEN = "i64* i64* i64 i64 i64* i64 u8*"
"""The types of the arguments that all these kernels take first: functions and types of Python, addresses of objects,
the first and the last of them, three words, their address, and no array, whose elements are any memory."""
COMPARE_KEYS = Kernel(f"{GIVEN} i64", compare_keys, holds_gil=True)
LENGTHS = Kernel(f"{GIVEN} i64*", read_lengths, holds_gil=True)
SIZES = Kernel(f"{GIVEN} i64* i64*", read_sizes, holds_gil=True)
INTEGERS = Kernel(f"{GIVEN} i64*", read_integers, holds_gil=True)
NEIGHBOURS = Kernel(f"{GIVEN} i64* i64* u32* i64 i64 i64 u32*", read_neighbours, holds_gil=True)
VALUES = Kernel(f"{GIVEN} i64* i64* i64* i64 i64 i64 i64* f64*", read_values, holds_gil=True)


def interface() -> Array:
    """The addresses of `FUNCTIONS` and `KINDS`."""
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in FUNCTIONS]
    return np.array([*functions, *map(id, KINDS)], np.int64)


def items_of(things: list[Any]) -> Array:
    """The addresses of the items of a list, which nobody may change."""
    if not is_known() or not things:
        return np.fromiter(map(id, things), np.int64, len(things))
    words = (ctypes.c_int64 * len(things)).from_address(int(word_at(id(things), ITEMS_WORD)))
    return np.ctypeslib.as_array(words)  # the list's own memory


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


def can_read() -> bool:
    """Whether kernels may read objects of this Python."""
    return has_lock() and has_types()


def is_known() -> bool:
    """Whether this Python is one of those whose memory and functions are known."""
    return sys.implementation.name == "cpython" and sys.version_info[:2] <= LAST_KNOWN


class Objects:
    """A list of objects, which nobody changes, for kernels.

    Parameters
    ----------
    things : list
    threads : int, optional
        By default every core that this process may use.
    """

    def __init__(self, things: list[Any], threads: int | None = None) -> None:
        self.things, self._threads = things, threads

    def __len__(self) -> int:
        return len(self.things)

    def are_keys(self, dictionary: dict[Any, Any]) -> bool:
        """Whether they are known to be the keys of a dictionary, in its order."""
        return can_read() and self.launched(COMPARE_KEYS, bounds_of(len(self), 1), id(dictionary)) == [0]

    def lengths(self) -> Array | None:
        """How many items each has, of dictionaries; None if only Python can tell."""
        return self._read(LENGTHS)

    def integers(self) -> Array | None:
        """Integers of 64 bits; None if only Python can tell whether they are that."""
        return self._read(INTEGERS)

    def _read(self, kernel: Kernel) -> Array | None:
        """What a kernel makes of each; None if only Python can."""
        if not can_read():
            return None
        found, cuts = np.empty(len(self), np.int64), bounds_of(len(self), parts_for(len(self)))
        results = self.launched(kernel, cuts, found)
        return None if OTHER in results else found

    def launched(self, kernel: Kernel, cuts: Array, *more: Any) -> list[int]:
        """What a kernel returns for each part of them, by its bounds, and more arguments."""
        scratch = np.zeros((len(cuts) - 1, LINE), np.int64)
        address = address_of(scratch) + np.arange(len(scratch)) * scratch.strides[0]
        given = interface(), items_of(self.things), cuts[:-1], cuts[1:], PerCall(scratch), address, None, *more
        with ThreadPool(self._threads if is_known() else 1) as pool:
            found: list[int] = pool.launch_with_lock(kernel.rows(len(scratch), *given)).tolist()
        return found


def parts_for(count: int) -> int:
    """The number of parts for so many items."""
    return max(1, -(-count // PART))


class Reader:
    """The adjacency of each node of a NetworkX graph, as dictionaries.

    Parameters
    ----------
    rows : Objects
        Dictionaries. The keys are neighbours, the values are dictionaries of the data of an edge, or of several edges.
    bounds : ndarray of int64, shape (n + 1,)
        The sums of the numbers of items up to each.
    """

    def __init__(self, rows: Objects, bounds: Array) -> None:
        self.rows, self.bounds, self.m = rows, bounds, int(bounds[-1])

    def _cuts(self, shared: bool = True) -> Array:
        """The bounds of parts of the rows that have about as many items each; of a single part if threads may not
        share them."""
        cuts: Array = np.searchsorted(self.bounds[:-1], split(self.m, parts_for(self.m) if shared else 1))
        cuts[0], cuts[-1] = 0, len(self.rows)
        return cuts

    def _run(self, kernel: Kernel, cuts: Array, *more: Any) -> list[int] | None:
        """What a kernel returns for each part of the rows and more arguments; None if only Python can read them."""
        if not can_read():
            return None
        found = self.rows.launched(kernel, cuts, self.bounds, *more)
        return None if OTHER in found else found

    def neighbours(self, nodes: list[Any], table: Array | None, vertices: dict[Any, int]) -> Array | None:
        """The vertices that the keys are; None if only Python can tell.

        Parameters
        ----------
        nodes : list
            The node of each vertex.
        table : ndarray of uint32, optional
            The vertex that each integer is, if nodes are integers.
        vertices : dict
            The vertex that each node is, if there is no table.
        """
        types = set() if table is not None else set(map(type, nodes))
        if not types <= {int, str}:
            return None
        only_text = types <= {str}  # else a look-up in `vertices` writes to counts of references
        kind, size = TEXT if only_text else -1, 0 if table is None else len(table)
        keys, found = np.empty(self.m, np.int64), np.empty(self.m, np.uint32)
        cuts = self._cuts(table is not None or only_text)
        read = self._run(NEIGHBOURS, cuts, keys, table, size, id(vertices), kind, found)
        return None if read is None else found

    def sizes(self) -> Array | None:
        """How many edges there are to each neighbour; None if only Python can tell."""
        found = np.empty(self.m, np.int64)
        return None if self._run(SIZES, self._cuts(), found) is None else found

    def numbers(self, ends: Array | None, attribute: Any, default: Any) -> Numbers | None:
        """An attribute of all edges; None if only Python can read it.

        If there may be several edges to a neighbour, `ends` are the sums of their numbers (`sizes`) up to each.
        """
        if type(attribute) is not str:
            return None
        edges = self.bounds if ends is None else ends[self.bounds]
        between, wholes = np.empty(0 if ends is None else self.m, np.int64), np.empty(edges[-1], np.int64)
        reals, cuts = wholes.view(np.float64), self._cuts()
        read = self._run(
            VALUES, cuts, between, ends, ends is not None, id(attribute), id(default), wholes, reals
        )  # fmt: skip
        if read is None:
            return None
        found = int(np.bitwise_or.reduce(read))
        if found & SOME_FLOATS:
            for part, (begin, end) in zip(read, pairwise(edges[cuts].tolist()), strict=True):
                if not part & SOME_FLOATS:
                    reals[begin:end] = wholes[begin:end].astype(np.float64)
        is_mixed = found & SOME_INTEGERS and found & SOME_FLOATS
        return Numbers(reals if found & SOME_FLOATS else wholes, bool(is_mixed), bool(found & SOME_GIVEN))
