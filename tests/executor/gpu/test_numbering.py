"""The hub order as a permutation: of vertices, offsets, arrays and sets."""

import numpy as np
import pytest

from garaph_py.executor.gpu import ranks
from garaph_py.executor.gpu.numbering import Numbering, Order
from garaph_py.executor.gpu.ranks import Ranks
from garaph_py.native.threads import ThreadPool
from tests.support import twins

DEGREES = {
    "none": np.zeros(0, np.int64),
    "one": np.array([3]),
    "zeros": np.zeros(100, np.int64),
    "powers": 1 << np.arange(40),
    "skewed": twins.skewed(3, 9000, 60000).out_degrees,
}


@pytest.fixture(params=[1, 3])
def pool(request, monkeypatch):
    monkeypatch.setattr(ranks, "SHARE", 100)
    with ThreadPool(request.param) as pool:
        yield pool


@pytest.mark.parametrize("name", DEGREES)
def test_hubs_come_first_and_classes_keep_their_order(pool, name):
    degrees = DEGREES[name]
    order = Order.of(np.append(0, np.cumsum(degrees)), pool)
    digits = [-int(degree).bit_length() for degree in degrees]
    np.testing.assert_array_equal(order.given, np.argsort(digits, kind="stable"))
    np.testing.assert_array_equal(order.position[order.given], np.arange(len(degrees)))
    assert order.given.dtype == order.position.dtype == np.uint32


def test_offsets_arrays_and_sets_follow(pool):
    edges = twins.skewed(4, 5000, 30000)
    order = Order.of(np.append(0, np.cumsum(edges.out_degrees)), pool)
    offsets = order.offsets(np.append(0, np.cumsum(edges.in_degrees)), pool)
    np.testing.assert_array_equal(np.diff(offsets), edges.in_degrees[order.given])
    assert offsets[0] == 0
    data = np.array([*zip(range(5000), np.random.default_rng(1).random(5000), strict=True)], "i4, f8")
    np.testing.assert_array_equal(order.to_device(data, pool)[order.position], data)
    flags = np.random.default_rng(2).random(5000) < 0.3
    bits = np.zeros(-(-5000 // 64) * 8, np.uint8)
    bits[:625] = np.packbits(flags, bitorder="little")
    moved = order.bits_to_device(bits.view(np.uint64)).view(np.uint8)
    np.testing.assert_array_equal(np.unpackbits(moved, bitorder="little")[:5000], flags[order.given])
    assert not np.unpackbits(moved, bitorder="little")[5000:].any()


def test_the_users_numbers_are_one_numbering(graph_of):
    arrays = graph_of(twins.skewed(4, 500, 3000))._arrays
    given, values = Numbering(arrays, Ranks.of(arrays.in_edges.offsets)), np.arange(500)
    assert given.to_device(values, None) is values
    assert given.bits_to_device(values) is values
    assert given.out_offsets(None) is arrays.out_edges.offsets
    assert given.contents(["starts"]) == {"starts": "starts"}
