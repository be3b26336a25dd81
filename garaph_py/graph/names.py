"""A hash table of strings that kernels read: it finds the vertex that a node with a name is.

When Python looks up a string in a dictionary, it waits for memory four times, one after the other: for the string, its
place in the table, the entry there, and the string that it is compared with. Here a kernel loads all of them ahead.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..native import Kernel, call_c, prefetch
from ..native.threads import bounds_of
from .objects import (
    AHEAD,
    COMPARE,
    GIVEN,
    OTHER,
    TEXT,
    Objects,
    can_read,
    is_a,
    is_known,
    word_at,
)

Array = npt.NDArray[Any]

HASH_WORD = object.__basicsize__ // 4 + 2
"""Where, in halves of words, strings have their hash: after their length."""
TEXT_BYTES = 48
"""Where, in bytes, CPython 3.11's strings of ASCII have their characters, to load these ahead, too."""
EMPTY = -1
"""What a slot without a string has."""
LOW, HIGH = 0xFFFFFFFF, -(1 << 32)
"""The parts of a slot: the vertex, and the upper half of the string's hash."""


# wide: a compiled function takes its arrays one by one.
def insert_names(python, things, first, last, scratch, address, memory, slots, mask):
    """Put distinct strings into a hash table of ``mask + 1`` slots. Returns 0, or `OTHER`."""
    for k in range(first, last):
        prefetch(memory, things[min(k + AHEAD, last - 1)])
        if not is_a(python, things[k], TEXT):
            return OTHER
        hashed = word_at(things[k], HASH_WORD)
        if hashed == -1:  # nobody has asked for it yet
            return OTHER
        slot = hashed & mask
        while slots[slot] != EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = (hashed & HIGH) | k
    return 0


def vertex_of(python, name, names, slots, mask):
    """The place of a string among `names`; `OTHER` if it is not there, or has no hash."""
    hashed = word_at(name, HASH_WORD)
    slot = hashed & mask
    while hashed != -1 and slots[slot] != EMPTY:
        if (slots[slot] ^ hashed) & HIGH == 0:
            vertex = slots[slot] & LOW
            if names[vertex] == name or call_c(python[COMPARE], (name, names[vertex])) & 0xFFFFFFFF == 0:
                return vertex
        slot = (slot + 1) & mask
    return OTHER


# wide: a compiled function takes its arrays one by one.
def load_name_ahead(python, memory, keys, e, end, names, slots, mask):
    """Load into the cache: the string 2 * `AHEAD` on, the slot of the one `AHEAD` on, the name in a nearer one's."""
    far = keys[min(e + 2 * AHEAD, end - 1)]
    prefetch(memory, far)
    prefetch(memory, far + TEXT_BYTES)
    near = keys[min(e + AHEAD, end - 1)]
    if is_a(python, near, TEXT):
        prefetch(slots, word_at(near, HASH_WORD) & mask)
    next = keys[min(e + AHEAD // 2, end - 1)]
    if is_a(python, next, TEXT):
        found = slots[word_at(next, HASH_WORD) & mask]
        if found != EMPTY:
            prefetch(memory, names[found & LOW])
            prefetch(memory, names[found & LOW] + TEXT_BYTES)


INSERT_NAMES = Kernel(f"{GIVEN} i64* i64", insert_names, holds_gil=True)


class Names(NamedTuple):
    """Strings and a hash table of them.

    Attributes
    ----------
    names : list of str
    slots : ndarray of int64
        Their number is a power of two, at least twice that of the names. Each is `EMPTY`, or has the parts `HIGH` and
        `LOW`.
    """

    names: list[str]
    slots: Array

    def find(self, name: str) -> int | None:
        """The place of a string among the names; None if it is none of them."""
        mask, hashed = len(self.slots) - 1, hash(name)
        slot = hashed & mask
        while (found := int(self.slots[slot])) != EMPTY:
            if self.names[found & LOW] == name:
                return found & LOW
            slot = (slot + 1) & mask
        return None


@cache
def has_hashes() -> bool:
    """Whether strings of this Python have their hashes where kernels read them, once they have been asked for them."""
    return all(hash(text) == word_at(id(text), HASH_WORD) for text in ("", "a", "\xe9", "\u0416" * 9))


def names_of(nodes: list[Any]) -> Names | None:
    """A hash table of distinct objects; None if one is not exactly a string or has no hash yet, or kernels cannot read
    them."""
    if not (can_read() and is_known() and has_hashes()):
        return None
    slots = np.full(2 << len(nodes).bit_length(), EMPTY, np.int64)
    found = Objects(nodes).launched(INSERT_NAMES, bounds_of(len(nodes), 1), slots, len(slots) - 1)
    return None if OTHER in found else Names(nodes, slots)
