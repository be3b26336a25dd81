"""Objects of Python read into arrays, by compiled code that calls the C functions of Python's stable interface.

A loop in Python takes a reference to each object, waits for memory for each, and makes objects between its steps.
Compiled code loads what it will need soon into the cache, and takes no references. Python's lock is kept for as long as
a kernel has addresses of objects, and no code of a user runs meanwhile: kernels give up at anything but exact
dictionaries, integers, floats and strings, for which `networkx` has a way in Python.

Most of the time goes into waiting for memory, so several threads read at once. Only the caller has Python's lock. That
is safe because the C functions write to no object of the exact types above, not even to its count of references. The
one exception is `PyDict_GetItemWithError`, which one thread alone calls. This has been looked up for CPython up to
`LAST_KNOWN`; under a later version, one thread reads.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel, PerCall, call_c, prefetch, prefetch_kept, u32_at
from ..native.kernel import address_of
from ..native.threads import ThreadPool, bounds_of

Array = npt.NDArray[Any]

LAST_KNOWN = 3, 13
"""The last CPython whose lists and strings are laid out as read here, and whose functions several threads may call."""
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
"""Where, in halves of words, lists have the address of their items: after the number of these."""
AHEAD = 8
"""How many objects ahead of the one that is read, another is loaded into the cache. Reading the weights of 909,561
edges took 66 ms with none, 32 with 4, 25 with 8, 33 with 16 (Zen 5, 2026-11-28)."""
PART = 1 << 14
"""How many objects or items a thread reads in one call: their addresses take 128 KiB, a part of any second-level cache.
Not measured by itself."""
LINE = 8
"""Words of `scratch` for each part: a cache line, so that no two threads write to the same."""
KEY, VALUE = 1, 2
"""Where `PyDict_Next` leaves these in `scratch`, after its own position."""
OTHER = -1
"""What a kernel returns if it finds something that only Python can read."""


def is_a(python, thing, kind):
    """Whether the object at address `thing` has exactly this type."""
    return word_at(thing, TYPE_WORD) == python[kind]


def word_at(address, index):
    """The word that begins at half `index` of the words from `address` on."""
    return np.int64(u32_at(address, index)) | np.int64(u32_at(address, index + 1)) << 32


def next_item(python, dictionary, address):
    """Go on to a dictionary's next item, whose `KEY` and `VALUE` are then in `scratch`, which begins at `address`.

    Returns whether there is one. The first call is to find 0 at ``scratch[0]``.
    """
    return call_c(python[NEXT], (dictionary, address, address + 8, address + 16)) & 0xFFFFFFFF


# wide: a compiled function takes its arrays one by one.
def compare_keys(python, things, first, last, scratch, address, memory, dictionary):
    """Whether objects [first, last) are all the keys of a dictionary, in its order: 0, or `OTHER`.

    The values are loaded into the cache.
    """
    scratch[0] = 0
    for k in range(first, last):
        if not next_item(python, dictionary, address) or scratch[KEY] != things[k]:
            return OTHER
        prefetch_kept(memory, scratch[VALUE])
    return OTHER if next_item(python, dictionary, address) else 0


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


GIVEN = "i64* i64* i64 i64 i64* i64 u8*"
"""The types of the arguments that all these kernels take first: addresses of Python's functions and types, addresses of
objects, the bounds [first, last) of those to read, `scratch`, of which three words are used, its address, and `memory`:
None, so that the index of an element is its address."""
COMPARE_KEYS = Kernel(f"{GIVEN} i64", compare_keys, holds_gil=True)
LENGTHS = Kernel(f"{GIVEN} i64*", read_lengths, holds_gil=True)
INTEGERS = Kernel(f"{GIVEN} i64*", read_integers, holds_gil=True)


@cache
def interface() -> Array:
    """The addresses of `FUNCTIONS` and `KINDS`. All callers share the array, and none may write to it."""
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in FUNCTIONS]
    return np.array([*functions, *map(id, KINDS)], np.int64)


def items_of(things: list[Any]) -> Array:
    """The addresses of a list's items. They may be the list's own memory, so it must not change while they are used."""
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
        """The objects as int64; None if one is not exactly an integer of 64 bits, or kernels cannot read it."""
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
