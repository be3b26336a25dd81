"""What the kernels that link edges prefetch; the answers are compared in `tests/executor/test_components.py`."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.cpu.components import FIRST_EDGES, LISTS_AHEAD, PARENTS_AHEAD, make_look_ahead


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_prefetched_is_read_later_and_within_the_calls_edges(seed, packed):
    """A call for the vertices [20, 60) begins in the list of vertex 19, and ends in that of vertex 59."""
    fetched, read = [], []
    source_at = None if packed else lambda edges, e: read.append(int(e)) or int(e)
    reader = SimpleNamespace(fetch=lambda edges, e: fetched.append(int(e)), source_at=source_at)
    look_ahead, degrees = make_look_ahead(reader), np.random.default_rng(seed).integers(0, 5, 100)
    degrees[[19, 59]] = 3
    offsets = np.append(0, np.cumsum(degrees))
    first_edge, last_edge = offsets[20] - 1, offsets[60] - 1
    t = SimpleNamespace(in_offsets=offsets, last_edge=last_edge, last_vertex=60, parents=np.arange(offsets[-1]))
    for v in range(19, 60):
        look_ahead((), t, v)
        assert fetched[-1] == min(offsets[min(v + LISTS_AHEAD, 60)], last_edge - 1)
        if not packed:
            begin = offsets[min(v + PARENTS_AHEAD, 60)]
            assert read[-FIRST_EDGES:] == [min(begin + k, last_edge - 1) for k in range(FIRST_EDGES)]
    assert bool(read) != packed
    assert set(fetched) | set(read) <= set(range(first_edge, last_edge))
