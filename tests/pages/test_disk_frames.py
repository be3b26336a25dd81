"""Frames for pages from disk: a block that two pages share is read once."""

import re

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError
from garaph_py.storage import directory as store
from garaph_py.storage import disks
from garaph_py.system.sizes import parse_bytes
from tests.support.stored_graphs import opened

from ..support.runs import run_with


@pytest.mark.usefixtures("read_like_large_graphs")
def test_with_one_frame_no_block_is_read_twice(saved):
    graph, path, encoding = saved
    array, program = store.info(path).arrays["in_sources"], gp.apps.PageRank(stop="never", weighted=False)
    with pytest.raises(GraphError) as caught:
        run_with(program, opened(path, 0), device="cpu")
    least = parse_bytes(re.search(r"allow ([\d.]+ \w+) when", str(caught.value))[1], "memory")
    result = run_with(program, opened(path, 0)._replace(memory=least), device="cpu", iterations=3)
    ends = 2 * disks.ALIGNMENT * result.stats.iterations[0].pages if encoding == "packed" else 0
    assert all(step.from_disk <= array.stored_bytes + ends for step in result.stats.iterations)
    here = run_with(program, graph, device="cpu", iterations=3)
    np.testing.assert_allclose(result.values, here.values, rtol=1e-2)
