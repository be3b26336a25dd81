import numpy as np
import pytest

from garaph_py.cluster.gather import gather, gathers
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.native.threads import ThreadPool


def of_numpy(places, values, sent, active):
    """What `gather` does, in NumPy: the values, which of them have changed, and which of them are active."""
    now, width = values[places], values.dtype.itemsize
    octets = (each.view(np.uint8).reshape(-1, width) for each in (now, sent))
    return now, np.not_equal(*octets).any(axis=1), active[places]


@pytest.mark.parametrize("kind", ["f4", "f8", "i4,f8,f4"])
def test_values_are_gathered_as_numpy_does(kind):
    random, n = np.random.default_rng(1), 40_000  # of which several threads have a share
    values = random.integers(0, 1 << 20, (n, np.dtype(kind).itemsize // 4), np.uint32).view(kind).reshape(n)
    places = np.flatnonzero(random.random(n) < 0.9).astype(np.uint32)
    sent = values[places]
    sent[random.random(len(sent)) < 0.5] = np.zeros(1, kind)[0]
    values[:100], sent[:80] = np.zeros(1, kind)[0], np.zeros(1, kind)[0]
    active = random.random(n) < 0.3
    members = VertexSet.empty(n)
    members.bits.view(np.uint8)[: n // 8] = np.packbits(active, bitorder="little")
    now = np.empty_like(sent)
    with ThreadPool(2) as pool:
        found = gather(places, values, sent, members.bits, now, pool)
    for ours, expected in zip((now, *found), of_numpy(places, values, sent, active), strict=True):
        assert ours.tobytes() == expected.tobytes()


def test_a_change_of_sign_or_of_nan_counts():
    values, sent = np.array([0.0, np.nan, 1.0]), np.array([-0.0, np.nan, 1.0])
    changed, active = np.empty((2, 3), np.uint8)
    words = (each.view(np.uint32) for each in (values, sent))
    gathers(2).function(np.arange(3, dtype=np.uint32), 0, 3, *words, np.array([5], np.uint64), np.empty(6, np.uint32),
                        changed, active)  # fmt: skip
    assert changed.tolist() == [1, 0, 0]
    assert active.tolist() == [1, 0, 1]
