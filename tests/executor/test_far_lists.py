"""What pushes along lists in host memory cost: the sum of what its terms are, at rates that the test gives."""

import pytest

from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.far_lists import FarLists

LISTS = FarLists(1.0, 4.0, 8, 16)


def test_kernels_read_a_sector_more_for_each_list():
    pushed = 1000 / EXPECTED.push
    assert LISTS.zero_copy(0, 1000, 1e9) == pytest.approx(pushed + 4e-6)
    assert LISTS.zero_copy(1000, 1000, 1e9) == pytest.approx(pushed + 36e-6)


def test_the_host_writes_while_edges_are_copied():
    pushed = EXPECTED.gpu_start + 1000 / EXPECTED.push
    writing = 1000 * (EXPECTED.listed_vertex + EXPECTED.listed_edge)
    assert LISTS.compaction(1000, 1000, 1e12) == pytest.approx(pushed + writing / 16)
    assert LISTS._replace(threads=2).compaction(1000, 1000, 1e12) == pytest.approx(pushed + writing / 2)
    assert LISTS.compaction(1000, 1000, 1e6) == pytest.approx(pushed + 8e-3)


def test_hytgraphs_compaction_was_as_fast():
    """0.9 M lists with 1 M edges took 16 threads 3.8 ms (docs/results/engines.md)."""
    writing = LISTS.compaction(900_000, 1_000_000) - EXPECTED.gpu_start - 1e6 / EXPECTED.push
    assert writing == pytest.approx(3.8e-3, rel=0.02)
