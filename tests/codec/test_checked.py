"""Unpacking unchecked data finds the problems that a check number by number finds, and gives the same elements."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py.codec.blocks import begin_masks
from garaph_py.codec.checked import BASE, PROBLEMS, RANGE, STRAY, unpack_checked
from garaph_py.codec.format import ASCENDING, GROUP, LISTS, NUMBERS, PADDING, RECORD, RUN
from garaph_py.codec.pack import pack
from garaph_py.native.threads import ThreadPool

DTYPES = {LISTS: ["uint32"], ASCENDING: ["int64"], NUMBERS: ["int32", "uint32", "int64"]}


def check_by_number(kind, records, masks, words, length, dtype):
    """The problem, and the elements if there is none: one number after the other, in whole numbers of any size."""
    elements, before = [], 0
    for run, record in enumerate(records):
        count, base = min(RUN, length - run * RUN), int(record["base"])
        begins = [
            kind == LISTS and int(masks[e // GROUP]) >> e % GROUP & 1 for e in range(run * RUN, run * RUN + count)
        ]
        if kind != NUMBERS and base != (0 if begins[0] else before) and (run or begins[0]):
            return BASE, None
        if kind == LISTS and not 0 <= base < 2**32:
            return RANGE, None
        numbers, word = [], int(record["first_word"])
        for width in map(int, record["widths"]):
            bits = sum(int(words[word + k]) << 32 * k for k in range(width))
            numbers += [bits >> k * width & (1 << width) - 1 for k in range(GROUP)]
            word += width
        before = base
        for number, begin in zip(numbers[:count], begins, strict=True):
            element = number + (base if kind == NUMBERS else 0 if begin else before)
            if not np.iinfo(dtype).min <= element <= np.iinfo(dtype).max:
                return RANGE, None
            elements.append(element)
            before = element
        if any(numbers[count:]):
            return STRAY, None
    return None, elements


def assert_same(kind, records, masks, words, length, dtype):
    """Whether elements are kept or only looked at; the problem."""
    problem, wanted = check_by_number(kind, records, masks, words, length, dtype)
    for room in (length, min(length, RUN)):
        elements = np.empty(room, dtype)
        found, most = unpack_checked(kind, records, masks, words, length, elements)
        assert found == PROBLEMS.get(problem)
        if wanted is not None:
            assert most == max(wanted)
            kept = wanted if room == length else wanted[(length - 1) // RUN * RUN :]
            assert elements[: len(kept)].tolist() == kept
    return problem


def unpadded(packed):
    return packed.records.copy(), packed.words[:-PADDING].copy()


@pytest.fixture(scope="module")
def pool():
    with ThreadPool(1) as members:
        yield members


def sample(draw, pool):
    """A packed array of any kind, whose elements often are near the ends of their type."""
    kind = draw(st.sampled_from([LISTS, LISTS, ASCENDING, NUMBERS]))
    dtype = np.dtype(draw(st.sampled_from(DTYPES[kind])))
    length = draw(st.one_of(st.integers(1, 70), st.integers(RUN - 40, RUN + 40), st.sampled_from([2 * RUN, 3 * RUN])))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    span = draw(st.sampled_from([1, 100, 2**20, 2**32 - 1]))
    low = draw(st.sampled_from([0, np.iinfo(dtype).max - span]))
    array = (low + rng.integers(0, min(span, np.iinfo(dtype).max - low), length, endpoint=True)).astype(dtype)
    if kind == NUMBERS:
        return kind, dtype, length, *unpadded(pack(array, kind, pool)), None
    if kind == ASCENDING:
        array.sort()
        packed = pack(array, kind, pool, None, 0, int(array[0]))
        return kind, dtype, length, *unpadded(packed), None
    cuts = np.sort(rng.integers(0, length, draw(st.sampled_from([0, 3, length // 3])), endpoint=True))
    offsets = np.concatenate([[0], cuts, [length]])
    for first, last in pairwise(offsets):
        array[first:last].sort()
    masks = begin_masks(offsets, 0, length)
    if draw(st.booleans()):
        masks[0] &= ~np.uint32(1)  # the first list goes on from 0
    return kind, dtype, length, *unpadded(pack(array, kind, pool, offsets)), masks


@pytest.mark.full
@settings(max_examples=200)
@given(st.data())
def test_any_damage_that_is_found_by_number_is_found(pool, data):
    kind, dtype, length, records, words, masks = sample(data.draw, pool)
    assert assert_same(kind, records, masks, words, length, dtype) is None
    for _ in range(data.draw(st.integers(1, 2))):
        what = data.draw(st.sampled_from(["words", "words", "masks", "base"]))
        if what == "words" and len(words):
            words[data.draw(st.integers(0, len(words) - 1))] ^= np.uint32(1 << data.draw(st.integers(0, 31)))
        elif what == "masks" and masks is not None:
            bit = data.draw(st.integers(0, length - 1))
            masks[bit // GROUP] ^= np.uint32(1 << bit % GROUP)
        elif what == "base":
            run = data.draw(st.integers(0, len(records) - 1))
            value = data.draw(st.sampled_from([-(2**63), -1, 0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1]))
            near = int(records["base"][run]) + data.draw(st.integers(-1, 1))
            records["base"][run] = data.draw(st.sampled_from([value, min(max(near, -(2**63)), 2**63 - 1)]))
    assert_same(kind, records, masks, words, length, dtype)


def of_numbers(numbers, begins):
    """Lists of these numbers, 32 bits each, begun at some; the base 0."""
    length, runs = len(numbers), -(-len(numbers) // RUN)
    words = np.zeros(runs * RUN, np.uint32)
    words[:length] = numbers
    records = np.zeros(runs, RECORD)
    records["widths"], records["first_word"] = 32, np.arange(runs) * RUN
    masks = np.zeros(-(-length // GROUP), np.uint32)
    for e in begins:
        masks[e // GROUP] |= np.uint32(1 << e % GROUP)
    return records, masks, words, length, np.dtype(np.uint32)


@pytest.mark.parametrize("length", [40, RUN, RUN + 7])
@pytest.mark.parametrize("begin", [0, 5])
def test_an_element_that_wraps_is_found_wherever_it_is(length, begin):
    for e in (begin + 1, 30, 31, 32, 33, 39, length - 1):
        numbers = np.zeros(length, np.uint32)
        numbers[begin] = 2**32 - 1
        records, *rest = of_numbers(numbers, [0, begin])
        records["base"][1:] = 2**32 - 1
        assert assert_same(LISTS, records, *rest) is None
        numbers[e] = 1
        records, *rest = of_numbers(numbers, [0, begin])
        records["base"][1:] = 2**32 - 1
        assert assert_same(LISTS, records, *rest) == RANGE
        if e < length - 1 and e < RUN:  # a list may begin there
            records, *rest = of_numbers(numbers, [0, begin, e])
            records["base"][1:] = 1
            assert assert_same(LISTS, records, *rest) is None


@pytest.mark.parametrize("length", [1, 31, 33, 40, RUN + 7])
@pytest.mark.parametrize("number", [1, 2**32 - 1])
def test_a_number_past_the_end_is_a_stray_even_where_it_wraps(length, number):
    for place in {length, length | 31, RUN * -(-length // RUN) - 1} - {length - 1}:
        numbers = np.zeros(length, np.uint32)
        numbers[0] = 2**32 - 1
        records, masks, words, *rest = of_numbers(numbers, [0])
        records["base"][1:] = 2**32 - 1
        words[place] = number
        assert assert_same(LISTS, records, masks, words, *rest) == STRAY
