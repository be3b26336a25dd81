"""Degrees that several threads count are those of one plain count."""

import numpy as np
import pytest

from garaph_py.io.bulk import scan
from garaph_py.io.bulk.scan import DegreeCounter
from garaph_py.native.threads import ThreadPool


@pytest.mark.parametrize(("threads", "most"), [(1, 8), (3, 8), (3, 2)])
@pytest.mark.parametrize("skip_loops", [False, True])
def test_degrees_beyond_a_byte(threads, most, skip_loops, monkeypatch):
    monkeypatch.setattr(scan, "PART", 10)
    rng = np.random.default_rng(1)
    batches = [rng.integers(0, 7, (2, size)).astype(np.uint32) for size in (0, 5, 3000, 2999)]
    with ThreadPool(threads) as pool:
        counter = DegreeCounter(7, most, pool)
        for ends, others in batches:
            counter.add(ends, others if skip_loops else None)
        degrees = counter.degrees()
    ends, others = np.concatenate(batches, axis=1)
    assert np.array_equal(degrees, np.bincount(ends[ends != others] if skip_loops else ends, minlength=7))
    assert degrees.min() > 256
