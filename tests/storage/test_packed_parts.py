"""The sectors that hold runs of packed blocks, and the records of runs, as a plain walk finds them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.codec.blocks import WORD
from garaph_py.codec.format import RECORD, RECORD_BYTES
from garaph_py.storage.packed_parts import COPY_RECORDS, HEADS, KNOWN, STORED, parts_of
from garaph_py.storage.sectors import SECTOR

EACH, BLOCKS = 600, 2
"""Runs of a block, whose records are in seven or eight sectors, and blocks."""


def blocks_of(seed):
    """Where blocks and their words begin in a file, and the records of their runs, of which half or most lack words."""
    rng = np.random.default_rng(seed)
    records = np.zeros(EACH * BLOCKS, RECORD)
    have_words = rng.random((len(records), 1)) < (0.5, 0.002)[seed % 2]
    records["widths"] = rng.integers(0, 33, records["widths"].shape) * have_words
    counts = records["widths"].sum(axis=1, dtype=np.int64).reshape(BLOCKS, EACH)
    records["first_word"] = (np.cumsum(counts, axis=1) - counts).ravel()
    heads = RECORD_BYTES * EACH + WORD * rng.integers(0, 900, BLOCKS)
    sizes = heads + WORD * counts.sum(axis=1) + WORD * rng.integers(0, 2000, BLOCKS)
    starts = np.cumsum(sizes) - sizes
    return starts, starts + heads, records


def walk(runs, what, starts, words, records):
    """The parts; and the records, as they are left."""
    parts, records, heads_end = [], records.copy(), None
    for first, last in runs:
        for begin in range(first // EACH * EACH, last, EACH):
            block, own = begin // EACH, (max(begin, first), min(begin + EACH, last))
            heads = [int(starts[block]) + RECORD_BYTES * (run - begin) for run in own]
            ends = records[own[1] - 1]
            bytes_of_words = [records[own[0]]["first_word"], ends["first_word"] + ends["widths"].sum(dtype=np.int64)]
            bounds = heads if what == HEADS else [int(words[block] + WORD * word) for word in bytes_of_words]
            low, high = bounds[0] // SECTOR * SECTOR, -(-bounds[1] // SECTOR) * SECTOR
            is_next = parts and parts[-1][0] == block
            were_read_together = is_next and heads[0] // SECTOR * SECTOR <= heads_end
            joins = is_next and low <= parts[-1][2] and (what != STORED or were_read_together)
            if what == STORED and were_read_together and not joins:
                records[parts[-1][4] : own[0]] = np.zeros(1, RECORD)
            heads_end = -(-heads[1] // SECTOR) * SECTOR
            if joins:
                parts[-1][2], parts[-1][4] = high, own[1]
            else:
                parts.append([block, low, high, *own])
    return parts, records


RUNS = st.sets(st.integers(0, EACH * BLOCKS), min_size=2, max_size=12).map(
    lambda ends: np.array(sorted(ends)[: len(ends) // 2 * 2]).reshape(-1, 2)
)


@pytest.mark.parametrize("what", [HEADS, KNOWN, STORED])
@given(runs=RUNS, seed=st.integers(0, 50))
def test_parts_are_those_of_a_walk_over_the_runs(what, runs, seed):
    starts, words, records = blocks_of(seed)
    expected, left = walk(runs.tolist(), what, starts, words, records)
    assert parts_of(runs, EACH, what, starts, words, records, 0).T.tolist() == expected
    assert np.array_equal(records, left)


@given(runs=RUNS, seed=st.integers(0, 50), block=st.integers(0, BLOCKS - 1))
def test_records_may_begin_with_a_later_block(runs, seed, block):
    starts, words, records = blocks_of(seed)
    runs = runs[runs[:, 0] >= block * EACH]
    if len(runs):
        expected, _ = walk(runs.tolist(), KNOWN, starts, words, records)
        found = parts_of(runs, EACH, KNOWN, starts, words, records[block * EACH :], block * EACH)
        assert found.T.tolist() == expected


@given(runs=RUNS, seed=st.integers(0, 50))
def test_records_are_copied_if_all_are_sound_or_trusted(runs, seed):
    records, shifts = blocks_of(seed)[2], np.arange(len(runs)) * 1000
    expected, sound = np.zeros(len(records), RECORD), np.zeros(len(records), np.uint8)
    for (first, last), shift in zip(runs.tolist(), shifts.tolist(), strict=True):
        expected[first:last], sound[first:last] = records[first:last], 1
        expected["first_word"][first:last] += shift
    found = np.zeros(len(records), RECORD)

    def copy(trusted):
        given = *runs.T.copy(), shifts, len(runs), trusted, sound, records.view(np.int64), 0, found.view(np.int64), 0
        return COPY_RECORDS(*given)

    sound[runs[-1, 1] - 1] = 0
    assert copy(False) == 1
    assert not found.view(np.uint8).any()
    assert copy(True) == 0
    assert np.array_equal(found, expected)
    found[:], sound[runs[-1, 1] - 1] = 0, 1
    assert copy(False) == 0
    assert np.array_equal(found, expected)
