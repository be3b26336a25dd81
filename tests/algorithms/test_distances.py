"""Searches from 64 sources at once."""

import numpy as np

from garaph_py.algorithms.distances import BITS, bits_in


def test_bits_are_counted():
    words = np.random.default_rng(1).integers(0, 1 << 64, 100, np.uint64, endpoint=False)
    with np.errstate(over="ignore"):
        for word in [np.uint64(0), np.uint64((1 << 64) - 1), *words]:
            assert bits_in(word) == int(word).bit_count()
    assert words.itemsize * 8 == BITS
