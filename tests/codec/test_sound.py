"""Blocks are found to be sound together exactly if each is found to be sound alone."""

import numpy as np
import pytest

from garaph_py.codec.blocks import KIND_OF, PackedBlocks, UndecodableError, begin_masks
from garaph_py.codec.checked import begins_where
from garaph_py.codec.format import ASCENDING, GROUP, LISTS, RECORD, RECORD_BYTES, RUN
from garaph_py.codec.pack import pack
from garaph_py.codec.sound import blocks_in, count_bits, find_sound
from garaph_py.native.threads import ThreadPool

ARRAYS = {"in_sources": np.uint32, "in_offsets": np.int64, "in_values": np.int32}


def blocks_of(name, rng, lengths):
    """Stored blocks of a random array, cut to these lengths, and the offsets of its lists."""
    kind, total = KIND_OF[name], sum(lengths)
    array = rng.integers(0, 1 << 20, total).astype(ARRAYS[name])
    offsets = None
    if kind == LISTS:
        offsets = np.append(np.sort(rng.integers(0, total, total // 9)), total)
        offsets[0] = 0
        for part in np.split(array, offsets[1:-1]):
            part.sort()
    elif kind == ASCENDING:
        array.sort()
    stored, first = [], 0
    with ThreadPool(1) as pool:
        packed = pack(array, kind, pool, offsets)
    for length in lengths:
        piece = packed.slice(first, first + length)
        records = piece.records[: -(-length // RUN)].copy()
        records["first_word"] -= records["first_word"][0]
        words = piece.words[: int(records["widths"].sum(dtype=int))]
        masks = begin_masks(offsets, first, first + length) if kind == LISTS else np.empty(0, np.uint32)
        stored.append(np.concatenate([part.view(np.uint8).reshape(-1) for part in (records, masks, words)]))
        first += length
    return stored, offsets


def together(name, stored, offsets, lengths):
    """What `find_sound` finds of the blocks, which lie in one buffer, some not at multiples of 8."""
    gaps = [4 * (k % 2) for k in range(len(stored))]
    sizes = np.array([len(each) for each in stored])
    at = np.cumsum([0, *(sizes[:-1])]) + np.cumsum(gaps)
    data = np.zeros(at[-1] + sizes[-1] + 5, np.uint8)
    for place, each in zip(at, stored, strict=True):
        data[place : place + len(each)] = each
    bounds = np.stack((np.cumsum(lengths) - lengths, np.cumsum(lengths)), 1)
    blocks = blocks_in(data, at, sizes, PackedBlocks(name, np.dtype(ARRAYS[name])).words_at(lengths), bounds)
    return find_sound(blocks, name, np.dtype(ARRAYS[name]), offsets)


def alone(name, stored, offsets, first, last):
    """The block, if it is sound by the check that says what is wrong; else None."""
    try:
        block = PackedBlocks(name, np.dtype(ARRAYS[name])).decode(stored.data, None, last - first)
    except UndecodableError:
        return None
    is_sound = block.masks is None or begins_where(offsets, first, last, block.masks)
    return block if is_sound else None


@pytest.mark.spread
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("seed", range(12))
def test_blocks_together_and_alone(name, seed):
    rng = np.random.default_rng(seed)
    lengths = np.array([2 * RUN, RUN, 2 * RUN, RUN + 1 + seed * 41])
    stored, offsets = blocks_of(name, rng, lengths.tolist())
    for damaged in range(5):  # bytes of records, masks or words; then also a bit of the masks
        where = rng.integers(len(stored))
        changed = [each.copy() for each in stored]
        for _ in range(damaged and int(rng.integers(1, 3))):
            place = rng.integers(len(stored[where])) if damaged % 2 else rng.integers(RECORD_BYTES * 2)
            changed[where][place] ^= 1 << rng.integers(8)
        found, ends = together(name, changed, offsets, lengths), np.cumsum(lengths)
        for k, (each, first, last) in enumerate(zip(changed, ends - lengths, ends, strict=True)):
            block = alone(name, each, offsets, int(first), int(last))
            assert found.sound[k] == (block is not None)
            if block is not None:
                assert (found.most[k], found.last[k], found.bases[k]) == (block.most, block.last, block.base)
                assert found.least[k] == block.limits.least
                assert block.masks is None or found.begins[k] == int(block.masks[0]) & 1


def test_a_list_that_begins_past_the_end_is_found():
    lengths = np.array([RUN + 5])
    stored, offsets = blocks_of("in_sources", np.random.default_rng(1), lengths.tolist())
    masks = stored[0][2 * RECORD.itemsize :].view(np.uint32)
    masks[-(-(RUN + 5) // GROUP) - 1] |= 1 << 31
    assert not together("in_sources", stored, offsets, lengths).sound[0]


def test_bits_are_counted():
    words = np.random.default_rng(2).integers(0, 1 << 32, 100).astype(np.uint32)
    assert count_bits([*words, 0, (1 << 32) - 1], 102) == int(np.bitwise_count(words).sum()) + 32
