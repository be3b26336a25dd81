"""External sorts: the stable order, whatever the memory and however the keys are spread."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from garaph_py.io.bulk import sort
from garaph_py.io.bulk.sort import ExternalSort
from garaph_py.native.threads import ThreadPool


@given(
    st.integers(0, 64),
    st.sampled_from([0, 4, 8]),
    st.sampled_from([1_000, 100_000, 1 << 24]),
    st.sampled_from([1, 3]),
    st.integers(0, 5000),
    st.sampled_from([0, 3, 20]),
    st.integers(0, 2**32),
)
@example(50, 0, 1 << 24, 1, 1638, 0, 1)  # the last read, of 512 keys of 5 bytes, ends two pages after the last key
# wide: what a sort depends on
def test_keys_come_in_stable_order(tmp_path_factory, bits, width, memory, threads, count, skew, seed):
    rng = np.random.default_rng(seed)
    shifts = (rng.random(count) * min(skew * 3, bits + 1)).astype(np.uint64)  # more keys are small the larger `skew` is
    most = np.uint64((1 << bits) - 1)
    keys = (rng.integers(0, 1 << 64, count, np.uint64) & most) >> shifts
    values = rng.integers(0, 1 << 32, count).astype(f"u{width}") if width else None
    with ThreadPool(threads) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort, "MIN_SHARE", 50)  # large buckets are divided among threads
        by = ExternalSort(tmp_path_factory.getbasetemp(), bits, width, memory, pool, count)
        by.extend(keys, values)
        pieces = [(key.copy(), None if value is None else value.copy()) for key, value in by.sorted()]
        by.close()
    order = np.argsort(keys, kind="stable")
    assert np.array_equal(np.concatenate([key for key, _ in pieces] or [keys[:0]]), keys[order])
    if values is not None:
        assert np.array_equal(np.concatenate([value for _, value in pieces] or [values[:0]]), values[order])
