import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from garaph_py.cluster.messages import ALL, BITMAP, LIST, Message, decode, encode
from garaph_py.cluster.part_run import Changed
from garaph_py.errors import ClusterError

INT = np.dtype(np.int64)


def changed(values, sent, active=None):
    sent = np.asarray(sent, bool)
    return Changed(np.asarray(values), sent, sent if active is None else np.asarray(active, bool))


@given(st.data())
def test_the_receiver_learns_all_that_was_sent(data):
    n = data.draw(st.integers(0, 100))
    kind = data.draw(st.sampled_from([np.int32, np.float64, np.dtype([("a", "i4"), ("b", "f8")], align=True)]))
    values = np.arange(n * np.dtype(kind).itemsize, dtype=np.uint8).view(kind)
    sent, active = (data.draw(arrays(bool, n)) for _ in range(2))
    message = encode(Changed(values, sent, active))
    told, positions = decode(message, n, values.dtype), np.flatnonzero(sent | active)
    np.testing.assert_array_equal(np.flatnonzero(told.changed), positions)
    np.testing.assert_array_equal(told.values[positions].view(np.uint8), values[positions].view(np.uint8))
    np.testing.assert_array_equal(told.active, active)
    everything = n * values.itemsize + 2 * -(-n // 8)
    assert message.nbytes <= min(everything, len(positions) * (values.itemsize + 4) + -(-n // 8))


def test_the_shortest_encoding_is_taken():
    values = np.arange(1000)
    few, many = np.arange(1000) < 3, np.arange(1000) % 2 == 0
    assert encode(changed(values, few)).how == LIST
    assert encode(changed(values, few)).nbytes == 3 * (4 + 8)
    assert encode(changed(values, many)).how == BITMAP
    assert encode(changed(values, many)).nbytes == 125 + 500 * 8
    assert encode(changed(values, values >= 0)).how == ALL
    assert encode(changed(values, values >= 0)).nbytes == 8000


def test_a_vertex_may_change_without_being_active():
    told = decode(encode(changed([5, 6, 7], [1, 0, 1], [0, 0, 1])), 3, INT)
    assert [list(each) for each in told[:3]] == [[5, 0, 7], [True, False, True], [False, False, True]]


def raw(array, kind):
    return np.asarray(array, kind).view(np.uint8)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (Message("list", raw([1, 1], "<u4"), raw([5, 6], INT), raw([], "u1"), 0, 4), "out of order"),
        (Message("list", raw([1, 9], "<u4"), raw([5, 6], INT), raw([], "u1"), 0, 4), "beyond its 4 mirrors"),
        (Message("list", raw([1, 2, 3], "u1"), raw([5], INT), raw([], "u1"), 0, 4), "a list of 3 bytes"),
        (Message("list", raw([1], "<u4"), raw([5, 6], INT), raw([], "u1"), 0, 4), "16 bytes of values for 1"),
        (Message("all", raw([], "u1"), raw([5], INT), raw([], "u1"), 0, 4), "8 bytes of values for 4"),
        (Message("all", raw([1], "u1"), raw([5, 6, 7, 8], INT), raw([], "u1"), 0, 4), "positions beside all values"),
        (Message("bitmap", raw([1, 0], "u1"), raw([5], INT), raw([], "u1"), 0, 4), "bitmap of 2 bytes for 4"),
        (Message("list", raw([1], "<u4"), raw([5], INT), raw([1, 1], "u1"), 0, 4), "2 bytes of active bits for 1"),
        (Message("zip", raw([], "u1"), raw([], INT), raw([], "u1"), 0, 4), "unknown encoding 'zip'"),
        (Message("all", raw([], "u1"), raw([5], INT), raw([], "u1"), 4, 5), "the vertices from 4 to 5 of 4 mirrors"),
    ],
)
def test_invalid_messages_are_refused(message, problem):
    with pytest.raises(ClusterError, match=problem):
        decode(message, 4, INT)
