"""Checksums of sectors: XXH3-64 in compiled code, many sectors in one call, which does not hold Python's lock.

A call of xxhash for each sector takes 0.3 to 0.7 us of that lock, and a push of some vertices reads a hundred thousand
sectors. One core of an EPYC (AVX2) hashes 33 GB/s of sectors that are in its cache, and the memory's bandwidth limits
it otherwise; below 10 GB/s, something is wrong (2026-11-29).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from ..graph.edge_hash import HALF, LOW
from ..native import Kernel, no_unroll, room, word_at
from .sectors import SECTOR

Array = npt.NDArray[Any]

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
"""XXH3's default secret; it, the primes and the places in it are from xxHash's specification."""
PRIMES_32 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIMES_64 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
LANES, STRIPE, STRIPES = 8, 64, 16
"""A stripe of so many bytes has a word for each lane; after so many stripes, the lanes' sums are scrambled."""


def secret(begin: int, count: int) -> Array:
    """Words of the secret, from byte `begin` on."""
    return np.frombuffer(SECRET, np.uint8)[begin : begin + 8 * count].copy().view("<u8").astype(np.uint64)


KEYS, LAST_KEYS, END_KEYS = secret(0, 24), secret(121, LANES), secret(11, LANES)
"""The keys of stripes, each of which begins one word after the one before; of the last stripe; and of the end. When the
sums are scrambled, the keys are those after the last of `STRIPES`."""
START = np.array([PRIMES_32[2], *PRIMES_64[:4], PRIMES_32[1], PRIMES_64[4], PRIMES_32[0]], np.uint64)
"""The sums of the lanes before the first stripe."""
LENGTH = np.uint64(SECTOR * PRIMES_64[0] % 2**64)
"""What the total begins with: the length of a sector times a prime."""
SCRAMBLE, MIX = np.uint64(PRIMES_32[0]), np.uint64(0x165667919E3779F9)
"""The factors of the sums of lanes when they are scrambled, and of the total at the end."""


# wide: compiled code takes its arrays one by one
def add_stripe(products, words, data, at, keys, key):
    """Add the stripe of `data` from byte `at` on, with the keys from number `key` on.

    The sum of a lane is that of its `products` and of its neighbour's `words`: apart, they need no shuffling.
    """
    for lane in range(LANES):
        word = word_at(data, at + 8 * lane)
        keyed = word ^ keys[key + lane]
        products[lane] += (keyed & LOW) * (keyed >> HALF)
        words[lane] += word


def folded(a, b):
    """Both halves of the product of two words, of 128 bits, exclusive-or'ed."""
    low, high = (a & LOW) * (b & LOW), (a >> HALF) * (b >> HALF)
    one, other = (a >> HALF) * (b & LOW), (a & LOW) * (b >> HALF)
    middle = (low >> HALF) + (one & LOW) + other
    return (middle << HALF | low & LOW) ^ high + (one >> HALF) + (middle >> HALF)


def hash_sector(data, begin, products, words, ends):
    """The low half of XXH3-64 of the sector that begins at byte `begin` of `data`.

    The other arguments are memory for a stripe each. The lanes of a stripe become vectors, because the loop over them
    is unrolled, and that over stripes is not. `ends` keeps the order of the lanes at the end from becoming theirs
    throughout.
    """
    for lane in range(LANES):
        products[lane], words[lane] = START[lane], np.uint64(0)
    for block in range(0, SECTOR, STRIPE * STRIPES):
        is_last = block == SECTOR - STRIPE * STRIPES
        for stripe in range(STRIPES - is_last):
            no_unroll()
            add_stripe(products, words, data, begin + block + STRIPE * stripe, KEYS, stripe)
        if not is_last:
            for lane in range(LANES):
                total = products[lane] + words[lane ^ 1]
                products[lane] = (total ^ (total >> np.uint64(47)) ^ KEYS[STRIPES + lane]) * SCRAMBLE
            for lane in range(LANES):
                words[lane] = np.uint64(0)
    add_stripe(products, words, data, begin + SECTOR - STRIPE, LAST_KEYS, 0)
    for lane in range(LANES):
        ends[lane] = (products[lane] + words[lane ^ 1]) ^ END_KEYS[lane]
    total = LENGTH
    for lane in range(0, LANES, 2):
        no_unroll()
        total += folded(ends[lane], ends[lane + 1])
    total = (total ^ (total >> np.uint64(37))) * MIX
    return np.uint32((total ^ (total >> HALF)) & LOW)


def hash_sectors(data, begin, count, ends, found):
    """Put the hashes of `count` sectors, the first of which begins at byte `begin` of `data`, into `found`."""
    products, words = room(LANES, np.uint64), room(LANES, np.uint64)
    for k in range(count):
        found[k] = hash_sector(data, begin + k * SECTOR, products, words, ends)
    return 0


# wide: compiled code takes its arrays one by one
def find_wrong(data, bounds, shifts, at, count, known, ends):
    """The first of `count` parts that has a whole sector with another hash than is known; `count` if there is none."""
    products, words = room(LANES, np.uint64), room(LANES, np.uint64)
    for k in range(count):
        first = bounds[2 * k] // SECTOR
        for sector in range((bounds[2 * k] + SECTOR - 1) // SECTOR, bounds[2 * k + 1] // SECTOR):
            found = hash_sector(data, sector * SECTOR + shifts[k], products, words, ends)
            if found != known[at[k] + sector - first]:
                return k
    return count


HASH_SECTORS = Kernel("u8* i64 i64 u64* u32*", hash_sectors, joins=True)
FIND_WRONG = Kernel("u8* i64* i64* i64* i64 u32* u64*", find_wrong, joins=True)


def cut_sectors(begin: int, end: int) -> list[tuple[int, int]]:
    """The bytes [begin, end) of a file that are in sectors of which they are not all: at most two ranges."""
    whole, rest = -(-begin // SECTOR) * SECTOR, end // SECTOR * SECTOR
    ranges = [(begin, min(whole, end)), (max(rest, begin), end)]
    return [(first, last) for first, last in dict.fromkeys(ranges) if 0 < last - first < SECTOR]


def low_hash(data: Array) -> int:
    """The low half of XXH3-64 of some bytes."""
    return int(xxhash.xxh3_64_intdigest(data.data)) & int(LOW)


def sums(stored: Array, begin: int = 0) -> Array:
    """The checksums (uint32) of the sectors of a block's `stored` bytes, which begin at byte `begin` of a file.

    Each is the low half of XXH3-64 of the sector, or of the bytes of it that are in the block.
    """
    end, first = begin + len(stored), begin // SECTOR
    found = np.empty(-(-end // SECTOR) - first, np.uint32)
    whole = range(-(-begin // SECTOR), end // SECTOR)
    if whole:
        places = whole.start * SECTOR - begin, len(whole)
        HASH_SECTORS(stored, *places, np.empty(LANES, np.uint64), found[whole.start - first :])
    for low, high in cut_sectors(begin, end):
        found[low // SECTOR - first] = low_hash(stored[low - begin : high - begin])
    return found


def wrong_part(data: Array, bounds: Array, shifts: Array, at: Array, known: Array) -> int | None:
    """The number of a part of a file that does not match the checksums of its sectors; None if there is none.

    Parameters
    ----------
    data : ndarray of uint8
        Has the bytes of the parts.
    bounds : ndarray of int64, shape (k, 2)
        The first byte of each part in the file, and one past its last.
    shifts : ndarray of int64, shape (k,)
        What has to be added to a byte's place in the file to get its place in `data`.
    at : ndarray of int64, shape (k,)
        The number of the first checksum of each part in `known`.
    """
    for k in np.flatnonzero((bounds % SECTOR).any(axis=1)).tolist():
        (begin, end), shift = bounds[k].tolist(), int(shifts[k])
        for low, high in cut_sectors(begin, end):
            if low_hash(data[low + shift : high + shift]) != known[at[k] + low // SECTOR - begin // SECTOR]:
                return int(k)
    wrong = FIND_WRONG(data, bounds, shifts, at, len(bounds), known, np.empty(LANES, np.uint64))
    return wrong if wrong < len(bounds) else None
