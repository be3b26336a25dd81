"""The offsets that a GPU stores in 32 bits each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.executor.gpu.offsets import begins_bytes, begins_of, wraps_of
from tests.support.degrees import offsets_of

FAR = 1 << 32
DEGREES = st.lists(st.sampled_from([0, 1, 5, FAR - 6, FAR - 1, FAR, FAR + 1, 3 * FAR]), max_size=40)


def read(begins, n, count):
    """What `kernels/offsets.cuh` reads."""
    wraps = begins[(n + 2) // 2 * 2 :].view(np.int64)
    assert len(wraps) == count
    return [(int(np.count_nonzero(wraps <= v)) << 32) + int(begins[v]) for v in range(n + 1)]


@given(DEGREES)
def test_offsets_come_back(degrees):
    offsets = offsets_of(np.array(degrees, np.int64))
    n, m = len(degrees), int(offsets[-1])
    begins = begins_of(offsets, 2)
    assert begins.nbytes == begins_bytes(n, m)
    assert read(begins, n, wraps_of(m)) == offsets.tolist()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_the_offsets(threads):
    offsets = np.arange(0, 3 * FAR, 4097)
    begins, n = begins_of(offsets, threads), len(offsets) - 1
    np.testing.assert_array_equal(begins[: n + 1], offsets.astype(np.uint32))
    assert begins[(n + 2) // 2 * 2 :].view(np.int64).tolist() == np.searchsorted(offsets, [FAR, 2 * FAR]).tolist()
