"""Packed arrays: unpacking gives the original, and so does the slow decoder that specifies the format."""

import errno
import itertools
import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py.codec.format import ASCENDING, LISTS, NUMBERS, PADDING, RUN, decode, problem
from garaph_py.codec.pack import joined, pack, unpack
from garaph_py.errors import GraphError
from garaph_py.native.threads import ThreadPool
from tests.support import twins


@pytest.fixture(scope="module")
def pool():
    with ThreadPool(2) as members:
        yield members


def starts_of(offsets):
    """Where a list begins, by element."""
    starts = np.zeros(int(offsets[-1]), bool)
    starts[offsets[:-1][offsets[:-1] < offsets[1:]]] = True
    return starts


def lists(lengths, top, seed):
    """Offsets and ascending lists of such lengths, of numbers up to `top`."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    numbers = np.random.default_rng(seed).integers(0, top, int(offsets[-1]), np.uint32, endpoint=True)
    for begin, end in itertools.pairwise(offsets):
        numbers[begin:end].sort()
    return offsets, numbers


def assert_packs(array, kind, pool, offsets=None):
    packed = pack(array, kind, pool, offsets)
    assert problem(packed.records, len(packed.words) - PADDING) is None
    starts = None if offsets is None else starts_of(offsets)
    assert decode(packed, starts, kind) == array.tolist()
    restored = unpack(packed, kind, pool, offsets)
    assert restored.dtype == array.dtype
    np.testing.assert_array_equal(restored, array)
    return packed


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.integers(0, 5), st.integers(20, 90), st.integers(900, 2500)), max_size=30),
    st.sampled_from([0, 1, 200, 2**20, 2**32 - 1]),
    st.integers(0, 2**16),
)
def test_lists_come_back(pool, lengths, top, seed):
    offsets, numbers = lists(lengths, top, seed)
    assert_packs(numbers, LISTS, pool, offsets)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, RUN - 1, RUN, RUN + 1, 5 * RUN + 7])
def test_numbers_come_back(pool, dtype, length):
    kind = np.dtype(dtype)
    low, top = np.iinfo(kind).min, np.iinfo(kind).max
    if kind.itemsize == 8:
        low, top = top - 2**32 + 1, top
    numbers = np.random.default_rng(length).integers(low, top, length, kind, endpoint=True)
    assert_packs(numbers, NUMBERS, pool)


@pytest.mark.parametrize("length", [0, 1, 1000, 3 * RUN])
def test_ascending_numbers_come_back(pool, length):
    assert_packs(np.cumsum(np.random.default_rng(1).integers(0, 99, length)), ASCENDING, pool)


def test_a_list_over_many_runs(pool):
    offsets, numbers = lists([3, 10 * RUN + 5, 0, 0, 2], 2**31, 5)
    assert_packs(numbers, LISTS, pool, offsets)


@pytest.mark.parametrize("numbers", [[0, 2**32], [-(2**63), 2**63 - 1], [0.5]])
def test_what_does_not_fit_stays_raw(pool, numbers):
    assert pack(np.array(numbers), NUMBERS, pool) is None


def test_a_slice_decodes_alone(pool):
    offsets, numbers = lists([700] * 20, 2**24, 3)
    packed = pack(numbers, LISTS, pool, offsets).runs(3, 7)
    assert decode(packed, starts_of(offsets)[3 * RUN : 7 * RUN], LISTS) == numbers[3 * RUN : 7 * RUN].tolist()


def test_chunks_join(pool):
    offsets, numbers = lists([700, 0, 5 * RUN, 1, 0, 0, 2 * RUN - 701, 30], 2**24, 3)
    others = np.arange(len(numbers), dtype=np.int32)
    for array, kind, places in ((numbers, LISTS, offsets), (others, NUMBERS, None)):
        whole, step = pack(array, kind, pool, places), 2 * RUN
        chunks = [
            pack(array[at : at + step], kind, pool, places, at, int(array[at - 1]) if at else 0)
            for at in range(0, len(array), step)
        ]
        again = joined(list(chunks), array.dtype)
        np.testing.assert_array_equal(again.records, whole.records)
        np.testing.assert_array_equal(again.words, whole.words)
        assert again.length == whole.length
        pieces = [unpack(chunk, kind, pool, places, k * step) for k, chunk in enumerate(chunks)]
        np.testing.assert_array_equal(np.concatenate(pieces), array)
    assert joined([], numbers.dtype).length == 0


def test_a_lack_of_memory_is_named(pool, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(GraphError, match="not enough memory for packed edges; use a smaller graph"):
        pack(np.arange(9), NUMBERS, pool)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "int32", "int64", "float32"])
@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_comes_back(graph_of, weights, directed):
    graph = graph_of(twins.skewed(7, 900, 9000, weights), directed=directed)
    packed = graph.packed(threads=2)
    assert (packed.encoding, packed.n, packed.m, packed.edge_dtype) == ("packed", graph.n, graph.m, graph.edge_dtype)
    assert packed.nbytes < graph.nbytes
    again = packed.unpacked()
    assert again.encoding == "raw"
    for side in ("in_edges", "out_edges"):
        for part in ("offsets", "neighbours", "values"):
            np.testing.assert_array_equal(
                getattr(getattr(again._arrays, side), part), getattr(getattr(graph._arrays, side), part)
            )
    assert again.directed == graph.directed


def test_bad_records_are_named(pool):
    packed = pack(np.arange(3 * RUN), NUMBERS, pool)
    for spoil, said in (("width", "above 32"), ("place", "do not follow"), ("length", "words, but there are")):
        records, words = packed.records.copy(), len(packed.words) - PADDING
        if spoil == "width":
            records["widths"][1, 4] = 33
        elif spoil == "place":
            records["first_word"][1] += 1
        else:
            words -= 1
        assert said in problem(records, words)
