from itertools import pairwise

import numpy as np
import pytest
import xxhash

from garaph_py.storage.sectors import SECTOR
from garaph_py.storage.sums import low_hashes, sums

LOW = 0xFFFFFFFF


def expected(data, begins):
    return [xxhash.xxh3_64_intdigest(data[begin : begin + SECTOR].tobytes()) & LOW for begin in begins]


def test_sectors_have_the_hashes_that_xxhash_gives():
    data = np.random.default_rng(1).integers(0, 256, 1 << 20).astype(np.uint8)
    data[: 2 * SECTOR], data[2 * SECTOR : 3 * SECTOR] = 0, 255
    begins = np.arange(0, len(data), SECTOR)
    assert low_hashes(data, begins).tolist() == expected(data, begins)


def test_sectors_may_begin_at_any_byte_and_overlap():
    data = np.random.default_rng(2).integers(0, 256, 3 * SECTOR).astype(np.uint8)
    begins = np.random.default_rng(3).permutation(2 * SECTOR + 1)[:500]
    assert low_hashes(data, begins).tolist() == expected(data, begins)


def test_no_sectors_have_no_hashes():
    assert low_hashes(np.zeros(0, np.uint8), np.zeros(0, np.int64)).tolist() == []


@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_changes_the_hash(bit):
    data = np.random.default_rng(4).integers(0, 256, SECTOR).astype(np.uint8)
    flipped = np.repeat(data[None], SECTOR, axis=0)
    flipped[np.arange(SECTOR), np.arange(SECTOR)] ^= 1 << bit
    found = low_hashes(flipped.reshape(-1), np.arange(SECTOR) * SECTOR)
    assert (found != low_hashes(data, np.zeros(1, np.int64))).all()


@pytest.mark.parametrize(
    "length", [1, 8, 240, 241, *(k * SECTOR + d for k in (1, 2) for d in (-65, -64, -1, 0, 1, 64))]
)
@pytest.mark.parametrize("begin", [0, 4, SECTOR - 4, SECTOR - 1, SECTOR])
def test_sums_of_blocks_of_any_length_are_those_of_xxhash(length, begin):
    stored = np.random.default_rng(length).integers(0, 256, length).astype(np.uint8)
    bounds = [0, *range(SECTOR - begin % SECTOR, length, SECTOR), length]
    hashes = [xxhash.xxh3_64_intdigest(stored[a:b].tobytes()) & LOW for a, b in pairwise(bounds)]
    assert sums(stored, begin).tolist() == hashes


def test_a_sum_tells_of_every_byte():
    stored = np.random.default_rng(1).integers(0, 256, 2 * SECTOR + 100).astype(np.uint8)
    before = sums(stored)
    assert len(before) == 3
    for place in (0, SECTOR - 1, SECTOR, 2 * SECTOR, len(stored) - 1):
        stored[place] ^= 1
        assert np.flatnonzero(sums(stored) != before).tolist() == [place // SECTOR]
        stored[place] ^= 1
