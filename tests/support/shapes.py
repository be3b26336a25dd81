"""Graphs of a certain shape."""

import numpy as np

from tests.support import twins


def path(n):
    """A path with edges in one direction and lengths of 0 to 6; its vertices have their numbers in random order."""
    order = np.random.default_rng(5).permutation(n)
    return twins.Edges(n, order[:-1], order[1:], np.arange(n - 1, dtype=np.int32) % 7)


def star(out):
    """Edges from vertex 0 to all others, with lengths, or to it from them."""
    ends, lengths = (np.zeros(5000, np.int64), np.arange(1, 5001)), np.arange(5000, dtype=np.int32) % 90
    return twins.Edges(5001, *(ends if out else ends[::-1]), lengths)


def web():
    """Hubs of many out-edges, others of many in-edges, chains between them, and vertices that nobody reaches."""
    n, rng = 30_000, np.random.default_rng(8)
    hubs = np.concatenate([np.zeros(4000, np.int64), np.full(3000, 1), rng.integers(0, n, 4000), np.arange(4000)])
    ends = np.concatenate([rng.integers(0, n, 7000), np.full(4000, 1), np.arange(1, 4001)])
    return twins.Edges(n + 500, hubs, ends, rng.integers(0, 50, len(hubs)).astype(np.int32))
