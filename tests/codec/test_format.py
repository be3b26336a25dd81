"""Packed arrays that are read with other bytes between their words."""

import numpy as np
import pytest

from garaph_py.codec.format import ASCENDING, PADDING, RECORD, RUN, Placed, decode
from garaph_py.codec.pack import pack
from garaph_py.native.threads import ThreadPool


def placed(numbers, gaps):
    """A packed array with so many other words before each run."""
    with ThreadPool(1) as pool:
        packed = pack(numbers, ASCENDING, pool)
    records, words = packed.records.copy(), []
    for record, gap in zip(records, gaps, strict=True):
        own = packed.words[record["first_word"] :][: record["widths"].sum()]
        record["first_word"] = sum(map(len, words)) + gap
        words += [np.full(gap, 0xFFFFFFFF, np.uint32), own]
    return Placed(records, np.concatenate([*words, np.full(9, 7, np.uint32)]), packed.length, packed.dtype)


@pytest.mark.parametrize("gaps", [(0, 0, 0), (5, 0, 0), (400, 1, 2), (8, 5000, 0), (3, 10, 6000)])
@pytest.mark.parametrize("left_out", [0, 1, 3])  # how many of the gaps
def test_an_array_alone_has_the_same_elements_in_the_room(gaps, left_out):
    numbers = np.cumsum(np.random.default_rng(0).integers(0, 90, 3 * RUN - 77))
    array = placed(numbers, gaps)
    before = array.records.copy()
    own = array.records["widths"].sum(dtype=np.int64) + PADDING
    most = own + sum(gaps[left_out:]) + (gaps[0] % PADDING if left_out == 1 else 0)
    alone = array.alone(int(most) * 4)
    assert decode(alone, None, ASCENDING) == numbers.tolist()
    np.testing.assert_array_equal(array.records, before)
    assert len(alone.words) == most or sum(gaps[:left_out]) < PADDING
    assert np.shares_memory(alone.words, array.words) or left_out == 3
    assert (alone.records is array.records) == (len(alone.words) == own + sum(gaps))


def test_no_elements():
    empty = Placed(np.empty(0, RECORD), np.zeros(9, np.uint32), 0, np.dtype(np.int32))
    assert len(empty.alone(0).words) == 4
