from itertools import pairwise

import numpy as np
import pytest
import xxhash

from garaph_py.storage.sectors import SECTOR
from garaph_py.storage.sums import sums, wrong_part

LOW = 0xFFFFFFFF


def hash_of(data):
    return xxhash.xxh3_64_intdigest(data.tobytes()) & LOW


def test_sectors_have_the_hashes_that_xxhash_gives():
    data = np.random.default_rng(1).integers(0, 256, 1 << 20).astype(np.uint8)
    data[: 2 * SECTOR], data[2 * SECTOR : 3 * SECTOR] = 0, 255
    assert sums(data).tolist() == [hash_of(data[k : k + SECTOR]) for k in range(0, len(data), SECTOR)]


def test_sectors_may_be_anywhere_in_memory():
    data = np.random.default_rng(2).integers(0, 256, 2 * SECTOR).astype(np.uint8)
    for begin in [*range(70), *range(SECTOR - 70, SECTOR)]:
        assert sums(data[begin : begin + SECTOR]).tolist() == [hash_of(data[begin : begin + SECTOR])]


@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_changes_the_hash(bit):
    data = np.random.default_rng(4).integers(0, 256, SECTOR).astype(np.uint8)
    flipped = np.repeat(data[None], SECTOR, axis=0)
    flipped[np.arange(SECTOR), np.arange(SECTOR)] ^= 1 << bit
    assert (sums(flipped.reshape(-1)) != sums(data)).all()


@pytest.mark.parametrize(
    "length", [1, 8, 240, 241, *(k * SECTOR + d for k in (1, 2) for d in (-65, -64, -1, 0, 1, 64))]
)
@pytest.mark.parametrize("begin", [0, 4, SECTOR - 4, SECTOR - 1, SECTOR])
def test_sums_of_blocks_of_any_length_are_those_of_xxhash(length, begin):
    stored = np.random.default_rng(length).integers(0, 256, length).astype(np.uint8)
    bounds = [0, *range(SECTOR - begin % SECTOR, length, SECTOR), length]
    assert sums(stored, begin).tolist() == [hash_of(stored[a:b]) for a, b in pairwise(bounds)]


def test_a_sum_tells_of_every_byte():
    stored = np.random.default_rng(1).integers(0, 256, 2 * SECTOR + 100).astype(np.uint8)
    before = sums(stored)
    assert len(before) == 3
    for place in (0, SECTOR - 1, SECTOR, 2 * SECTOR, len(stored) - 1):
        stored[place] ^= 1
        assert np.flatnonzero(sums(stored) != before).tolist() == [place // SECTOR]
        stored[place] ^= 1


# Parts of a file: whole sectors, one that begins or ends within a sector, one within a sector, an empty one.
BOUNDS = np.array([[0, 2], [3, 4], [4.5, 7], [8, 9.25], [10.25, 10.5], [11.5, 12.5], [13, 13]]) * SECTOR


@pytest.fixture
def file_and_sums():
    file = np.random.default_rng(5).integers(0, 256, 14 * SECTOR).astype(np.uint8)
    known = [sums(file[begin:end], begin) for begin, end in BOUNDS.astype(np.int64)]
    return file, known


def checked(data, known, shift):
    sizes = [len(own) for own in known]
    at = np.cumsum(sizes) - sizes
    return wrong_part(data, BOUNDS.astype(np.int64), np.full(len(BOUNDS), shift), at, np.concatenate(known))


def test_sound_parts_match_their_checksums(file_and_sums):
    file, known = file_and_sums
    assert checked(file, known, 0) is None
    assert checked(np.append(np.zeros(3 * SECTOR, np.uint8), file), known, 3 * SECTOR) is None


@pytest.mark.parametrize("part", range(len(BOUNDS) - 1))
def test_a_flipped_bit_in_any_sector_of_a_part_is_found(file_and_sums, part):
    file, known = file_and_sums
    begin, end = BOUNDS[part].astype(np.int64).tolist()
    for place in {begin, end - 1, *range(-(-begin // SECTOR) * SECTOR, end, SECTOR)}:
        file[place] ^= 16
        assert checked(file, known, 0) == part
        file[place] ^= 16


@pytest.mark.parametrize("part", range(len(BOUNDS) - 1))
def test_a_wrong_checksum_is_found(file_and_sums, part):
    file, known = file_and_sums
    for k in range(len(known[part])):
        known[part][k] ^= 1
        assert checked(file, known, 0) == part
        known[part][k] ^= 1


def test_what_is_beside_the_parts_is_not_looked_at(file_and_sums):
    file, known = file_and_sums
    inside = np.zeros(len(file), np.bool_)
    for begin, end in BOUNDS.astype(np.int64):
        inside[begin:end] = True
    file[~inside] ^= 255
    assert checked(file, known, 0) is None
